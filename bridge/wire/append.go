package wire

import (
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Append appends e as one frame, in the longest spelling of its kind that caps
// permit (WIRE W-4). It writes ID, TS, From, To, Corr, Context and Payload as
// they are and no member that is empty (W-1, W-7, W-8); of several links a
// dialect that has room for one takes the first. Kind decides how it is
// spelled: Spelled counts for Grant and Control only. Method is needed on
// notifications, and in mcpx/v0.1, with Key where there is one, on all that
// carries MCP.
//
// What concerns a proposal is written as its Style wants it, or else as caps
// permit; a Reject that no word is left for becomes a chat. See [Dialect.Spelling].
//
// Any other payload goes in as it came but for Edits, for MCP kinds a JSON-RPC
// message, for chat
// {text, format?} (see [Envelope.Complete] where it came from another dialect).
// Frames of the gateway have functions of their own.
func (d Dialect) Append(dst []byte, e *Envelope, caps Caps) ([]byte, error) {
	if d.grammar == nil {
		return dst, ErrInexpressible
	}
	start := len(dst)
	if e.Kind.refers() || e.Kind == Proposal {
		return d.appendLifecycle(dst, e, caps)
	}
	dst = d.open(dst, e)
	dst = append(dst, `,"kind":`...)
	dst, err := d.spell(dst, e, caps)
	if err != nil {
		return dst[:start], err
	}
	return d.close(dst, e), nil
}

// Complete returns e with a payload that b can say, where e came in another
// dialect: mew leaves out what the others must have (WIRE 5.5), and drafts of
// mcpx/v0.1 say in other words why a proposal ends (4.3). A request
// without an id gets rpcID, or its own envelope id as a string if rpcID is
// empty. A response gets rpcID, the id of the request it answers as the one who
// asked wrote it, in the place of whatever id it has; Method and Key of the
// request are for the caller to set. What needs nothing keeps its bytes, and
// so does everything where b is as loose as mew.
func (e *Envelope) Complete(b Dialect, rpcID []byte) Envelope {
	out := *e
	if (e.Kind == Withdraw || e.Kind == Reject) && e.Spelled != mew.words[e.Kind] {
		n, _ := e.Ending() // a draft, which may say it where nobody else looks
		out.Payload = n.Payload()
		return out
	}
	if no, ok := e.AsReject(); ok && b.grammar != nil && b.words[e.Kind] == "" {
		return no // the dialect has no other word for it
	}
	calls := e.Kind == Request || e.Kind == Notification
	if b.grammar == nil || e.Message.Raw == nil || !calls && e.Kind != Response || b.looseRPC && (calls || len(rpcID) == 0) {
		return out
	}
	var edits []jsonrpc.Edit
	if !e.Message.Has(jsonrpc.Version) {
		edits = append(edits, jsonrpc.Edit{Field: jsonrpc.Version, Value: []byte(`"2.0"`)})
	}
	if id := e.completeID(rpcID); id != nil {
		edits = append(edits, jsonrpc.Edit{Field: jsonrpc.ID, Value: id})
	}
	if len(edits) == 0 {
		return out
	}
	raw := e.Message.Append(make([]byte, 0, len(e.Payload)+len(rpcID)+len(e.ID)+32), edits...)
	if again, err := jsonrpc.Parse(raw, answers); err == nil {
		out.Payload, out.Message = raw, again
	}
	return out
}

// completeID returns the JSON-RPC id the message is to have, nil to leave it.
func (e *Envelope) completeID(rpcID []byte) []byte {
	has := e.Message.Get(jsonrpc.ID)
	switch {
	case e.Kind == Notification, e.Kind == Request && has != nil:
		return nil
	case len(rpcID) > 0 && string(rpcID) != string(has):
		return rpcID
	case e.Kind == Request:
		return jsonrpc.AppendQuote(nil, e.ID)
	}
	return nil
}

// ChatText returns the words of a chat, "" if there are none.
func (e *Envelope) ChatText() string {
	var said struct {
		Text string `json:"text"`
	}
	if e.Kind != Chat || !decode(e.Payload, &said) {
		return ""
	}
	return said.Text
}
