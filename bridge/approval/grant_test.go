package approval

import (
	"bytes"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

func keeps(what string) string {
	return `{"action":"accept","content":{"approve":true,"remember":"` + what + `"}}`
}

func rememberable(of ...string) Question {
	q := writeFile(of...)
	q.Terms.Remember = []string{"once", "session", "always"}
	return q
}

func TestAI18Grants(t *testing.T) {
	for _, keep := range []string{"session", "always"} {
		t.Run(keep, func(t *testing.T) {
			s := newStage(t, Options{})
			q := rememberable("alice")
			s.open(q)
			s.says("alice", keeps(keep))
			made := s.wantEnd(Allowed, "").Made
			if made == nil || made.Keep != keep || made.Caller != "bob" || made.Tool != "write_file" || string(made.Args) != `{"path":"/a","text":"x"}` {
				t.Fatalf("%+v", made)
			}
			if lasts := made.Until.Sub(s.now); lasts != map[string]time.Duration{"session": 8 * time.Hour, "always": 30 * 24 * time.Hour}[keep] {
				t.Errorf("lasts %v", lasts)
			}
			shows := count[Show](s.acts)
			q.Args, q.Envelope = []byte(`{ "text":"x","path":"/a" }`), "e8"
			s.open(q)
			e := s.wantEnd(Allowed, "")
			if count[Show](s.acts) != shows || e.Used == nil || e.Used.ID != made.ID || e.Made != nil || string(e.Args) != string(q.Args) {
				t.Errorf("%+v", e)
			}
			for name, change := range map[string]func(*Question){
				"another caller":       func(q *Question) { q.Caller = "dave" },
				"as a proposal":        func(q *Question) { q.Via = "proposal" },
				"another tool":         func(q *Question) { q.Tool = "write_files" },
				"other arguments":      func(q *Question) { q.Args = []byte(`{"path":"/a","text":"x","mode":1}`) },
				"for a proposer":       func(q *Question) { q.Proposer = "erin" },
				"elsewhere":            func(q *Question) { q.Topic = "t2" },
				"fewer arguments":      func(q *Question) { q.Args = []byte(`{"path":"/a"}`) },
				"another definition":   func(q *Question) { q.Fingerprint = "f2" },
				"another spelling":     func(q *Question) { q.Args = []byte(`{"path":"/A","text":"x"}`) },
				"no longer offered":    func(q *Question) { q.Terms.Remember = []string{"once"} },
				"more people":          func(q *Question) { q.Terms.Of, q.Terms.Need = []string{"alice", "carol"}, 2 },
				"others decide":        func(q *Question) { q.Terms.Of = []string{"carol"} },
				"the one who agreed":   func(q *Question) { q.Caller = "alice"; q.Terms.Of = []string{"carol"} },
				"the proposer was her": func(q *Question) { q.Proposer = "alice"; q.Terms.Of = []string{"carol"} },
			} {
				q := q
				change(&q)
				id := s.open(q)
				if _, granted := s.d.pending[id]; !granted {
					t.Errorf("%s: not asked", name)
				}
				s.did(s.d.Withdraw(s.now, id, ""))
				s.pass(time.Minute)
			}
			s.now = made.Until
			s.wantPending(s.open(q))
		})
	}
}

func TestGrantsListAndRevoke(t *testing.T) {
	s := newStage(t, Options{})
	s.open(rememberable("alice"))
	s.says("alice", keeps("always"))
	all := s.d.Grants(s.now)
	if len(all) != 1 || all[0].By[0] != Participant("alice") {
		t.Fatalf("%+v", all)
	}
	if s.d.Revoke("x") || !s.d.Revoke(all[0].ID) || s.d.Revoke(all[0].ID) {
		t.Error("revoked what is not there, or not what is")
	}
	s.wantPending(s.open(rememberable("alice")))
}

// What was agreed to for one proposer holds for no other, and no rule says it.
func TestAYesForAProposersCall(t *testing.T) {
	s := newStage(t, Options{})
	q := rememberable("alice")
	q.Proposer = "erin"
	s.open(q)
	s.says("alice", keeps("always"))
	if made := s.wantEnd(Allowed, "").Made; made == nil || made.Keep != "session" {
		t.Fatalf("%+v", made)
	}
	s.open(q)
	s.wantEnd(Allowed, "")
	for _, other := range []string{"", "dave"} {
		q.Proposer = other
		s.wantPending(s.open(q))
	}
}

// A session grant ends with the session.
func TestSessionGrantEndsWhenTheCallerLeaves(t *testing.T) {
	for keep, lasts := range map[string]bool{"session": false, "always": true} {
		s := newStage(t, Options{})
		s.open(rememberable("alice"))
		s.says("alice", keeps(keep))
		s.did(s.d.Left(s.now, Participant("bob")))
		if got := len(s.d.Grants(s.now)) == 1; got != lasts {
			t.Errorf("%s: %v", keep, got)
		}
	}
}

// What is remembered is what everybody wanted, and never more than was offered.
func TestWhatIsNotRemembered(t *testing.T) {
	for _, c := range []struct {
		name, says string
		q          Question
		outcome    Outcome
	}{
		{"once", keeps("once"), rememberable("alice"), Allowed},
		{"not said", approves, rememberable("alice"), Allowed},
		{"not offered at all", keeps("always"), writeFile("alice"), Allowed},
		{"something else", keeps("forever"), rememberable("alice"), Denied},
		{"no string", `{"action":"accept","content":{"approve":true,"remember":true}}`, rememberable("alice"), Denied},
		{"with a no", `{"action":"decline","content":{"remember":"always"}}`, rememberable("alice"), Denied},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{})
			s.open(c.q)
			s.says("alice", c.says)
			if e := s.end(); e.Outcome != c.outcome || e.Made != nil || len(s.d.Grants(s.now)) != 0 {
				t.Errorf("%v %s, made %+v", e.Outcome, e.Reason, e.Made)
			}
		})
	}
	t.Run("with an edit", func(t *testing.T) {
		s := newStage(t, Options{})
		q := deploy("alice")
		q.Terms.Remember = []string{"session"}
		s.open(q)
		s.says("alice", `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging","remember":"session"}}`)
		if e := s.wantEnd(Allowed, ""); e.Made != nil {
			t.Errorf("%+v", e.Made)
		}
	})
	t.Run("one of two wants it shorter", func(t *testing.T) {
		for second, want := range map[string]string{"always": "always", "session": "session", "once": ""} {
			s := newStage(t, Options{})
			q := rememberable("alice", "carol")
			q.Terms.Need = 2
			s.open(q)
			s.says("alice", keeps("always"))
			s.says("carol", keeps(second))
			got := ""
			if made := s.wantEnd(Allowed, "").Made; made != nil {
				got = made.Keep
			}
			if got != want {
				t.Errorf("always and %s make %q", second, got)
			}
		}
	})
}

