package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
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
// for a tool call (seed 003). It is a prompt.Source.
type elicited struct {
	control.Feed
	q *peer // once it has its seat

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

// sit makes the seat hear what we are asked.
func (s *elicited) sit(q *peer) {
	q.onAsk = func(e *wire.Envelope) bool { return s.hear(q, e) }
	q.onFrame = s.cancelled
}

// Name and the following are those of a prompt.Source.
func (s *elicited) Name() string  { return "topic" }
func (s *elicited) Label() string { return s.q.door.Join.Topic + " as " + s.Me() }
func (s *elicited) Close()        { s.Feed.Close() }

func (s *elicited) Me() string { return s.q.me() }

func (s *elicited) List(context.Context) ([]control.Question, error) {
	list := []control.Question{}
	for _, a := range s.all() {
		v := &a.View
		list = append(list, control.Question{ID: v.ID, Digest: v.Short, Bridge: visible(a.from), From: a.fact("Caller"), Tool: a.fact("Tool"),
			Asked: v.Asked, Deadline: v.Deadline, Need: 1})
	}
	return list, nil
}

// fact is what the question says under a name, for the list.
func (a *asked) fact(name string) string {
	for _, f := range a.View.Facts {
		if f.Name == name {
			return f.Text
		}
	}
	return "?"
}

func (s *elicited) Show(_ context.Context, id string) (approval.View, error) {
	a := s.find(func(a *asked) bool { return a.View.ID == id })
	if a == nil {
		return approval.View{}, &control.Refusal{Reason: control.Unknown}
	}
	v := a.View
	v.DelegateTo = s.others(a)
	return v, nil
}

// others are those to whom a question may be passed on, nil if to nobody.
func (s *elicited) others(a *asked) (ids []string) {
	if !a.Delegate {
		return nil
	}
	for _, p := range s.q.others() {
		if p.ID != a.from && visible(p.ID) != a.fact("Caller") && (len(a.DelegateTo) == 0 || slices.Contains(a.DelegateTo, p.ID)) {
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

func (s *elicited) Watch(ctx context.Context) iter.Seq2[control.Event, error] {
	return func(yield func(control.Event, error) bool) {
		events, cancel := s.Feed.Watch()
		defer cancel()
		for e := (control.Event{}); ; {
			if !yield(e, nil) {
				return
			}
			var ok bool
			select {
			case e, ok = <-events:
				if !ok {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// Decide sends the answer to whoever asked. What comes of it they do not say.
func (s *elicited) Decide(_ context.Context, v *approval.View, r approval.Reply) (control.Outcome, error) {
	return s.answer(v.ID, func(a *asked) []byte { return r.Result(a.Choice) })
}

// answer answers a question and takes it away. It is taken first, so that no
// question is answered twice; if the answer cannot be sent it is put back.
func (s *elicited) answer(id string, result func(*asked) []byte) (control.Outcome, error) {
	a := s.take(func(a *asked) bool { return a.View.ID == id })
	if a == nil {
		return control.Outcome{}, &control.Refusal{Reason: control.Unknown}
	}
	err := s.q.reply(&wire.Envelope{From: a.from, ID: a.env, Method: "elicitation/create"}, jsonrpc.AppendResult(nil, a.rpc, result(a)))
	if err != nil {
		s.putBack(a)
		return control.Outcome{}, err
	}
	s.Post(control.Event{Event: "closed", ID: id, Because: "answered"})
	return control.Outcome{Outcome: prompt.Sent}, nil
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
		s.Post(control.Event{Event: "closed", ID: a.View.ID, Because: why})
		if s.closed != nil {
			s.closed(a.View.ID)
		}
	}
}

// hear takes a request to us. It reports false for those it does not know.
func (s *elicited) hear(q *peer, e *wire.Envelope) bool {
	id := bytes.Clone(e.Message.Get(jsonrpc.ID))
	switch e.Method {
	case "initialize":
		q.reply(e, jsonrpc.AppendResult(nil, id, greeting(e)))
	case "elicitation/create":
		if err := s.asks(e, id); err != nil {
			q.reply(e, jsonrpc.AppendError(nil, id, -32602, err.Error(), nil))
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
	s.Post(control.Event{Event: "asked", ID: a.View.ID})
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
