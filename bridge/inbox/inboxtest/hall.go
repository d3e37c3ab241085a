// Package inboxtest is an inbox for tests: a real desk with a lock and a clock around
// it, and nothing behind it. What would run is told instead.
package inboxtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/keyring"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

// A Hall is an [inbox.Inbox] around a desk.
type Hall struct {
	inbox.Feed
	Settled chan approval.Settled // every end of a question, in order; room for 1024

	// Confirmed is every yes that a passkey signed; room for 64. Those of a Hall are where
	// Enrolling says.
	Confirmed chan approval.Noted
	keys      *keyring.Keyring

	id string

	Redact  func(args []byte) []byte // what [inbox.Public] shows of arguments; nil: nothing
	Command string                   // of the server
	Calls   atomic.Int64             // that came in the last minute
	Rules   atomic.Pointer[policy.Policy]

	mu    sync.Mutex
	desk  *approval.Desk
	shown map[string]map[string]approval.Show // the elicitations, by question and participant
	ends  map[string]approval.Settled
	here  map[string]bool

	halted *inbox.Halted
}

// New returns a Hall in which everybody is present.
func New(id string) *Hall {
	h := &Hall{id: id, Command: "notes-server", Settled: make(chan approval.Settled, 1024), Confirmed: make(chan approval.Noted, 64), shown: map[string]map[string]approval.Show{},
		ends: map[string]approval.Settled{}, here: map[string]bool{}}
	h.desk = approval.NewDesk(approval.Options{
		Random:    func() (b [16]byte) { rand.Read(b[:]); return b },
		PerCaller: 20_000, PerMinute: 1 << 20,
	})
	h.desk.SetBelieved(true)
	h.desk.SetRedactor(redactor{h})
	return h
}

// A redactor is what the Hall has for it at the moment.
type redactor struct{ of *Hall }

func (r redactor) Redact(args []byte) []byte {
	if r.of.Redact == nil {
		return nil
	}
	return r.of.Redact(args)
}

// Write is a question about write_file by agent-a, for the local person.
func Write(args string) approval.Question {
	return approval.Question{Caller: "agent-a", Via: "request", Method: "tools/call", Tool: "write_file", Args: []byte(args),
		Terms: policy.Terms{Of: []string{"local"}, Need: 1, Within: 5 * time.Minute, Rules: []string{"small-writes"}}}
}

// Ask puts a question.
func (h *Hall) Ask(q approval.Question) (id string) {
	q.Bridge, q.Topic, q.Server, q.Program, q.Dialect = h.id, "lobby", h.Command, "notes-server", "mcpx/v0.1"
	h.mu.Lock()
	defer h.mu.Unlock()
	names := q.Terms.Of
	if q.Terms.Delegate != nil {
		names = append(slices.Clone(names), q.Terms.Delegate.To...)
	}
	for _, name := range names {
		var who approval.Who
		who.UnmarshalText([]byte(name)) // which takes any name
		h.desk.SetHere(who, true)
	}
	id, acts := h.desk.Open(time.Now(), q)
	h.act(id, acts)
	return id
}

// Here says whether a participant is in the topic; whoever a question names is, when it is put.
func (h *Hall) Here(id string, here bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.desk.SetHere(approval.Participant(id), here)
	if h.here[id] = here; !here {
		delete(h.here, id)
	}
	h.Post(inbox.Event{Event: "changed"})
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

// Leave is what a participant does who leaves the topic.
func (h *Hall) Leave(who string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.desk.SetHere(approval.Participant(who), false)
	h.act("", h.desk.Left(time.Now(), approval.Participant(who)))
}

// Withdraw is what the caller does who wants it no more.
func (h *Hall) Withdraw(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.act(id, h.desk.Withdraw(time.Now(), id, "cancelled"))
}

// Abort is what the bridge does with a question that has become pointless.
func (h *Hall) Abort(id, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.act(id, h.desk.Abort(time.Now(), id, reason))
}

// Judge has another policy in force, of which v is the verdict on a question.
func (h *Hall) Judge(id string, v policy.Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.act(id, h.desk.Judged(time.Now(), id, v))
	h.Post(inbox.Event{Event: "changed", Because: inbox.OtherRules})
}

// Tick lets the desk see what time it is.
func (h *Hall) Tick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.act("", h.desk.Tick(time.Now()))
}