func TestGrantedCallsAreRechecked(t *testing.T) {
	s := newStage(t, Options{})
	s.open(rememberable("alice"))
	s.says("alice", keeps("session"))
	s.recheck = func(*Question, []byte) string { return ToolChanged }
	s.open(rememberable("alice"))
	s.wantEnd(Refused, ToolChanged)
}

// What an earlier run had remembered counts as what this one does.
func TestGrantsOfAnEarlierRun(t *testing.T) {
	first := newStage(t, Options{})
	first.open(rememberable("alice"))
	first.says("alice", keeps("always"))
	made := first.wantEnd(Allowed, "").Made
	kept, err := ReadGrants("grants", fileOf(t, *made))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	s := newStage(t, Options{Grants: kept})
	if got := s.d.Grants(s.now); len(got) != 1 || !bytes.Equal(fileOf(t, got...), fileOf(t, *made)) {
		t.Fatalf("%+v", got)
	}
	s.open(rememberable("alice"))
	if e := s.wantEnd(Allowed, ""); e.Used == nil || e.Used.ID != made.ID || len(e.By) != 1 || e.By[0] != Participant("alice") {
		t.Errorf("%+v", e)
	}
	for reason, change := range map[string]func(*Question){
		ToolChanged:  func(q *Question) { q.Fingerprint = "f2" },
		otherServer:  func(q *Question) { q.Command = "c2" },
		notOffered:   func(q *Question) { q.Terms.Remember = []string{"once", "session"} },
		othersDecide: func(q *Question) { q.Terms.Of = []string{"carol"} },
		"":           func(q *Question) { q.Topic = "elsewhere" }, // bob may be another there
	} {
		q, said := rememberable("alice", "carol"), ""
		change(&q)
		id := s.open(q)
		s.wantPending(id)
		for _, a := range s.acts {
			if n, ok := a.(Noted); ok && n.ID == id && n.Event == record.GrantUnused {
				said = n.Reason
			}
		}
		if said != reason {
			t.Errorf("asked because of %q, want %q", said, reason)
		}
		s.did(s.d.Withdraw(s.now, id, ""))
		s.pass(time.Minute)
	}
	if !s.d.Revoke(made.ID) {
		t.Fatal("it cannot be taken back")
	}
	s.wantPending(s.open(rememberable("alice")))
}

