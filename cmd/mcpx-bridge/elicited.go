package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// What we keep open of the questions of one participant, so that nobody fills our
// memory, and nobody another's share of it (FINDINGS L3). What one of our bridges
// asks has some 20 KiB at most.
const (
	maxElicited      = 100     // questions
	maxElicitedBytes = 1 << 20 // bytes of their params as they came
)

// An elicited is what others in a topic ask us, as elicitations that want leave
// for a tool call (seed 003). It is the inbox of a participant.
type elicited struct {
	inbox.Feed
	q *peer // set before its seat is taken

	opened func(*asked)    // hears of each question; may be nil
	closed func(id string) // hears that it is none any more, unless it was answered here; may be nil

	mu   sync.Mutex
	open []*asked
}

// An asked is one question to us.
type asked struct {
	approval.Elicited
	from  string
	env   string
	rpc   []byte
	bytes int // of its params
	timer *time.Timer
}

// hears are the options of a seat that hears what we are asked.
func (s *elicited) hears() client.Options {
	return client.Options{OnRequest: s.hear, OnFrame: s.cancelled}
}

func (s *elicited) Me() string { return s.q.Me() }

// found is how the terminal knows this inbox.
func (s *elicited) found() *prompt.Found {
	return &prompt.Found{Inbox: s, Name: "topic", Label: s.q.door.Join.Topic + " as " + s.Me(), Me: visible(s.Me())}
}

// Status and the following are those of an inbox.Inbox.
func (s *elicited) Status(context.Context) (inbox.Status, error) {
	url, _ := s.q.door.Where()
	return inbox.Status{ID: s.q.door.Join.ID, Me: visible(s.Me()), Topic: s.q.door.Join.Topic, Gateway: url, Dialect: s.q.Dialect().Protocol, Seated: s.Me() != "",
		Pending: len(s.all()), Audit: "off", PID: os.Getpid(), Version: version()}, nil
}

func (s *elicited) List(_ context.Context, args bool) ([]approval.Summary, error) {
	list := []approval.Summary{}
	for _, a := range s.all() {
		q := a.View.Summary
		if !args {
			q.Args, q.Beside = nil, nil
		}
		list = append(list, q)
	}
	return list, nil
}

func (s *elicited) Show(_ context.Context, prefix string) (approval.View, error) {
	var found []*asked
	for _, a := range s.all() {
		if strings.HasPrefix(a.View.ID, prefix) {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return approval.View{}, &inbox.Refusal{Reason: inbox.Unknown}
	}
	v := found[0].View
	v.DelegateTo = s.others(found[0])
	return v, nil
}

// Nothing is remembered here: whoever asks remembers.
func (s *elicited) Grants(context.Context) ([]inbox.Grant, error) { return nil, nil }
func (s *elicited) Revoke(context.Context, string) (bool, error)  { return false, nil }

// others are those to whom a question may be passed on, nil if to nobody.
func (s *elicited) others(a *asked) (ids []string) {
	if !a.Delegate {
		return nil
	}
	for _, p := range s.q.Others() {
		if p.ID != a.from && visible(p.ID) != a.View.From && (len(a.DelegateTo) == 0 || slices.Contains(a.DelegateTo, p.ID)) {
			ids = append(ids, visible(p.ID))
		}
	}
	for _, name := range []string{"local", "host"} { // whom the asker alone can reach
		if slices.Contains(a.DelegateTo, name) {
			ids = append(ids, name)
		}
	}
	return ids
}

// Decide sends the answer as it is to whoever asked. What comes of it they do not say.
func (s *elicited) Decide(_ context.Context, d inbox.Decision) (inbox.Outcome, error) {
	a := s.find(func(a *asked) bool { return a.View.ID == d.ID })
	if a == nil {
		return inbox.Outcome{}, &inbox.Refusal{Reason: inbox.Unknown}
	}
	if d.Digest != a.View.Digest && d.Digest != a.View.Short {
		return inbox.Outcome{}, &inbox.Refusal{Reason: inbox.DigestMismatch}
	}
	return s.answer(d.ID, func(*asked) []byte { return d.Result })
}

// answer answers a question and takes it away. It is taken first, so that no
// question is answered twice; if the answer cannot be sent it is put back.
func (s *elicited) answer(id string, result func(*asked) []byte) (inbox.Outcome, error) {
	a := s.take(func(a *asked) bool { return a.View.ID == id })
	if a == nil {
		return inbox.Outcome{}, &inbox.Refusal{Reason: inbox.Unknown}
	}
	err := s.q.Reply(&wire.Envelope{From: a.from, ID: a.env, Method: "elicitation/create"}, jsonrpc.AppendResult(nil, a.rpc, result(a)))
	if err != nil {
		s.putBack(a)
		return inbox.Outcome{}, err
	}
	s.Post(inbox.Event{Event: "closed", ID: id, Because: "answered"})
	return inbox.Outcome{Outcome: inbox.Sent}, nil
}

func (s *elicited) putBack(a *asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, a)
	a.timer.Reset(time.Until(a.View.Deadline))
}

