package approval

import (
	"fmt"
	"testing"
	"time"
)

func TestAI17Caps(t *testing.T) { // apr-035, O65
	fill := func(o Options, n int, of func(i int) Question) (*stage, Settled) {
		s := newStage(t, o)
		for i := range n {
			q := of(i)
			q.Args = fmt.Appendf(nil, `{"n":%d}`, i)
			s.open(q)
		}
		e, _ := last[Settled](s, nil)
		return s, e
	}
	one := func(int) Question { return writeFile("local") }
	many := func(i int) Question {
		q := writeFile("alice")
		q.Caller = fmt.Sprint("agent-", i)
		return q
	}
	for _, c := range []struct {
		name string
		o    Options
		fits int
		of   func(int) Question
	}{
		{"apr-035 per caller", Options{}, 8, one},
		{"per minute", Options{PerCaller: 100}, 10, one},
		{"per approver", Options{}, 50, many},
		{"O65 altogether", Options{MaxPending: 1}, 1, many},
		{"bytes", Options{MaxBytes: 20}, 2, many},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, e := fill(c.o, c.fits, c.of)
			if e.ID != "" || len(s.d.pending) != c.fits {
				t.Fatalf("%d fit, want %d: %s", len(s.d.pending), c.fits, s.story())
			}
			s, e = fill(c.o, c.fits+1, c.of)
			if e.Outcome != Refused || e.Reason != Busy || len(s.d.pending) != c.fits {
				t.Fatalf("%s", s.story())
			}
			// Other callers with other approvers are served all the same (I15).
			if c.o.MaxPending == 0 && c.o.MaxBytes == 0 {
				q := writeFile("carol")
				q.Caller = "dave"
				s.wantPending(s.open(q))
			}
		})
	}
}

func TestAI17NewPromptsPerMinute(t *testing.T) {
	s := newStage(t, Options{PerCaller: 100})
	open := func(n int) string {
		q := writeFile("local")
		q.Args = fmt.Appendf(nil, `{"n":%d}`, n)
		return s.open(q)
	}
	for i := range 10 {
		s.wantPending(open(i))
		s.says("local", approves)
		s.pass(time.Second)
	}
	open(10)
	if e := s.wantEnd(Refused, Busy); e.Retry != 50*time.Second {
		t.Errorf("retry in %v", e.Retry)
	}
	s.pass(50 * time.Second)
	s.wantPending(open(11))
}

func TestAI17CoolDown(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice", "carol")
	s.open(q)
	s.says("alice", declines)
	s.open(q)
	s.says("carol", `{"action":"cancel"}`)
	q.Args = []byte(` { "text" : "\u0078", "path":"/a" } `)
	s.open(q)
	s.says("alice", declines)
	s.pass(time.Minute)
	shows := count[Show](s.acts)
	s.open(q)
	if e := s.wantEnd(Refused, Cooldown); e.Retry != 9*time.Minute || count[Show](s.acts) != shows {
		t.Errorf("retry in %v; %s", e.Retry, s.story())
	}

	for _, dodge := range []string{`{"path":"/b","text":"x"}`, `{"path":"/a","text":"x","x":1}`} { // L2: with an argument more
		other := q
		other.Args = []byte(dodge)
		s.open(other)
		s.wantEnd(Refused, Cooldown)
	}
	other := q
	other.Via = "proposal"
	s.open(other)
	s.wantEnd(Refused, Cooldown)
	other = q
	other.Caller = "dave"
	s.wantPending(s.open(other))
	other = q
	other.Tool = "append_file"
	s.wantPending(s.open(other))

	s.pass(9*time.Minute - 1)
	s.open(q)
	s.wantEnd(Refused, Cooldown)
	s.pass(1)
	s.wantPending(s.open(q))
}

// Only what people refuse, three times in a row, cools down.
func TestAI17WhatDoesNotCoolDown(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice")
	refuse := func() { s.wantPending(s.open(q)); s.says("alice", declines); s.pass(time.Minute) }
	refuse()
	refuse()
	s.wantPending(s.open(q))
	s.says("alice", approves)
	refuse()
	refuse()
	for range 3 {
		s.wantPending(s.open(q))
		s.pass(time.Minute)
		s.wantEnd(Expired, TimedOut)
		s.did(s.d.Withdraw(s.now, s.open(q), "cancelled"))
	}
	refuse()
	s.open(q)
	s.wantEnd(Refused, Cooldown)
}

func TestQuietCallersAreForgotten(t *testing.T) {
	s := newStage(t, Options{})
	for i := range 2000 {
		q := writeFile("alice")
		q.Caller = fmt.Sprint("agent-", i)
		s.open(q)
		s.says("alice", declines)
		s.pass(time.Second)
		s.acts = nil
	}
	if n := len(s.d.flood.callers); n > 400 {
		t.Errorf("%d callers are kept", n)
	}
	if n := len(s.d.flood.refusals); n > 900 {
		t.Errorf("%d refusals are kept", n)
	}
}