// The clock of a process stands still while the machine sleeps, and that of the day may be
// put back: a yes is over by whichever says so first, and what others read of it is the time
// of day.
func TestAYesIsOverByEitherClock(t *testing.T) {
	now := time.Now()
	slept := Grant{Until: now.Add(-time.Second).Round(0), ends: now.Add(7 * time.Hour)}
	putBack := Grant{Until: now.Add(7 * time.Hour).Round(0), ends: now.Add(-time.Second)}
	counts := Grant{Until: now.Add(time.Hour).Round(0), ends: now.Add(time.Hour)}
	if !slept.over(now) || !putBack.over(now) || counts.over(now) {
		t.Errorf("slept: %t, put back: %t, neither: %t", slept.over(now), putBack.over(now), counts.over(now))
	}

	s := newStage(t, Options{})
	s.now = now
	s.open(rememberable("alice"))
	s.says("alice", keeps("session"))
	made := s.wantEnd(Allowed, "").Made
	ahead := writeFile("alice")
	ahead.Method, ahead.Tool, ahead.Prints, ahead.Args = plan.Method, "", []string{"f1"}, []byte(`{"items":[{"tool":"build","uses":3}],"seconds":60}`)
	s.open(ahead)
	s.says("alice", approves)
	e := s.wantEnd(Allowed, "")
	planned, began := s.d.Begin(s.now, &e)
	if !began {
		t.Fatal("the plan does not count")
	}
	for what, g := range map[string]Grant{"a yes": *made, "a plan": planned} {
		if g.Until != g.Until.Round(0) || g.Made != g.Made.Round(0) {
			t.Errorf("%s is from %v to %v", what, g.Made, g.Until)
		}
	}
}

// What was made by a clock that was a year ahead would count for a year too long.
func TestAYesFromATimeThatHasNotCome(t *testing.T) {
	for ahead, counts := range map[time.Duration]bool{-time.Hour: true, 10 * time.Minute: true, 20 * time.Minute: false, 365 * 24 * time.Hour: false} {
		first := newStage(t, Options{})
		first.now = began.Add(ahead)
		first.open(rememberable("alice"))
		first.says("alice", keeps("always"))
		kept, err := ReadGrants("grants", fileOf(t, *first.wantEnd(Allowed, "").Made))
		if err != nil {
			t.Fatal(err)
		}
		s := newStage(t, Options{Grants: kept})
		id := s.open(rememberable("alice"))
		_, asked := s.d.pending[id]
		n, noted := last(s, func(n Noted) bool { return n.Event == record.GrantUnused })
		if asked == counts || noted == counts || noted && n.Reason != madeLater {
			t.Errorf("made %v after now: asked %t, noted %t %q", ahead, asked, noted, n.Reason)
		}
	}
}

