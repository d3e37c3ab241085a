package stdio

import (
	"bytes"
	"errors"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// errReturn refuses a line with a carriage return inside, which is white space to JSON. Many
// servers end a line there, so that they would read several messages, one of which may be a
// tools/call.
var errReturn = errors.New("a carriage return stands inside the line, and to some servers ends it")

var errLooseCall = errors.New("this is tools/call to a careless reader; spell it exactly")

// resemblesCall reports whether a method is tools/call to a reader that ignores
// case, form or white space, or stops at a NUL.
func resemblesCall(method string) bool { return fold.Method(method) == "tools/call" }

// requestID is the raw id of a request, nil of what is none.
func requestID(m *jsonrpc.Message) []byte {
	if m.Class() != jsonrpc.Request {
		return nil
	}
	return m.Get(jsonrpc.ID)
}

// screen judges a line of the host's. It returns true if the line must not be passed on;
// then it was refused or given to the Gate.
func (r *relay) screen(line []byte) (taken bool) {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return false
	}
	m, err := r.hostMessage(text)
	switch {
	case err != nil:
		r.refuse(requestID(&m), err)
		return true
	case bytes.IndexByte(text, '\r') >= 0:
		r.refuse(requestID(&m), errReturn)
		return true
	case m.Text(jsonrpc.Method) == "tools/call":
		r.toolCall(line, text, &m)
		return true
	case resemblesCall(m.Text(jsonrpc.Method)):
		r.refuse(requestID(&m), errLooseCall)
		return true
	case !m.Has(jsonrpc.Method) && r.askedByUs(m.Get(jsonrpc.ID)), m.Text(jsonrpc.Method) == "notifications/cancelled":
		return r.host.Gate.HostSaid(line, m)
	}
	return false
}

// hostMessage reads a line of the host's. With half of a surrogate pair in it, which some
// readers pass over, it is read as it stands if its method and its id are the same to all of
// them; if not, the message comes with the error.
func (r *relay) hostMessage(text []byte) (jsonrpc.Message, error) {
	rules := jsonrpc.Rules{Depth: r.rules.Depth, Size: r.rules.Size, TopOnly: true}
	m, err := jsonrpc.Parse(text, rules)
	if err == nil || !jsonrpc.Is(err, jsonrpc.InvalidUTF8) {
		return m, err
	}
	rules.Halves = true
	m, worse := jsonrpc.Parse(text, rules)
	k := skimmed(text)
	if worse == nil && !k.cut && plain(m.Get(jsonrpc.Method), k.methods) && plain(m.Get(jsonrpc.ID), k.ids) {
		return m, nil
	}
	return m, err
}

// plain reports whether raw, nil if it is absent, is all that any reader finds, and no string
// with half of a pair in it.
func plain(raw []byte, found []string) bool {
	if raw == nil {
		return len(found) == 0
	}
	_, text := jsonrpc.Unquote(raw)
	return len(found) == 1 && (text || raw[0] != '"')
}

// askedByUs reports whether a raw id is that of something the Gate asked the host.
func (r *relay) askedByUs(id []byte) bool {
	text, ok := jsonrpc.Unquote(id)
	return ok && len(text) > len(r.host.HostIDPrefix) && text[:len(r.host.HostIDPrefix)] == r.host.HostIDPrefix
}

// toolCall gives a tools/call to the Gate if every reader reads it in the same way, else it
// refuses it.
func (r *relay) toolCall(line, text []byte, loose *jsonrpc.Message) {
	m, err := jsonrpc.Parse(text, jsonrpc.Called)
	switch {
	case err != nil:
		r.refuse(loose.Get(jsonrpc.ID), err)
	case m.Class() != jsonrpc.Request:
		r.refuse(nil, errors.New("a tools/call needs an id, and neither result nor error"))
	default:
		r.notice(r.observer.hostSaid(&m, true))
		r.host.Gate.HostSaid(line, m)
	}
}

// refuse answers the host with an error that says why its line does not pass. id is nil if
// it is not known.
func (r *relay) refuse(id []byte, err error) {
	code, reason := -32600, "invalid_request"
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		code, reason = e.Code(), string(e.Reason)
	}
	if id == nil {
		id = []byte("null")
	}
	r.toHost.put(r, jsonrpc.AppendError(nil, id, code, err.Error(), nil))
	r.host.Gate.HostRefused(reason, err.Error())
}

// serverAnswers tells the Gate of an answer, and reports whether the host may get it.
func (r *relay) serverAnswers(id []byte, m *jsonrpc.Message) bool {
	return r.host.Gate == nil || len(id) == 0 || r.serverMayAnswer(id, m)
}

func (r *relay) serverMayAnswer(id []byte, m *jsonrpc.Message) bool {
	r.idleDue = true
	return r.host.Gate.ServerAnswered(id, m)
}

// hostMayHear reports whether the Gate lets the host have a line of the server's.
func (r *relay) hostMayHear(line []byte) bool {
	if r.host.Gate == nil {
		return true
	}
	m, err := r.parse(line)
	e, _ := errors.AsType[*jsonrpc.Error](err)
	switch {
	case e != nil && (e.Reason == jsonrpc.DuplicateKey || e.Reason == jsonrpc.KeyCase):
		return r.serverMayAnswer(nil, nil)
	case err != nil:
		id, _ := skimmed(line).answer()
		return r.serverAnswers(id, nil)
	case m.Has(jsonrpc.Method) && !m.Has(jsonrpc.Result) && !m.Has(jsonrpc.Err):
		return true
	default:
		return r.serverAnswers(m.Get(jsonrpc.ID), &m)
	}
}