// act carries acts out, and returns them with those that came of them.
func (h *Hall) act(id string, acts []approval.Act) (all []approval.Act) {
	for _, a := range acts {
		all = append(all, a)
		switch a := a.(type) {
		case approval.Verify:
			all = append(all, h.act(a.ID, h.desk.Verified(time.Now(), a.ID, ""))...) // what would run may still
		case approval.Show:
			if a.To.Door == approval.Topic {
				if h.shown[a.ID] == nil {
					h.shown[a.ID] = map[string]approval.Show{}
				}
				h.shown[a.ID][a.To.ID] = a
			}
			event := "changed"
			if a.To.Door == approval.Local && a.Why == "" {
				event = "asked"
			}
			h.Post(inbox.Event{Event: event, ID: a.ID})
		case approval.Noted:
			if a.Signed != nil && a.Event == record.Confirmed {
				h.Confirmed <- a
			}
			h.Post(inbox.Event{Event: "changed", ID: a.ID})
		case approval.Settled:
			h.ends[a.ID] = a
			because := a.Outcome.String()
			if len(a.By) > 0 {
				because += " by " + by(a)
			} else if a.Reason == "replaced" {
				because += ": " + a.Reason
			}
			h.Post(inbox.Event{Event: "closed", ID: a.ID, By: by(a), Because: because})
			h.Settled <- a
		}
	}
	return all
}

func by(s approval.Settled) string {
	var names []string
	for _, w := range s.By {
		names = append(names, w.String())
	}
	return strings.Join(names, ", ")
}

// Status and the following are those of [inbox.Publisher].
func (h *Hall) Status(context.Context) (inbox.Status, error) {
	calls := int(h.Calls.Load())
	return inbox.Status{Halted: h.haltedAs(), Calls: &calls, Present: h.present(), ID: h.id, Topic: "lobby", Gateway: "ws://127.0.0.1:7420", Dialect: "mcpx/v0.1", Seated: true, Server: h.Command,
		ServerUp: true, Pending: len(h.questions()), Policy: "/etc/policy.yaml", Audit: "/var/audit.jsonl", AuditOK: true, PID: 1, Version: "test"}, nil
}

func (h *Hall) present() *inbox.Present {
	h.mu.Lock()
	defer h.mu.Unlock()
	return inbox.PresentOf(slices.Collect(maps.Keys(h.here)))
}

func (h *Hall) haltedAs() *inbox.Halted {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.halted
}

func (h *Hall) questions() []approval.Summary {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.desk.Pending(0, 0)
}

func (h *Hall) List(_ context.Context, args bool) ([]approval.Summary, error) {
	all := h.questions()
	for i := range all {
		if !args {
			all[i].Args, all[i].Beside = nil, nil
		}
	}
	return all, nil
}

// Question is a question as Show shows it.
func (h *Hall) Question(prefix string) (approval.View, bool) {
	v, err := h.Show(context.Background(), prefix)
	return v, err == nil
}

func (h *Hall) Show(_ context.Context, id string) (approval.View, error) {
	return h.view(id, func(id string) (approval.View, bool) { return h.desk.View(time.Now(), id, true) })
}

func (h *Hall) ShowPublic(_ context.Context, id string) (approval.View, error) {
	return h.view(id, func(id string) (approval.View, bool) { return h.desk.PublicView(time.Now(), id) })
}

