package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Other readings of what a plan says are not covered: what is asked about is safe.
func TestAPlanHasOneReading(t *testing.T) {
	const exact = `{"items":[{"tool":"write_file","uses":99,"args":{"/path":{"is":"/a"},"/n":{"in":[1,9007199254740993,"1",true,null,"\u00e9",{"a":1,"b":[2]},""]},"/deep/in~1to":{"is":"x"}}}],"seconds":600}`
	args := func(n string) string { return `{"n":` + n + `,"deep":{"in/to":"x"}}` }
	s := plannedStageOf(t, planRules, exact)
	for i, c := range []struct {
		args string
		runs bool
	}{
		{args(`1`), true}, {args(`"1"`), true}, {args(`9007199254740993`), true}, {args(`{"b":[2],"a":1}`), true}, {args(`"\u00e9"`), true}, {args(`null`), true}, {args(`""`), true},
		{`{"deep":{"in\/to":"\u0078"},"\u006e":1}`, true}, // the same, in another spelling
		{args(`1.0`), false}, {args(`1e0`), false}, {args(`10e-1`), false}, {args(`-1`), false}, {args(`01`), false}, {args(`9007199254740992`), false}, {args(`9007199254740993.0`), false},
		{args(`"true"`), false}, {args(`false`), false}, {args(`[1]`), false}, {args(`{"a":1,"b":[2],"c":3}`), false}, {args(`{"a":1,"b":[2.0]}`), false}, {args(`{"a":1,"a":1,"b":[2]}`), false},
		{args(`"e\u0301"`), false}, {args(`"\ud800"`), false}, {args(`" 1"`), false}, {args(`"1\u0000"`), false}, {args(`"\uff11"`), false},
		{`{"n":1,"n":1,"deep":{"in/to":"x"}}`, false}, {`{"n":1,"N":2,"deep":{"in/to":"x"}}`, false}, {`{"n":1,"deep":{"in/to":"x"},"deep":{"in/to":"x"}}`, false},
		{`{"n":1,"deep":{"in/to":"x","more":1}}`, false}, {`{"n":1,"deep":{"in":{"to":"x"}}}`, false}, {`{"n":1,"deep/in~1to":"x"}`, false}, {`{"n":1,"deep":[{"in/to":"x"}]}`, false},
		{`{"n":1,"deep":{"in/to":"x"},"other":{}}`, false}, {`{"n":1}`, false}, {`{"n":1,"deep":{}}`, false}, {`{}`, false}, {`[]`, false}, {`null`, false},
	} {
		if got := s.runs(fmt.Sprint("u", i), "write_file", strings.Replace(c.args, `{"`, `{"path":"/a","`, 1)); got != c.runs {
			t.Errorf("%s runs: %v", c.args, got)
		}
	}
}

func plannedStageOf(t *testing.T, rules, plan string) *stage {
	t.Helper()
	s := askingStage(t, lookup(t, "mew/v0.4"), rules)
	s.plans("p1", plan)
	s.agreed(yes)
	if len(s.engine.Grants(s.now)) == 0 { // two must agree
		s.agreed(yes)
	}
	if len(s.engine.Grants(s.now)) != 1 {
		t.Fatalf("no plan counts: %q", s.frames)
	}
	s.frames, s.notes = nil, nil
	return s
}

// Calls at one time use up a plan as calls one after another do, while none of them is on disk.
func TestCallsAtOneTimeUseUpAPlan(t *testing.T) {
	s := plannedStageOf(t, planRules, docsPlan)
	s.synced = false
	for i := range 5 {
		s.asksFor("bob", fmt.Sprint("u", i), fmt.Sprint(i), "write_file", inDocs, "")
	}
	for _, ticket := range s.tickets {
		s.do(Synced{Ticket: ticket})
	}
	s.synced = true
	s.tickets = nil
	if s.asked() != 2 {
		t.Errorf("%d run", s.asked())
	}
	// What was sent twice is served once, and used once.
	s = plannedStageOf(t, planRules, docsPlan)
	for range 3 {
		s.asksFor("bob", "same", "1", "write_file", inDocs, "")
	}
	if g := s.engine.Grants(s.now)[0]; s.asked() != 1 || g.Used[0] != 1 {
		t.Errorf("%d run, %d are used", s.asked(), g.Used[0])
	}
}

// Under a halt no plan is used, none begins to count, and what was agreed to before counts after it
// for as long as was said.
func TestAPlanUnderAHalt(t *testing.T) {
	s := plannedStageOf(t, planRules, docsPlan)
	s.halt()
	if s.runs("u1", "write_file", inDocs) {
		t.Error("it runs")
	}
	s.plans("p2", docsPlan)
	if _, asked := s.maybeQuestion(); asked {
		t.Error("somebody is asked")
	}
	if g := s.engine.Grants(s.now); len(g) != 1 || g[0].Used[0] != 0 {
		t.Errorf("%+v", g)
	}
	s.resumes()
	if !s.runs("u2", "write_file", inDocs) {
		t.Error("it counts no more")
	}
	s.halt()
	s.pass(10 * time.Minute)
	s.resumes()
	if s.runs("u3", "write_file", inDocs) {
		t.Error("a halt gives it time")
	}

	s = askingStage(t, lookup(t, "mew/v0.4"), planRules)
	s.plans("p1", docsPlan)
	q := s.question()
	s.halt()
	s.answers(q.to, q, true, yes)
	s.pass(time.Minute)
	if len(s.engine.Grants(s.now)) != 0 {
		t.Error("a plan begins to count under a halt")
	}
}

// Between a use that is agreed to and its start a rule may come that denies it, and it does not start.
func TestARuleComesBetweenAUseAndItsStart(t *testing.T) {
	for what, happens := range map[string]func(s *stage){
		"a rule": func(s *stage) {
			s.do(Reloaded{rules(s.t, planRules+"  - {name: late, deny: [write_file]}\n")})
		},
		"more must agree": func(s *stage) {
			s.do(Reloaded{rules(s.t, planRules+"  - {name: late, ask: [write_file], as: two}\n")})
		},
		"a halt": func(s *stage) { s.halt() },
		"a stop": func(s *stage) { s.do(Stopping{}); s.do(GivingUp{}) },
	} {
		s := plannedStageOf(t, planRules, docsPlan)
		s.synced = false
		s.asksFor("bob", "u1", "1", "write_file", inDocs, "")
		if len(s.tickets) != 1 {
			t.Fatalf("%s: it does not wait for the disk", what)
		}
		ticket := s.tickets[0]
		happens(s)
		s.synced = true
		s.do(Synced{Ticket: ticket})
		s.pass(time.Minute)
		if s.asked() != 0 {
			t.Errorf("%s: it runs", what)
		}
	}
}
