package approval

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A stage is a Desk with a room around it: the fixture of WIRE 11 (bob calls,
// alice approves, carol can be asked instead, mallory watches).
type stage struct {
	t    *testing.T
	d    *Desk
	now  time.Time
	acts []Act
	n    uint64 // random numbers so far

	hide    func([]byte) []byte
	recheck func(*Question, []byte) string
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newStage(t *testing.T, o Options) *stage {
	s := &stage{t: t, now: began}
	s.hide = func(args []byte) []byte { return args }
	o.Random = func() (id [16]byte) {
		s.n++
		binary.BigEndian.PutUint64(id[8:], s.n)
		return id
	}
	s.d = NewDesk(o)
	s.d.SetBelieved(true)
	s.d.SetRedactor(hiding(func(args []byte) []byte { return s.hide(args) }))
	for _, name := range []string{"alice", "bob", "carol", "dave", "mallory", "fs", "local"} {
		s.d.SetHere(named(name), true)
	}
	return s
}

// hiding is a [Redactor].
type hiding func([]byte) []byte

func (h hiding) Redact(args []byte) []byte { return h(args) }

// writeFile is the call of WIRE O39.
func writeFile(of ...string) Question {
	return Question{Caller: "bob", Via: "request", Method: "tools/call", Tool: "write_file", Args: []byte(`{"path":"/a","text":"x"}`),
		Envelope: "e7", RPC: []byte("7"), Bridge: "fs", Server: "a-test-server --pass hunter2", Program: "a-test-server", Dir: "/srv", Command: "c1", Topic: "t1", Dialect: "mcp-x/v0", PolicyHash: "p1",
		Fingerprint: "f1", Timeout: 30 * time.Second,
		Terms: policy.Terms{Of: of, Need: 1, Within: time.Minute, Mode: "parallel", Rules: []string{"small-writes"}}}
}

// deploy is the call of WIRE O56: what is deployed to can be changed.
func deploy(of ...string) Question {
	q := writeFile(of...)
	q.Tool, q.Args = "deploy", []byte(`{"target":"production"}`)
	q.Terms.Edit = []policy.Edit{
		{Field: "modifiedTarget", Arg: "/target", Title: "Target system", Type: "string", Enum: []string{`"production"`, `"staging"`, `"development"`}},
		{Field: "timeout", Arg: "@timeout", Title: "Timeout (seconds)", Type: "number", Min: "1", Max: "300"},
	}
	return q
}

func passable(q Question, to ...string) Question {
	q.Terms.Delegate = &policy.Delegate{To: to, Depth: 1}
	return q
}

// did keeps what an event brought about.
func (s *stage) did(acts []Act) []Act {
	acts = s.verified(acts)
	s.acts = append(s.acts, acts...)
	return acts
}

// verified has a yes verified, and puts what comes of that in its place.
func (s *stage) verified(acts []Act) []Act {
	last := len(acts) - 1
	if last < 0 {
		return acts
	}
	v, is := acts[last].(Verify)
	if !is {
		return acts
	}
	reason := ""
	if s.recheck != nil {
		reason = s.recheck(v.Question, v.Args)
	}
	return append(acts[:last], s.d.Verified(s.now, v.ID, reason)...)
}

// judged has another policy judge all questions.
func (s *stage) judged(judge func(*Question, []byte) policy.Decision) []Act {
	acts := s.d.Tick(s.now)
	for _, u := range s.d.Unsettled() {
		acts = append(acts, s.d.Judged(s.now, u.ID, judge(u.Question, u.Args))...)
	}
	return acts
}

func (s *stage) open(q Question) string {
	id, acts := s.d.Open(s.now, q)
	s.did(acts)
	return id
}

func (s *stage) pass(d time.Duration) {
	s.now = s.now.Add(d)
	s.did(s.d.Tick(s.now))
}

// last returns the newest act of a type that fits.
func last[A Act](s *stage, fits func(A) bool) (found A, ok bool) {
	for _, a := range slices.Backward(s.acts) {
		if a, is := a.(A); is && (fits == nil || fits(a)) {
			return a, true
		}
	}
	return found, false
}

func count[A Act](acts []Act) (n int) {
	for _, a := range acts {
		if _, is := a.(A); is {
			n++
		}
	}
	return n
}

// shown is the newest question before somebody.
func (s *stage) shown(who string) Show {
	s.t.Helper()
	show, ok := last(s, func(a Show) bool { return a.To == named(who) })
	if !ok {
		s.t.Fatalf("nothing was shown to %s: %s", who, s.story())
	}
	return show
}

// to makes an answer to what was shown, as its receiver gives it.
func (s *stage) to(show Show, result string) Answer {
	a := Answer{Who: show.To, Result: []byte(result)}
	if show.To.Door == Topic {
		a.Corr, a.ID, a.Method = []string{show.Ask}, show.RPC, "elicitation/create"
	} else {
		a.Question, a.Digest = show.ID, show.Digest.Short()
	}
	return a
}

func (s *stage) answer(a Answer) []Act { return s.did(s.d.Answer(s.now, a)) }

// says has somebody answer what they were shown last.
func (s *stage) says(who, result string) []Act {
	s.t.Helper()
	return s.answer(s.to(s.shown(who), result))
}

const (
	approves = `{"action":"accept","content":{"approve":true,"reason":"ok"}}`
	declines = `{"action":"decline"}`
)

// end is how a question was settled.
func (s *stage) end() Settled {
	s.t.Helper()
	e, ok := last[Settled](s, nil)
	if !ok {
		s.t.Fatalf("nothing is settled: %s", s.story())
	}
	return e
}

func (s *stage) wantPending(id string) {
	s.t.Helper()
	if !slices.Contains(s.d.Resolve(id), id) {
		s.t.Fatalf("the question is not pending any more: %s", s.story())
	}
}

func (s *stage) wantEnd(how Outcome, reason string) Settled {
	s.t.Helper()
	e := s.end()
	if e.Outcome != how || e.Reason != reason {
		s.t.Fatalf("settled as %s %q (%s), want %s %q", e.Outcome, e.Reason, e.Detail, how, reason)
	}
	if (e.Args != nil) != (how == Allowed) {
		s.t.Fatalf("%s with arguments %s", e.Outcome, e.Args)
	}
	return e
}

func (s *stage) wantNoted(event record.Event, reason string) Noted {
	s.t.Helper()
	n, ok := last(s, func(n Noted) bool { return n.Event == event })
	if !ok || n.Reason != reason {
		s.t.Fatalf("noted %+v, want %s %q", n, event, reason)
	}
	return n
}

// form is the elicitation's params as a stock client reads them.
type form struct {
	Message         string
	RequestedSchema struct {
		Type       string
		Properties map[string]map[string]any
		Required   []string
	}
	Metadata metadata
	Meta     map[string]metadata `json:"_meta"`
}

type metadata struct {
	ElicitationType string
	Timeout         int
	Priority        string
	OriginalRequest map[string]json.RawMessage
	Delegation      []map[string]string
	Digest          string
}

func (s *stage) form(show Show) (f form) {
	s.t.Helper()
	if err := json.Unmarshal(show.Params, &f); err != nil {
		s.t.Fatalf("the params are no JSON: %v: %s", err, show.Params)
	}
	return f
}

// story tells what happened, for messages of tests.
func (s *stage) story() string {
	var b strings.Builder
	for _, a := range s.acts {
		switch a := a.(type) {
		case Show:
			fmt.Fprintf(&b, "show %s %s; ", a.To, a.Why)
		case Close:
			fmt.Fprintf(&b, "close %s (%s); ", a.To, a.Because)
		case Settled:
			fmt.Fprintf(&b, "settled %s %s (%s) by %v; ", a.Outcome, a.Reason, a.Detail, a.By)
		case Noted:
			fmt.Fprintf(&b, "noted %s of %s %s; ", a.Event, a.Who, a.Reason)
		}
	}
	return b.String()
}
