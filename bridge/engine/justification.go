package engine

import (
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// whyMax is how many bytes a justification has at most.
const whyMax = 1000

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

// unjustifiable refuses a justification that is no text, or one that nobody would read.
func unjustifiable(m *jsonrpc.Message) (refusal.Refusal, bool) {
	raw := justification(m)
	if raw == nil {
		return refusal.Refusal{}, false
	}
	if why, ok := jsonrpc.Unquote(raw); ok && why != "" && len(why) <= whyMax {
		return refusal.Refusal{}, false
	}
	return refusal.InvalidParams(`_meta["` + approval.JustificationKey + `"] must be a text of 1 to ` + strconv.Itoa(whyMax) + " bytes"), true
}

// takeWhy parts a request into why its caller makes it, "" if it does not say, and the rest. The request
// can be read in one way only.
func takeWhy(env *wire.Envelope) (why string, rest *wire.Envelope) {
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
	out.Message = *reread(m.AppendCall(nil, []byte("0"), env.Method, jsonrpc.Edit{Field: jsonrpc.Meta, Value: meta}))
	return why, &out
}
