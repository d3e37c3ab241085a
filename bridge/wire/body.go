package wire

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// body reads the payload and holds it against what the kind says.
func (r *reading) body(e *Envelope, ref reference) error {
	e.Kind, e.Payload = ref.kind, r.raw(atPayload)
	if e.Payload != nil && e.Payload[0] != '{' {
		return refuse(EnvelopeInvalid, "payload is not an object")
	}
	switch {
	case r.cancelsProposal(e.Spelled), withdrawsByStatus(e):
		e.Kind = Withdraw
		return r.reference(e)
	case ref.kind.refers():
		return r.reference(e)
	case r.byPayload && ref.kind == Greeting:
		e.Kind = r.systemKind()
		return nil
	case !ref.kind.namesMethod():
		return nil
	case e.Payload == nil:
		return refuse(EnvelopeInvalid, "payload is missing")
	}
	e.Message = jsonrpc.At(e.Payload, r.at[atMessage:atMessage+int(jsonrpc.Fields)], r.at[atPayload].Start)
	return r.message(e, ref)
}

// withdrawsByStatus reports whether the status a proposer gives its proposal ends it
// (WIRE 4.1, seed 002).
func withdrawsByStatus(e *Envelope) bool {
	if e.Spelled != "proposal/status" || e.Kind != Status {
		return false
	}
	var p struct {
		Status string `json:"status"`
	}
	return decodeShort(e.Payload, &p) && (p.Status == "withdrawn" || p.Status == "expired")
}

// systemKind tells what a system frame of mcp-x/v0 is. The specification says
// event where the reference gateway says type (WIRE 2.3).
func (r *reading) systemKind() Kind {
	for _, place := range []int{atPayloadType, atEvent} {
		switch r.short(place) {
		case "welcome":
			return Greeting
		case "error":
			return Failure
		}
	}
	return Unknown
}

// message reads the JSON-RPC message in the payload.
func (r *reading) message(e *Envelope, ref reference) error {
	m := &e.Message
	if err := checkID(m); err != nil {
		return err
	}
	m.DropNullError()
	class := m.Class()
	if class == jsonrpc.Malformed && r.emptyAnswer(e, ref) {
		class = jsonrpc.Response
	}
	if class == jsonrpc.Malformed {
		return refuse(KindPayloadMismatch, "the payload is neither a call nor an answer")
	}
	answer := class == jsonrpc.Response
	if answer != (ref.kind == Response) && !(r.byPayload && answer) {
		return refuse(KindPayloadMismatch, "%+.80q does not go with this payload", e.Spelled)
	}
	if answer {
		e.Kind, e.Method, e.Key = Response, ref.method, ref.key
		if !m.Has(jsonrpc.ID) && len(e.Corr) == 0 {
			return refuse(KindPayloadMismatch, "an answer without an id and a correlation answers nothing")
		}
		return nil
	}
	if err := nameCall(e, ref); err != nil {
		return err
	}
	if ref.kind == Proposal {
		return nil
	}
	return r.call(e, class)
}

// emptyAnswer reports whether the message is the answer of a function that returned nothing:
// some clients send neither result nor error then, as {} (FINDINGS D17). It is read as an
// empty result; the payload keeps its bytes.
func (r *reading) emptyAnswer(e *Envelope, ref reference) bool {
	m := &e.Message
	says := func(f jsonrpc.Field) bool { v := m.Get(f); return v != nil && v[0] != 'n' }
	if m.Has(jsonrpc.Method) || m.Has(jsonrpc.Result) || says(jsonrpc.Err) || ref.kind != Response && (!r.byPayload || len(e.Corr) == 0) {
		return false
	}
	if len(m.Raw) == 0 || m.Raw[0] != '{' {
		return false
	}
	for p := range rawjson.Parts(m.Raw, 0) { // anything else could be a result in some other form
		if p.Name != "jsonrpc" && p.Name != "id" && p.Name != "error" {
			return false
		}
	}
	raw := m.Append(make([]byte, 0, len(m.Raw)+16), jsonrpc.Edit{Field: jsonrpc.Result, Value: []byte("{}")})
	again, err := jsonrpc.Parse(raw, answers)
	if err != nil || again.Class() != jsonrpc.Response {
		return false
	}
	e.Message = again
	return true
}

// call tells requests and notifications apart (WIRE W-6).
func (r *reading) call(e *Envelope, class jsonrpc.Class) error {
	notifies := strings.HasPrefix(e.Method, "notifications/")
	e.Kind = Request
	switch {
	case notifies && class == jsonrpc.Request:
		return refuse(KindPayloadMismatch, "%+.80q with an id", e.Method)
	case r.byPayload && e.Method == chatMethod:
		return r.wrappedChat(e)
	case notifies:
		e.Kind = Notification
	case class == jsonrpc.Request || r.looseRPC:
	case e.Method == "tools/call":
		return refuse(CallAsNotification, "tools/call without an id could not be answered, so it is not made")
	default:
		e.Kind = Notification
	}
	return nil
}