func (s *elicited) find(is func(*asked) bool) *asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.open, is); i >= 0 {
		return s.open[i]
	}
	return nil
}

func (s *elicited) all() []*asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.open)
}

// take takes a question away.
func (s *elicited) take(is func(*asked) bool) *asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.open, is)
	if i < 0 {
		return nil
	}
	a := s.open[i]
	s.open = slices.Delete(s.open, i, i+1)
	a.timer.Stop()
	return a
}

// end takes a question away, and says why.
func (s *elicited) end(why string, is func(*asked) bool) {
	if a := s.take(is); a != nil {
		s.Post(inbox.Event{Event: "closed", ID: a.View.ID, Because: why})
		if s.closed != nil {
			s.closed(a.View.ID)
		}
	}
}

// hear takes a request to us. It reports false for those it does not know.
func (s *elicited) hear(e *wire.Envelope) bool {
	id := bytes.Clone(e.Message.Get(jsonrpc.ID))
	switch e.Method {
	case "initialize":
		s.q.Reply(e, jsonrpc.AppendResult(nil, id, greeting(e)))
	case "elicitation/create":
		if err := s.asks(e, id); err != nil {
			s.q.Reply(e, jsonrpc.AppendError(nil, id, -32602, err.Error(), nil))
		}
	default:
		return false
	}
	return true
}

// greeting says that we can be asked, in the revision we are spoken to.
func greeting(e *wire.Envelope) []byte {
	revision := []byte(`"2025-06-18"`)
	shape := jsonrpc.Shape{{Name: "protocolVersion", Slot: 0}}
	var at [1]jsonrpc.Span
	if params := e.Message.Get(jsonrpc.Params); jsonrpc.Scan(params, jsonrpc.Judged, shape, at[:]) == nil && at[0].End != 0 {
		revision = params[at[0].Start:at[0].End]
	}
	return slices.Concat([]byte(`{"protocolVersion":`), revision, []byte(`,"capabilities":{"elicitation":{}},"serverInfo":{"name":"mcpx-bridge","version":`),
		jsonrpc.AppendQuote(nil, version()), []byte(`}}`))
}

var errTooMany = errors.New("too many questions of yours are open already")

// asks takes a question. The same one, put again, takes the place of the first:
// an answer counts only for what was put last (RELIABILITY AI-22).
func (s *elicited) asks(e *wire.Envelope, id []byte) error {
	params := e.Message.Get(jsonrpc.Params)
	if len(params) > maxElicitedBytes {
		return fmt.Errorf("a question may have %d bytes", maxElicitedBytes)
	}
	q, err := approval.Elicit(time.Now(), e.From, e.To[0], params)
	if err != nil {
		return err
	}
	q.View.ID = uuid.NewString()
	a := &asked{Elicited: *q, from: e.From, env: e.ID, rpc: id, bytes: len(params)}
	is := func(other *asked) bool { return other.View.ID == a.View.ID }
	s.end("it was put again", func(other *asked) bool { return other.Key == a.Key })
	if !s.add(a, is) {
		return errTooMany
	}
	s.Post(inbox.Event{Event: "asked", ID: a.View.ID})
	if s.opened != nil {
		s.opened(a)
	}
	return nil
}

// add reports false if whoever asks has too many open.
func (s *elicited) add(a *asked, is func(*asked) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, bytes := 0, a.bytes
	for _, other := range s.open {
		if other.from == a.from {
			n, bytes = n+1, bytes+other.bytes
		}
	}
	if n >= maxElicited || bytes > maxElicitedBytes {
		return false
	}
	a.timer = time.AfterFunc(time.Until(a.View.Deadline), func() { s.end("time is up", is) })
	s.open = append(s.open, a)
	return true
}

// cancelled hears that whoever asked wants no answer any more.
func (s *elicited) cancelled(e *wire.Envelope) {
	if e.Kind != wire.Notification || e.Method != "notifications/cancelled" {
		return
	}
	id := e.Message.Get(jsonrpc.RequestID)
	s.end(why(e), func(a *asked) bool { return a.from == e.From && bytes.Equal(a.rpc, id) })
}

// why is the reason that a cancellation gives.
func why(e *wire.Envelope) string {
	shape := jsonrpc.Shape{{Name: "reason", Slot: 0}}
	var at [1]jsonrpc.Span
	params := e.Message.Get(jsonrpc.Params)
	if jsonrpc.Scan(params, jsonrpc.Judged, shape, at[:]) != nil || at[0].End == 0 {
		return "withdrawn"
	}
	reason, _ := jsonrpc.Unquote(params[at[0].Start:at[0].End])
	return fmt.Sprintf("withdrawn: %.200s", cmp.Or(reason, "no reason given"))
}
