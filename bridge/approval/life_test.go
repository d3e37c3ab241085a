package approval

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Every event in every state of a question: the first transition wins and is
// the only one (WIRE 7.2; RELIABILITY AI-5).
func TestAI05EveryEventInEveryState(t *testing.T) {
	type event struct {
		name    string
		do      func(s *stage, id string, show Show)
		outcome Outcome
		reason  string
		pending bool // leaves the question as it is
	}
	events := []event{
		{"accept", func(s *stage, id string, show Show) { s.answer(s.to(show, approves)) }, Allowed, "", false},
		{"decline", func(s *stage, id string, show Show) { s.answer(s.to(show, declines)) }, Denied, Declined, false},
		{"cancel", func(s *stage, id string, show Show) { s.answer(s.to(show, `{"action":"cancel"}`)) }, Denied, Cancelled, false},
		{"nonsense", func(s *stage, id string, show Show) { s.answer(s.to(show, `null`)) }, Denied, InvalidAnswer, false},
		{"apr-017 O50 error", func(s *stage, id string, show Show) { a := s.to(show, ""); a.Failed = true; s.answer(a) }, Refused, NoApprover, false},
		{"accept of another", func(s *stage, id string, show Show) {
			a := s.to(show, approves)
			a.Who = Participant("mallory")
			s.answer(a)
		}, 0, "", true},
		{"deadline", func(s *stage, id string, show Show) { s.pass(time.Minute) }, Expired, TimedOut, false},
		{"a moment before the deadline", func(s *stage, id string, show Show) { s.pass(began.Add(time.Minute - 1).Sub(s.now)) }, 0, "", true},
		{"O52 approver left", func(s *stage, id string, show Show) { s.did(s.d.Left(s.now, Participant("alice"))) }, Refused, NoApprover, false},
		{"not sent", func(s *stage, id string, show Show) { s.did(s.d.Unreachable(s.now, show.Ask)) }, Refused, NoApprover, false},
		{"approver came back", func(s *stage, id string, show Show) { s.did(s.d.Joined(s.now, Participant("alice"))) }, 0, "", true},
		{"somebody left", func(s *stage, id string, show Show) { s.did(s.d.Left(s.now, Participant("mallory"))) }, 0, "", true},
		{"caller left", func(s *stage, id string, show Show) { s.did(s.d.Left(s.now, Participant("bob"))) }, Withdrawn, CallerLeft, false},
		{"proposer left", func(s *stage, id string, show Show) { s.did(s.d.Left(s.now, Participant("dave"))) }, Aborted, ProposerLeft, false},
		{"O53 caller cancelled", func(s *stage, id string, show Show) { s.did(s.d.Withdraw(s.now, id, "cancelled")) }, Withdrawn, "cancelled", false},
		{"aborted", func(s *stage, id string, show Show) { s.did(s.d.Abort(s.now, id, "audit_unavailable")) }, Aborted, "audit_unavailable", false},
		{"shutdown", func(s *stage, id string, show Show) { s.did(s.d.AbortAll(s.now, ShuttingDown)) }, Aborted, ShuttingDown, false},
		{"our connection came back", func(s *stage, id string, show Show) { s.did(s.d.Reask(s.now)) }, 0, "", true},
		{"policy denies now", func(s *stage, id string, show Show) { s.did(s.judged(verdict(policy.Deny))) }, Aborted, PolicyDenied, false},
		{"policy allows now", func(s *stage, id string, show Show) { s.did(s.judged(verdict(policy.Allow))) }, 0, "", true},
		{"apr-024 tool changed", func(s *stage, id string, show Show) { s.did(s.d.Abort(s.now, id, ToolChanged)) }, Aborted, ToolChanged, false},
		{"tick", func(s *stage, id string, show Show) { s.pass(0) }, 0, "", true},
	}
	for _, first := range events {
		for _, second := range events {
			t.Run(first.name+" then "+second.name, func(t *testing.T) {
				s := newStage(t, Options{})
				q := writeFile("alice")
				q.Proposer = "dave"
				id := s.open(q)
				show := s.shown("alice")
				first.do(s, id, show)
				wantState(t, s, id, first.outcome, first.reason, first.pending)
				if !first.pending {
					second.outcome, second.reason, second.pending = first.outcome, first.reason, false
				}
				second.do(s, id, s.shown("alice"))
				wantState(t, s, id, second.outcome, second.reason, second.pending)
			})
		}
	}
}