// wrappedChat turns the notification that is chat in mcp-x/v0 into chat.
func (r *reading) wrappedChat(e *Envelope) error {
	words := e.Message.Get(jsonrpc.Params)
	if len(words) == 0 || words[0] != '{' {
		return refuse(EnvelopeInvalid, "chat without params says nothing")
	}
	e.Kind, e.Payload, e.Method, e.Key, e.Message = Chat, words, "", "", jsonrpc.Message{}
	return nil
}

// checkID refuses an id that could not be answered under or is too long to be
// remembered. Only an error may carry null: its sender could not read the id.
func checkID(m *jsonrpc.Message) error {
	id := m.Get(jsonrpc.ID)
	switch {
	case id == nil:
	case len(id) > maxID:
		return refuse(RPCInvalidID, "the id of the message is longer than %d bytes", maxID)
	case id[0] == 'n' && (m.Has(jsonrpc.Method) || !m.Has(jsonrpc.Err)):
		return refuse(RPCInvalidID, "the id of the message is null")
	case bytes.IndexByte([]byte("{[tf"), id[0]) >= 0:
		return refuse(RPCInvalidID, "the id of the message is neither a string nor a number")
	}
	return nil
}

// nameCall sets method and key from the payload and holds them against the
// kind: nobody may be given one tool to judge and another to run.
func nameCall(e *Envelope, ref reference) error {
	raw := e.Message.Get(jsonrpc.Method)
	if len(raw) > 6*maxMethod+2 {
		return refuse(KindPayloadMismatch, "the method is longer than %d bytes", maxMethod)
	}
	e.Method = pick(raw, ref.method)
	if e.Method == "" || len(e.Method) > maxMethod {
		return refuse(KindPayloadMismatch, "the method is empty or longer than %d bytes", maxMethod)
	}
	if f := keyed[e.Method]; f != 0 {
		e.Key = pick(e.Message.Get(f), ref.key)
	}
	switch {
	case ref.method == "":
	case ref.method != e.Method:
		return refuse(KindPayloadMismatch, "the kind says %+.80q, the payload %+.80q", ref.method, e.Method)
	case ref.key != "" && ref.key != e.Key && e.Method != "completion/complete":
		return refuse(KindPayloadMismatch, "the kind says %+.80q, the payload %+.80q", ref.key, e.Key)
	}
	if ref.kind == Proposal && ref.method != "" && !proposable(ref.method) {
		return refuse(EnvelopeInvalid, "%+.80q is no method that can be proposed", ref.method)
	}
	return nil
}

// pick returns the text of a JSON string, "" if raw is none. Where that is what
// the kind says already, or a method everybody knows, nothing is copied.
func pick(raw []byte, said string) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	inner := raw[1 : len(raw)-1]
	if string(inner) == said && bytes.IndexByte(inner, '\\') < 0 {
		return said
	}
	if known, ok := methods[string(inner)]; ok {
		return known
	}
	text, _ := jsonrpc.Unquote(raw)
	return text
}

var methods = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		"tools/call", "tools/list", "prompts/get", "prompts/list", "resources/read", "resources/list", "resources/templates/list",
		"resources/subscribe", "resources/unsubscribe", "completion/complete", "initialize", "ping", "server/discover",
		"elicitation/create", "notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/message",
	} {
		m[name] = name
	}
	return m
}()

// reference finds which proposal a withdrawal or rejection is about. Drafts put
// it in other places (WIRE 4.3); whoever finds it in two must find the same.
func (r *reading) reference(e *Envelope) error {
	found := e.Corr
	for _, place := range []int{atCamelLink, atProposal, atCamelProposal, r.cancelled(e)} {
		if place < 0 || r.raw(place) == nil {
			continue
		}
		if place != atCamelLink && r.raw(place)[0] != '"' {
			return refuse(EnvelopeInvalid, "the reference to the proposal is not a string")
		}
		t, err := r.list(texts{ends: []int{0}}, place, "the reference to the proposal")
		if err != nil {
			return err
		}
		also := t.from(string(t.buf), 0)
		if found == nil {
			found = also
		}
		if !slices.Equal(found, also) {
			return refuse(AmbiguousReference, "two members name different proposals")
		}
	}
	if len(found) == 0 || !envelopeIDs(found) {
		return refuse(EnvelopeInvalid, "no proposal is named")
	}
	e.Corr = found
	return nil
}

// cancelled returns where a plain cancellation names what it cancels.
func (r *reading) cancelled(e *Envelope) int {
	if r.cancelsProposal(e.Spelled) {
		return atMessage + int(jsonrpc.RequestID)
	}
	return -1
}

// cancelsProposal: one draft of mcpx/v0.1 withdraws a proposal with a plain
// MCP cancellation (WIRE 4.1, seed 002).
func (r *reading) cancelsProposal(kind string) bool {
	return r.methodInKind && kind == "mcp" && r.short(atMessage+int(jsonrpc.Method)) == "notifications/cancelled"
}
