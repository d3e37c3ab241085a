// Package controltest is a bridge for tests: a real desk with a lock and a
// clock around it, and nothing behind it. What would run is told instead.
package controltest

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A Hall is a [control.Bridge] around a desk.
type Hall struct {
	control.Feed
	Settled chan approval.Settled // every end of a question, in order; room for 1024

	id string

	mu    sync.Mutex
	desk  *approval.Desk
	shown map[string]map[string]approval.Show // the elicitations, by question and participant
	ends  map[string]approval.Settled
	noted approval.Noted // the last one
}

// New returns a Hall in which everybody is present.
func New(id string) *Hall {
	h := &Hall{id: id, Settled: make(chan approval.Settled, 1024), shown: map[string]map[string]approval.Show{},
		ends: map[string]approval.Settled{}}
	h.desk = approval.NewDesk(approval.Options{
		Random:    func() (b [16]byte) { rand.Read(b[:]); return b },
		Present:   func(approval.Who) bool { return true },
		PerCaller: 20_000, PerMinute: 1 << 20,
	})
	return h
}

// Write is a question about write_file by agent-a, for the local person.
func Write(args string) approval.Question {
	return approval.Question{Caller: "agent-a", Via: "request", Method: "tools/call", Tool: "write_file", Args: []byte(args),
		Terms: policy.Terms{Of: []string{"local"}, Need: 1, Within: 5 * time.Minute, Rules: []string{"small-writes"}}}
}

// Ask puts a question.
func (h *Hall) Ask(q approval.Question) (id string) {
	q.Bridge, q.Topic, q.Server, q.Dialect = h.id, "lobby", "notes-server", "mcpx/v0.1"
	h.mu.Lock()
	defer h.mu.Unlock()
	id, acts := h.desk.Open(time.Now(), q)
	h.act(id, acts)
	return id
}

// Say is the word of a participant of the topic on a question put to them.
func (h *Hall) Say(t testing.TB, who, id, result string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	ask, ok := h.shown[id][who]
	if !ok {
		t.Fatalf("%s was not asked", who)
	}
	h.act(id, h.desk.Answer(time.Now(), approval.Answer{Who: ask.To, Corr: []string{ask.Ask}, ID: ask.RPC, Result: []byte(result)}))
}

// Withdraw is what the caller does who wants it no more.
func (h *Hall) Withdraw(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.act(id, h.desk.Withdraw(time.Now(), id, "cancelled"))
}

// Tick lets the desk see what time it is.
func (h *Hall) Tick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.act("", h.desk.Tick(time.Now()))
}

func (h *Hall) act(id string, acts []approval.Act) {
	for _, a := range acts {
		switch a := a.(type) {
		case approval.Show:
			if a.To.Door == approval.Topic {
				if h.shown[a.ID] == nil {
					h.shown[a.ID] = map[string]approval.Show{}
				}
				h.shown[a.ID][a.To.ID] = a
				continue
			}
			event := "asked"
			if a.Why != "" {
				event = "changed"
			}
			h.Post(control.Event{Event: event, ID: a.ID})
		case approval.Noted:
			h.noted = a
			h.Post(control.Event{Event: "changed", ID: a.ID})
		case approval.Settled:
			h.ends[a.ID] = a
			because := a.Outcome.String()
			if len(a.By) > 0 {
				because += " by " + by(a)
			}
			h.Post(control.Event{Event: "closed", ID: a.ID, By: by(a), Because: because})
			h.Settled <- a
		}
	}
}

func by(s approval.Settled) string {
	var names []string
	for _, w := range s.By {
		names = append(names, w.String())
	}
	return strings.Join(names, ", ")
}

// Status, Questions, Question, Decide, Grants and Revoke are those of
// [control.Bridge].
func (h *Hall) Status() control.Status {
	return control.Status{ID: h.id, Topic: "lobby", Gateway: "ws://127.0.0.1:7420", Dialect: "mcpx/v0.1", Seated: true, Server: "notes-server",
		ServerUp: true, Pending: len(h.Questions()), Audit: "off", AuditOK: true, PID: 1, Version: "test"}
}

func (h *Hall) Questions() []approval.Summary {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.desk.Pending(0, 0)
}

func (h *Hall) Question(prefix string) (approval.View, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := h.desk.Resolve(prefix)
	if len(ids) != 1 {
		return approval.View{}, false
	}
	return h.desk.View(time.Now(), ids[0], true)
}

func (h *Hall) Decide(a approval.Answer) (control.Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noted = approval.Noted{}
	acts := h.desk.Answer(time.Now(), a)
	if len(acts) == 0 {
		return control.Outcome{}, &control.Refusal{Reason: control.Unknown}
	}
	_, before := h.ends[a.Question]
	h.act(a.Question, acts)
	end, ended := h.ends[a.Question]
	switch {
	case before:
		return control.Outcome{}, &control.Refusal{Reason: control.AlreadyDecided, By: by(end)}
	case ended:
		return control.Outcome{Outcome: end.Outcome.String(), By: by(end), Reason: end.Reason}, nil
	case h.noted.Event == "foreign_answer", h.noted.Event == "late_answer":
		return control.Outcome{}, &control.Refusal{Reason: h.noted.Reason}
	}
	return control.Outcome{Outcome: "pending"}, nil
}

func (h *Hall) Grants() []approval.Grant {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.desk.Grants(time.Now())
}

func (h *Hall) Revoke(id string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.desk.Revoke(id), nil
}

// Next waits for the next end of a question.
func (h *Hall) Next(t testing.TB) approval.Settled {
	t.Helper()
	select {
	case s := <-h.Settled:
		return s
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was settled")
		panic("unreachable")
	}
}

// Open opens the door of the Hall in dir and serves it until the test ends.
func (h *Hall) Open(t testing.TB, dir string) *control.Door {
	t.Helper()
	d, err := control.Open(control.Options{Dir: dir, ID: h.id, Bridge: h})
	if err != nil {
		t.Fatal(err)
	}
	done, ctx := make(chan error, 1), t.Context()
	go func() { done <- d.Serve(ctx) }()
	t.Cleanup(func() {
		d.Close()
		if err := <-done; err != nil {
			t.Error(fmt.Errorf("the door: %w", err))
		}
	})
	return d
}