func verdict(v policy.Verdict) func(*Question, []byte) policy.Decision {
	return func(*Question, []byte) policy.Decision { return policy.Decision{Verdict: v} }
}

func wantState(t *testing.T, s *stage, id string, how Outcome, reason string, pending bool) {
	t.Helper()
	if n := count[Settled](s.acts); pending {
		s.wantPending(id)
		if n != 0 {
			t.Fatalf("pending and settled: %s", s.story())
		}
	} else {
		if n != 1 {
			t.Fatalf("settled %d times: %s", n, s.story())
		}
		s.wantEnd(how, reason)
		nothingLeft(t, s.d)
	}
}

// nothingLeft: no question, no timer, no ask.
func nothingLeft(t *testing.T, d *Desk) {
	t.Helper()
	if len(d.pending)+len(d.asks)+len(d.before)+len(d.involved)+len(d.parties)+d.bytes != 0 || !d.Next().IsZero() {
		t.Fatalf("left over: %d pending, %d asks, next at %s, %v before, %v involved, %v parties, %d bytes",
			len(d.pending), len(d.asks), d.Next(), d.before, d.involved, d.parties, d.bytes)
	}
}

// What ends a question takes it away from everybody who has it open.
func TestViewsAreClosed(t *testing.T) {
	s := newStage(t, Options{})
	s.open(writeFile("alice", "carol", "local"))
	if count[Show](s.acts) != 3 {
		t.Fatalf("shown: %s", s.story())
	}
	carol := s.shown("carol")
	acts := s.says("alice", approves)
	if count[Close](acts) != 2 {
		t.Fatalf("%+v", acts)
	}
	for _, a := range acts {
		switch c, ok := a.(Close); {
		case !ok:
		case c.To == Participant("carol"):
			if c.Ask != carol.Ask || string(c.RPC) != string(carol.RPC) || c.Because != "allowed by alice" {
				t.Errorf("%+v", c)
			}
		case c.To != (Who{Door: Local}) || c.Because != "allowed by alice":
			t.Errorf("%+v", c)
		}
	}
	if _, ok := acts[len(acts)-1].(Settled); !ok {
		t.Errorf("the end comes last: %+v", acts)
	}
	// apr-010: another approver right after
	s.answer(s.to(carol, declines))
	s.wantNoted(record.LateAnswer, "allowed")
	s.wantEnd(Allowed, "")
}

func TestExpiryCancelsTheElicitation(t *testing.T) { // WIRE O48
	s := newStage(t, Options{})
	s.open(writeFile("alice"))
	show := s.shown("alice")
	if at := s.d.Next(); !at.Equal(began.Add(48 * time.Second)) {
		t.Errorf("the next thing is due at %v, want the warning", at)
	}
	s.pass(48 * time.Second)
	if n := s.wantNoted(record.Expiring, ""); n.Digest != show.Digest {
		t.Errorf("%+v", n)
	}
	if at := s.d.Next(); !at.Equal(began.Add(time.Minute)) {
		t.Errorf("the next thing is due at %v", at)
	}
	s.pass(12 * time.Second)
	s.wantEnd(Expired, TimedOut)
	c, ok := last[Close](s, nil)
	if !ok || string(c.RPC) != string(show.RPC) || c.To != Participant("alice") {
		t.Errorf("%+v", c)
	}
}

