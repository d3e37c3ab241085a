package meta

import (
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// WhyMax is how many bytes a justification has at most.
const WhyMax = 1000

// justification is what stands under [approval.JustificationKey], raw; nil if nothing does. A key that is
// spelled with escapes is none, and is judged with all else that stands beside the arguments.
func justification(m *jsonrpc.Message) []byte {
	for e := range m.Entries(jsonrpc.Meta) {
		if isJustification(e) {
			return e.Value
		}
	}
	return nil
}

func isJustification(e jsonrpc.Entry) bool { return string(e.Key) == `"`+approval.JustificationKey+`"` }

// Unjustifiable refuses a justification that is no text, or one that nobody would read.
func Unjustifiable(m *jsonrpc.Message) (refusal.Refusal, bool) {
	raw := justification(m)
	if raw == nil {
		return refusal.Refusal{}, false
	}
	if why, ok := jsonrpc.Unquote(raw); ok && why != "" && len(why) <= WhyMax {
		return refusal.Refusal{}, false
	}
	return refusal.InvalidParams(`_meta["` + approval.JustificationKey + `"] must be a text of 1 to ` + strconv.Itoa(WhyMax) + " bytes"), true
}

// TakeWhy parts a request into why its caller makes it, "" if it does not say, and the rest: env
// itself if it does not say, else a copy with a Message of its own, whose Payload is as it came.
// The request must have been read strictly, so that it can be read in one way only, and hold
// nothing that is [Unjustifiable]; else it may panic.
func TakeWhy(env *wire.Envelope) (why string, rest *wire.Envelope) {
	m := &env.Message
	raw := justification(m)
	if raw == nil {
		return "", env
	}
	why, _ = jsonrpc.Unquote(raw)
	var meta []byte
	for e := range m.Entries(jsonrpc.Meta) {
		if !isJustification(e) {
			meta = appendEntry(meta, e)
		}
	}
	if meta != nil {
		meta = append(meta, '}')
	}
	out := *env
	out.Message = *Reread(m.AppendCall(nil, []byte("0"), env.Method, jsonrpc.Edit{Field: jsonrpc.Meta, Value: meta}))
	return why, &out
}