func (h *Hall) view(prefix string, show func(id string) (approval.View, bool)) (approval.View, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ids := h.desk.Resolve(prefix); len(ids) == 1 {
		if v, ok := show(ids[0]); ok {
			return v, nil
		}
	}
	return approval.View{}, &inbox.Refusal{Reason: inbox.Unknown}
}

func (h *Hall) Decide(_ context.Context, d inbox.Decision) (inbox.Outcome, error) {
	return h.outcome(h.answer(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: d.ID, Digest: d.Digest, Result: d.Result}), d)
}

// answer gives an answer to the desk, and returns all that came of it.
func (h *Hall) answer(a approval.Answer) []approval.Act {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.act(a.Question, h.desk.Answer(time.Now(), a))
}

// outcome is what came of an answer.
func (h *Hall) outcome(acts []approval.Act, d inbox.Decision) (inbox.Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	end, before := h.ends[d.ID]
	for _, act := range acts {
		switch act := act.(type) {
		case approval.Settled:
			return inbox.Outcome{Outcome: act.Outcome.String(), By: by(act), Reason: act.Reason}, nil
		case approval.Noted:
			if before && act.Event == record.LateAnswer {
				return inbox.Outcome{}, &inbox.Refusal{Reason: inbox.AlreadyDecided, By: by(end)}
			}
			if act.Event == record.ForeignAnswer || act.Event == record.LateAnswer {
				return inbox.Outcome{}, &inbox.Refusal{Reason: act.Reason, Detail: act.Said}
			}
		}
	}
	if len(acts) == 0 {
		return inbox.Outcome{}, &inbox.Refusal{Reason: inbox.Unknown}
	}
	return inbox.Outcome{Outcome: inbox.Pending}, nil
}

func (h *Hall) Explain(_ context.Context, c inbox.Call) (string, error) {
	rules := h.Rules.Load()
	if rules == nil {
		return "", inbox.ErrNoRules
	}
	return report.Judged(rules, policy.Call{From: c.From, Via: c.Via, Method: c.Method, Tool: c.Tool, Args: c.Args, Beside: c.Beside, Why: c.Why, Now: c.At}), nil
}

func (h *Hall) Grants(context.Context) (all []inbox.Grant, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.desk.Grants(time.Now()) {
		all = append(all, inbox.GrantOf(h.id, g, true))
	}
	return all, nil
}

func (h *Hall) Revoke(_ context.Context, id string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.desk.Revoke(id), nil
}

// Enrolling gives the Hall passkeys, in a file in dir, and returns what tells of those that are
// enrolled and removed; it has room for 64.
func (h *Hall) Enrolling(dir string) <-chan record.Record {
	told := make(chan record.Record, 64)
	h.keys = keyring.New(keyring.Options{Book: passkey.In(dir, h.id), Answer: h.answer, Outcome: h.outcome,
		Put: func(r *record.Record) error { told <- *r; return nil }})
	return told
}

// Passkeys is that of [inbox.Keyholder].
func (h *Hall) Passkeys() inbox.Passkeys {
	if h.keys == nil {
		return nil
	}
	return h.keys
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

// Open opens the socket of the Hall in dir and serves it until the test ends.
func (h *Hall) Open(t testing.TB, dir string) *socket.Server {
	t.Helper()
	return Open(t, socket.Options{Dir: dir, ID: h.id, Inbox: h})
}

// A Hung Hall is that of a bridge that was stopped with a key, say: it takes connections, and
// does not say who it is.
type Hung struct{ *Hall }

// Status returns when ctx ends.
func (Hung) Status(ctx context.Context) (s inbox.Status, err error) {
	<-ctx.Done()
	return s, ctx.Err()
}

// Open opens a socket and serves it until the test ends.
func Open(t testing.TB, o socket.Options) *socket.Server {
	t.Helper()
	s, err := socket.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	done, ctx := make(chan error, 1), t.Context()
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != nil {
			t.Error(fmt.Errorf("the socket: %w", err))
		}
	})
	return s
}