func TestAI01OnlyWhoIsListedIsAsked(t *testing.T) {
	s := newStage(t, Options{})
	for _, of := range [][]string{{}, {"*"}, {"ALICE"}, {"alice "}, {""}, {"ghost"}, {"host"}} {
		s.open(writeFile(of...))
		s.wantEnd(Refused, NoApprover)
	}
	if count[Show](s.acts) != 0 {
		t.Errorf("%s", s.story())
	}
	nothingLeft(t, s.d)
}

func TestAI02NobodyDecidesAboutTheirOwn(t *testing.T) {
	for name, of := range map[string]string{"O47 the caller": "bob", "the proposer": "dave", "the bridge": "fs"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, Options{})
			q := writeFile(of)
			q.Proposer = "dave"
			s.open(q)
			s.wantEnd(Refused, NoApprover)

			q.Terms.Of = []string{of, "alice", of, "alice"}
			id := s.open(q)
			if n := count[Show](s.acts); n != 1 || s.shown("alice").ID != id {
				t.Errorf("shown %d times: %s", n, s.story())
			}
			q.Terms.Need = 2
			s.open(q)
			s.wantEnd(Refused, NoApprover)
		})
	}
}

// O51: who is not here is not asked, and nobody waits for them; who comes while
// others are asked is asked too.
func TestPresence(t *testing.T) {
	s := newStage(t, Options{})
	s.d.SetHere(Participant("alice"), false)
	s.open(writeFile("alice"))
	s.wantEnd(Refused, NoApprover)
	s.acts = nil

	id := s.open(writeFile("alice", "carol"))
	if count[Show](s.acts) != 1 {
		t.Fatalf("%s", s.story())
	}
	s.d.SetHere(Participant("alice"), true)
	s.did(s.d.Joined(s.now, Participant("alice")))
	if s.shown("alice").ID != id {
		t.Fatal("not asked after joining")
	}
	s.did(s.d.Left(s.now, Participant("carol")))
	s.wantPending(id)
	s.says("alice", approves)
	s.wantEnd(Allowed, "")
}

func TestAI05TheFirstOfManyWins(t *testing.T) {
	for _, order := range [][]string{{"alice", "carol", "local"}, {"local", "carol", "alice"}, {"carol", "alice", "local"}} {
		s := newStage(t, Options{})
		s.open(writeFile("alice", "carol", "local"))
		said := map[string]string{"alice": approves, "carol": declines, "local": `{"action":"cancel"}`}
		shows := map[string]Show{}
		for _, who := range order {
			shows[who] = s.shown(who)
		}
		for _, who := range order {
			s.answer(s.to(shows[who], said[who]))
		}
		if e := s.end(); e.By[0] != named(order[0]) || count[Settled](s.acts) != 1 {
			t.Errorf("%v: decided by %v", order, e.By)
		}
	}
}

// AI-7: what was asked about does not change under the people's hands.
func TestAI07TheValueIsFrozen(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice")
	s.open(q)
	digest := s.shown("alice").Digest
	copy(q.Args, `{"path":"/etc/passwd"   }`)
	q.RPC[0] = '8'
	s.says("alice", approves)
	e := s.wantEnd(Allowed, "")
	if string(e.Args) != `{"path":"/a","text":"x"}` || string(e.Question.RPC) != "7" || e.Ran != digest {
		t.Errorf("%s, id %s", e.Args, e.Question.RPC)
	}
}

func TestAI09AI14RecheckedAtTheYes(t *testing.T) {
	for _, reason := range []string{ToolChanged, PolicyDenied} {
		s := newStage(t, Options{})
		s.open(writeFile("alice"))
		s.recheck = func(q *Question, args []byte) string {
			if q.Tool != "write_file" || string(args) != `{"path":"/a","text":"x"}` {
				t.Errorf("asked about %s %s", q.Tool, args)
			}
			return reason
		}
		s.says("alice", approves)
		s.wantEnd(Aborted, reason)
	}
}

