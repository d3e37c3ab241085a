package stdio

import (
	"bytes"
	"errors"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Gate judges what a host asks of its server. Of what the host says it gets
// every tools/call, and the server only what is Put for it; everything else
// passes. What cannot be read in one way only might be a tools/call to the
// server, so it does not pass: the host hears why.
//
// HostSaid, HostRefused and HostLeft are called from the goroutine that reads
// the host, ServerAnswered from the one in Run. None may wait.
type Gate interface {
	// HostSaid hands on a tools/call, read strictly and with an id, an answer to
	// an id with the Seal, or a cancellation. line is all that the host wrote,
	// without its newline; both belong to the gate. Only a cancellation passes
	// if it is not taken.
	HostSaid(line []byte, m jsonrpc.Message) (taken bool)

	// HostRefused tells of a line that was not passed on and not handed on, and
	// which the host has been told of, if it can be.
	HostRefused(reason, detail string)

	// ServerAnswered comes before the host hears the server's answer to its raw
	// id. m is nil if the answer cannot be read, or is too long, and id if it
	// depends on the reader which it is. The host does not hear it if pass is
	// false.
	ServerAnswered(id []byte, m *jsonrpc.Message) (pass bool)

	// HostLeft: the host has closed its end. Nothing is said to it or by it from
	// here on.
	HostLeft()
}

// Tell lets the Host hear one line, without its newline. It never waits, and
// what a host that is gone is told, nobody hears. Any goroutine may call it.
func (s *Server) Tell(line []byte) {
	if r := s.relay.Load(); r != nil {
		r.tongue.put(r, line)
	}
}

// A tongue keeps what we say to the host from getting into the middle of a line
// of the server's.
type tongue struct {
	mu   sync.Mutex
	mid  bool     // the server is in the middle of a line
	kept [][]byte // what is said when it is not any more
}

func (t *tongue) put(r *relay, line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mid {
		t.kept = append(t.kept, line)
		return
	}
	r.out.Put(line, newline)
	r.out.Flush()
}

// amid notes whether the server is in the middle of a line.
func (t *tongue) amid(r *relay, mid bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mid = mid
	if !mid {
		for _, line := range t.kept {
			r.out.Put(line, newline)
		}
		t.kept = nil
	}
}

// errReturn: many a server ends a line wherever its language does. What JSON
// takes for white space would make three lines of one there, and the second may
// be a tools/call.
var errReturn = errors.New("a carriage return stands inside the line, and to some servers ends it")

var errCareless = errors.New("this is tools/call to a careless reader; spell it exactly")

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

// sift reports whether a line of the host's must not pass, having seen to it.
func (r *relay) sift(line []byte) (taken bool) {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return false
	}
	m, err := jsonrpc.Parse(text, jsonrpc.Rules{Depth: r.rules.Depth, Size: r.rules.Size, TopOnly: true})
	switch {
	case err != nil:
		r.refuse(nil, err)
		return true
	case bytes.IndexByte(text, '\r') >= 0:
		r.refuse(requestID(&m), errReturn)
		return true
	case m.Text(jsonrpc.Method) == "tools/call":
		r.called(line, text, &m)
		return true
	case resemblesCall(m.Text(jsonrpc.Method)):
		r.refuse(requestID(&m), errCareless)
		return true
	case !m.Has(jsonrpc.Method) && r.sealed(m.Get(jsonrpc.ID)), m.Text(jsonrpc.Method) == "notifications/cancelled":
		return r.host.Gate.HostSaid(line, m)
	}
	return false
}

// sealed reports whether an id is that of something we asked the host.
func (r *relay) sealed(id []byte) bool {
	text, ok := jsonrpc.Unquote(id)
	return ok && len(text) > len(r.host.Seal) && text[:len(r.host.Seal)] == r.host.Seal
}

// called hands on a tools/call, if there is but one way to read it.
func (r *relay) called(line, text []byte, loose *jsonrpc.Message) {
	m, err := jsonrpc.Parse(text, jsonrpc.Called)
	switch {
	case err != nil:
		r.refuse(loose.Get(jsonrpc.ID), err)
	case m.Class() != jsonrpc.Request:
		r.refuse(nil, errors.New("a tools/call needs an id, and neither result nor error"))
	default:
		r.notice(r.heard.unsaid(&m))
		r.host.Gate.HostSaid(line, m)
	}
}

// refuse tells the host why what it said does not pass.
func (r *relay) refuse(id []byte, err error) {
	code, reason := -32600, "invalid_request"
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		code, reason = e.Code(), string(e.Reason)
	}
	if id == nil {
		id = []byte("null")
	}
	r.tongue.put(r, jsonrpc.AppendError(nil, id, code, err.Error(), nil))
	r.host.Gate.HostRefused(reason, err.Error())
}

// serverAnswers tells the gate of an answer, and reports whether the host may
// hear it.
func (r *relay) serverAnswers(id []byte, m *jsonrpc.Message) bool {
	if r.host.Gate == nil || len(id) == 0 {
		return true
	}
	return r.serverMayAnswer(id, m)
}

func (r *relay) serverMayAnswer(id []byte, m *jsonrpc.Message) bool {
	r.told = true
	return r.host.Gate.ServerAnswered(id, m)
}

// passes reports whether the host may hear a line of the server's, as far as
// that is up to the gate.
func (r *relay) passes(line []byte) bool {
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