func holds(g Grant, q *Question) bool { return g.inThisRoom(q) && g.ofThisServer(q) }

// A topic of that name is kept elsewhere too, and a program that is started with
// other arguments has the same tools: a yes holds for neither.
func TestAYesHoldsWhereItWasGiven(t *testing.T) {
	for place, move := range map[string]func(*Question){
		"another gateway":          func(q *Question) { q.Gateway = "wss://gateway.example" },
		"another server":           func(q *Question) { q.Server = "a test server /home" },
		"another directory":        func(q *Question) { q.Dir = "/home" },
		"another command":          func(q *Question) { q.Command = "c2" },
		"a gateway without tokens": func(q *Question) { q.Unverified = true },
	} {
		for _, keep := range []string{"session", "always"} {
			here, there := rememberable("alice"), rememberable("alice")
			move(&there)
			for _, way := range [][2]Question{{here, there}, {there, here}} {
				s := newStage(t, Options{})
				s.open(way[0])
				s.says("alice", keeps(keep))
				made := s.wantEnd(Allowed, "").Made
				s.open(way[0])
				if e := s.wantEnd(Allowed, ""); e.Used == nil {
					t.Errorf("%s: it holds nowhere", place)
				}
				s.wantPending(s.open(way[1]))
				if made.Unverified && made.Keep != "session" {
					t.Error("what anybody may have asked for is to last")
				} else if made.Keep == "always" {
					kept, err := ReadGrants("grants", fileOf(t, *made))
					if err != nil || len(kept) != 1 || !holds(kept[0], &way[0]) || holds(kept[0], &way[1]) {
						t.Errorf("%s: %+v, %v", place, kept, err)
					}
				}
			}
		}
	}
}

// Of two who do not say the same the one who would have it remembered for less time is
// heard, whoever spoke last (FINDINGS T2).
func TestOfTwoMemoriesTheShorterCountsInEitherOrder(t *testing.T) {
	length := map[string]int{"": 0, "once": 0, "session": 1, "always": 2}
	for first := range length {
		for second := range length {
			s := newStage(t, Options{})
			q := rememberable("alice", "carol")
			q.Terms.Need = 2
			s.open(q)
			for i, what := range []string{first, second} {
				answer := keeps(what)
				if what == "" {
					answer = approves
				}
				s.says(q.Terms.Of[i], answer)
			}
			got := ""
			if made := s.wantEnd(Allowed, "").Made; made != nil {
				got = made.Keep
			}
			if length[got] != min(length[first], length[second]) {
				t.Errorf("%q and %q make %q", first, second, got)
			}
		}
	}
}

// What an earlier run had remembered with members beside the arguments counts for a
// call with the same, and for none without or with others (FINDINGS T2).
func TestAYesOfAnEarlierRunIsForWhatStoodBesideToo(t *testing.T) {
	with := func(beside string) Question {
		q := rememberable("alice")
		q.Beside = []byte(beside)
		return q
	}
	for _, was := range []string{"", `{"task":{"ttl":1}}`} {
		first := newStage(t, Options{})
		first.open(with(was))
		first.says("alice", keeps("always"))
		made := *first.wantEnd(Allowed, "").Made
		for _, is := range []string{"", `{"task":{"ttl":1}}`, `{"task":{"ttl":2}}`} {
			s := newStage(t, Options{Grants: []Grant{made}})
			id := s.open(with(is))
			if _, asked := s.d.pending[id]; asked == (was == is) {
				t.Errorf("beside %q was agreed to, beside %q is asked about: %t", was, is, asked)
			}
		}
	}
}