// What nobody verifies, or not at once, or not as what it was, starts nothing.
func TestAYesCountsOnlyOnceItIsVerified(t *testing.T) {
	for name, between := range map[string]func(s *stage, id string) string{
		"nothing was verified": func(*stage, string) string { return "" },
		"of another question":  func(*stage, string) string { return "another" },
		"something was told in between": func(s *stage, id string) string {
			s.d.Tick(s.now)
			return id
		},
		"another answered in between": func(s *stage, id string) string {
			s.d.Answer(s.now, s.to(s.shown("carol"), approves))
			s.d.Reask(s.now)
			return id
		},
		"the question has ended in between": func(s *stage, id string) string {
			s.d.Withdraw(s.now, id, Cancelled)
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, Options{})
			id := s.open(writeFile("alice", "carol"))
			if acts := s.d.Answer(s.now, s.to(s.shown("alice"), approves)); len(acts) != 1 || count[Verify](acts) != 1 {
				t.Fatalf("a yes brings about %+v", acts)
			}
			if of := between(s, id); of != "" {
				if acts := s.d.Verified(s.now, of, ""); len(acts) > 0 {
					t.Errorf("brings about %+v", acts)
				}
			}
			s.did(s.d.Withdraw(s.now, id, Cancelled))
			if e, ok := last[Settled](s, nil); ok && e.Outcome == Allowed {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestARememberedYesCountsOnlyOnceItIsVerified(t *testing.T) {
	s := newStage(t, Options{})
	s.open(rememberable("alice"))
	s.says("alice", keeps("session"))
	id, acts := s.d.Open(s.now, rememberable("alice"))
	if len(acts) != 1 || count[Verify](acts) != 1 {
		t.Fatalf("it brings about %+v", acts)
	}
	s.d.Tick(s.now)
	if acts := s.d.Verified(s.now, id, ""); len(acts) > 0 {
		t.Errorf("after something else it brings about %+v", acts)
	}
	id, _ = s.d.Open(s.now, rememberable("alice"))
	if acts := s.d.Verified(s.now, id, ""); len(acts) != 1 || acts[0].(Settled).Outcome != Allowed {
		t.Errorf("verified it brings about %+v", acts)
	}
	if acts := s.d.Verified(s.now, id, ""); len(acts) > 0 {
		t.Errorf("verified twice it brings about %+v", acts)
	}
}

func TestAI10TwoClocks(t *testing.T) {
	for within, want := range map[time.Duration]time.Duration{0: 5 * time.Minute, -1: 5 * time.Minute, time.Second: time.Second, 48 * time.Hour: 24 * time.Hour} {
		s := newStage(t, Options{})
		q := writeFile("alice")
		q.Terms.Within = within
		s.open(q)
		if by := s.shown("alice").By; !by.Equal(began.Add(want)) {
			t.Errorf("%v: decide by %v", within, by)
		}
		s.pass(want - 1)
		s.says("alice", approves)
		if e := s.wantEnd(Allowed, ""); !e.StartBy.Equal(s.now.Add(30 * time.Second)) {
			t.Errorf("start by %v", e.StartBy)
		}
	}
	s := newStage(t, Options{StartWithin: time.Second})
	q := writeFile("alice")
	q.Until = began.Add(2 * time.Second)
	s.open(q)
	s.says("alice", approves)
	if e := s.end(); !e.StartBy.Equal(began.Add(time.Second)) {
		t.Errorf("start by %v", e.StartBy)
	}
	s.open(q)
	s.pass(2 * time.Second)
	s.wantEnd(Expired, TimedOut)
	s.open(q)
	s.wantEnd(Expired, TimedOut)
	nothingLeft(t, s.d)
}

// AI-12: what ends without a yes never opens anything: see the table above.

func TestAI14ReloadTightens(t *testing.T) {
	judge := func(change func(*policy.Terms)) func(*Question, []byte) policy.Decision {
		return func(q *Question, args []byte) policy.Decision {
			terms := q.Terms
			change(&terms)
			return policy.Decision{Verdict: policy.Ask, Ask: &terms}
		}
	}
	t.Run("apr-026 an approver no longer", func(t *testing.T) {
		s := newStage(t, Options{})
		id := s.open(writeFile("alice", "carol"))
		acts := s.did(s.judged(judge(func(q *policy.Terms) { q.Of = []string{"carol", "dave"} })))
		if count[Close](acts) != 1 || count[Show](acts) != 0 {
			t.Errorf("%+v", acts)
		}
		s.says("alice", approves)
		s.wantNoted(record.ForeignAnswer, "wrong_sender")
		s.wantPending(id)
		s.did(s.d.Joined(s.now, Participant("alice")))
		if s.shown("alice").Why != "" {
			t.Error("asked again")
		}
		s.says("carol", approves)
		s.wantEnd(Allowed, "")
	})
	t.Run("nobody is left", func(t *testing.T) {
		s := newStage(t, Options{})
		s.open(writeFile("alice"))
		s.did(s.judged(judge(func(q *policy.Terms) { q.Of = []string{"carol"} })))
		s.wantEnd(Refused, NoApprover)
	})
	t.Run("a vote of somebody who is an approver no longer", func(t *testing.T) {
		s := newStage(t, Options{})
		q := writeFile("alice", "carol", "dave")
		q.Terms.Need = 2
		id := s.open(q)
		s.says("alice", approves)
		s.did(s.judged(judge(func(q *policy.Terms) { q.Of = []string{"carol", "dave"} })))
		s.says("carol", approves)
		s.wantPending(id)
		s.says("dave", approves)
		s.wantEnd(Allowed, "")
	})
	t.Run("more people, less time", func(t *testing.T) {
		s := newStage(t, Options{})
		id := s.open(writeFile("alice", "carol"))
		s.did(s.judged(judge(func(q *policy.Terms) { q.Need, q.Within = 2, 30*time.Second })))
		s.says("alice", approves)
		s.wantPending(id)
		s.pass(30 * time.Second)
		s.wantEnd(Expired, TimedOut)
	})
	t.Run("the time is over already", func(t *testing.T) {
		s := newStage(t, Options{})
		s.open(writeFile("alice"))
		s.pass(30 * time.Second)
		s.did(s.judged(judge(func(q *policy.Terms) { q.Within = 20 * time.Second })))
		s.wantEnd(Expired, TimedOut)
	})
	t.Run("looser changes nothing", func(t *testing.T) {
		s := newStage(t, Options{})
		q := writeFile("alice", "carol")
		q.Terms.Need = 2
		id := s.open(q)
		s.did(s.judged(judge(func(q *policy.Terms) { q.Need, q.Within = 1, time.Hour })))
		s.says("alice", approves)
		s.wantPending(id)
		s.pass(time.Minute)
		s.wantEnd(Expired, TimedOut)
	})
	t.Run("a field that may be changed no longer", func(t *testing.T) {
		for value, want := range map[string]Outcome{`"staging"`: Denied, `"production"`: Allowed} {
			s := newStage(t, Options{})
			s.open(deploy("alice"))
			s.did(s.judged(judge(func(q *policy.Terms) { q.Edit = nil })))
			s.says("alice", `{"action":"accept","content":{"approve":true,"modifiedTarget":`+value+`}}`)
			if e := s.end(); e.Outcome != want || want == Denied && e.Reason != InvalidModification {
				t.Errorf("%s: %v %s", value, e.Outcome, e.Reason)
			}
		}
	})
	t.Run("passing on no longer", func(t *testing.T) {
		s := newStage(t, Options{})
		s.open(passable(writeFile("alice"), "carol"))
		s.did(s.judged(judge(func(q *policy.Terms) { q.Delegate = nil })))
		for range 2 {
			s.says("alice", `{"action":"accept","content":{"action":"delegate","delegateTo":"carol"}}`)
		}
		s.wantEnd(Denied, InvalidDelegation)
	})
}

// AI-22: an answer counts only from a session that was sent the question.
func TestAI22RejoinedApproverIsAskedAnew(t *testing.T) { // apr-029
	s := newStage(t, Options{})
	id := s.open(writeFile("alice"))
	old := s.shown("alice")
	s.did(s.d.Joined(s.now, Participant("alice")))
	fresh := s.shown("alice")
	if fresh.Ask == old.Ask || fresh.Why != "rejoined" || fresh.Digest != old.Digest {
		t.Fatalf("%+v", fresh)
	}
	s.answer(s.to(old, approves))
	s.wantNoted(record.LateAnswer, "old_session")
	s.wantPending(id)
	s.answer(s.to(fresh, approves))
	s.wantEnd(Allowed, "")
}

// WIRE O61: after our own connection was lost both the new and the old ids
// count.
func TestReask(t *testing.T) {
	for _, which := range []string{"old", "new"} {
		s := newStage(t, Options{})
		s.open(writeFile("alice", "local"))
		old := s.shown("alice")
		s.pass(20 * time.Second)
		acts := s.did(s.d.Reask(s.now))
		fresh := s.shown("alice")
		if count[Show](acts) != 1 || fresh.Ask == old.Ask || string(fresh.RPC) == string(old.RPC) || fresh.Why != "reconnected" {
			t.Fatalf("%+v", acts)
		}
		if f := s.form(fresh); f.Metadata.Timeout != 40 {
			t.Errorf("%d s left", f.Metadata.Timeout)
		}
		show, other := old, fresh
		if which == "new" {
			show, other = fresh, old
		}
		acts = s.answer(s.to(show, approves))
		s.wantEnd(Allowed, "")
		if c, ok := acts[0].(Close); !ok || c.Ask != other.Ask {
			t.Errorf("the other one stays open: %+v", acts)
		}
		s.answer(s.to(other, approves))
		if count[Settled](s.acts) != 1 {
			t.Error("settled twice")
		}
	}
	s := newStage(t, Options{})
	s.open(writeFile("alice"))
	s.pass(51 * time.Second)
	if acts := s.did(s.d.Reask(s.now)); len(acts) != 0 {
		t.Errorf("asked again with 9 s left: %v", acts)
	}
}

// Somebody who joins over and over fills nothing.
func TestRejoiningIsBounded(t *testing.T) {
	s := newStage(t, Options{})
	s.open(writeFile("alice"))
	for range 100 {
		s.did(s.d.Joined(s.now, Participant("alice")))
	}
	if n := len(s.d.asks); n > maxAsks {
		t.Errorf("%d asks are kept", n)
	}
	s.says("alice", approves)
	s.wantEnd(Allowed, "")
}

func TestQuorum(t *testing.T) {
	two := func() (*stage, string) {
		s := newStage(t, Options{})
		q := writeFile("alice", "carol", "dave")
		q.Terms.Need = 2
		return s, s.open(q)
	}
	t.Run("two agree", func(t *testing.T) {
		s, id := two()
		s.says("alice", approves)
		if n := s.wantNoted(record.Answer, "approved"); n.Have != 1 {
			t.Errorf("%+v", n)
		}
		s.wantPending(id)
		s.says("dave", approves)
		if e := s.wantEnd(Allowed, ""); !slices.Equal(e.By, []Who{Participant("alice"), Participant("dave")}) {
			t.Errorf("by %v", e.By)
		}
	})
	t.Run("one twice is one", func(t *testing.T) {
		s, id := two()
		show := s.shown("alice")
		s.answer(s.to(show, approves))
		s.answer(s.to(show, approves))
		s.wantNoted(record.LateAnswer, "already_answered")
		s.wantPending(id)
	})
	t.Run("one over two connections is one", func(t *testing.T) {
		s, id := two()
		show := s.shown("alice")
		s.did(s.d.Reask(s.now))
		s.says("alice", approves)
		s.answer(s.to(show, approves))
		s.did(s.d.Joined(s.now, Participant("alice")))
		s.answer(s.to(show, approves))
		s.wantPending(id)
	})
	t.Run("any no is a veto", func(t *testing.T) {
		s, _ := two()
		s.says("alice", approves)
		s.says("carol", declines)
		if e := s.wantEnd(Denied, Declined); !slices.Equal(e.By, []Who{Participant("carol")}) {
			t.Errorf("by %v", e.By)
		}
	})
	t.Run("too few are left", func(t *testing.T) {
		s, id := two()
		s.did(s.d.Left(s.now, Participant("alice")))
		s.wantPending(id)
		a := s.to(s.shown("carol"), "")
		a.Failed = true
		s.answer(a)
		s.wantEnd(Refused, NoApprover)
	})
	t.Run("an agreement outlasts a leave", func(t *testing.T) {
		s, _ := two()
		s.says("alice", approves)
		s.did(s.d.Left(s.now, Participant("alice")))
		s.says("carol", approves)
		s.wantEnd(Allowed, "")
	})
	t.Run("more than there are", func(t *testing.T) {
		s := newStage(t, Options{})
		q := writeFile("alice", "carol")
		q.Terms.Need = 3
		s.open(q)
		s.wantEnd(Refused, NoApprover)
	})
}

func TestSequential(t *testing.T) {
	open := func(need int) (*stage, string) {
		s := newStage(t, Options{})
		q := writeFile("alice", "carol", "dave")
		q.Terms.Mode, q.Terms.Need = "sequential", need
		return s, s.open(q)
	}
	asked := func(s *stage, want ...string) {
		t.Helper()
		var got []string
		for _, a := range s.acts {
			if show, ok := a.(Show); ok {
				got = append(got, fmt.Sprint(show.To, " ", show.By.Sub(began)))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
	t.Run("the time is divided", func(t *testing.T) {
		s, _ := open(1)
		s.pass(20 * time.Second)
		if c, ok := last[Close](s, nil); !ok || c.To != Participant("alice") {
			t.Errorf("%+v", s.acts)
		}
		s.pass(20 * time.Second)
		s.answer(s.to(s.shown("alice"), approves))
		s.wantNoted(record.LateAnswer, TimedOut)
		s.pass(20 * time.Second)
		asked(s, "alice 20s", "carol 40s", "dave 1m0s")
		s.wantEnd(Expired, TimedOut)
	})
	t.Run("time saved is the others'", func(t *testing.T) {
		s, _ := open(1)
		a := s.to(s.shown("alice"), "")
		a.Failed = true
		s.answer(a)
		asked(s, "alice 20s", "carol 30s")
		s.says("carol", approves)
		s.wantEnd(Allowed, "")
	})
	t.Run("who is gone is passed over", func(t *testing.T) {
		s, _ := open(1)
		s.d.SetHere(Participant("carol"), false)
		s.did(s.d.Left(s.now, Participant("alice")))
		asked(s, "alice 20s", "dave 1m0s")
		s.did(s.d.Left(s.now, Participant("dave")))
		s.wantEnd(Refused, NoApprover)
	})
	t.Run("two of three", func(t *testing.T) {
		s, _ := open(2)
		s.says("alice", approves)
		s.says("carol", approves)
		asked(s, "alice 20s", "carol 30s")
		s.wantEnd(Allowed, "")
	})
	t.Run("two of three when the first is silent", func(t *testing.T) {
		s, _ := open(2)
		s.pass(20 * time.Second)
		s.pass(20 * time.Second)
		s.wantEnd(Expired, TimedOut)
	})
	t.Run("a no is final", func(t *testing.T) {
		s, _ := open(1)
		s.says("alice", declines)
		asked(s, "alice 20s")
		s.wantEnd(Denied, Declined)
	})
}
