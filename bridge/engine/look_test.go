package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const inDocs = `{"path":"/srv/docs/a","text":"x"}`

// What a link leads out of a folder is asked about as ever, be it a plan's or that of a yes, and
// who is asked can know why.
func TestALinkLeadsOutOfAFolder(t *testing.T) {
	for what, begin := range map[string]func() *stage{
		"a plan": func() *stage { return plannedStage(t, lookup(t, "mew/v0.4"), planRules, docsPlan) },
		"a yes": func() *stage {
			s := askingStage(t, lookup(t, "mew/v0.4"), widerRules)
			s.asksFor("bob", "w1", "1", "write_file", inDocs, "")
			q := s.question()
			s.answers(q.to, q, true, `{"action":"accept","content":{"approve":true,"remember":"folder"}}`)
			s.frames, s.notes = nil, nil
			return s
		},
	} {
		s := begin()
		s.leads = func(path string) bool { return path == "/srv/docs/out/a" }
		if s.runs("u1", "write_file", `{"path":"/srv/docs/out/a","text":"x"}`) {
			t.Errorf("%s covers it", what)
		}
		if !s.noted(record.GrantUnused, "leads_out") {
			t.Errorf("%s: nobody is told why it is asked", what)
		}
		if !s.runs("u2", "write_file", inDocs) {
			t.Errorf("%s covers nothing", what)
		}
	}
}

// Where nobody says in time where links lead, the call is asked about; what comes later counts for
// nothing.
func TestNobodySaysWhereLinksLead(t *testing.T) {
	s := plannedStage(t, lookup(t, "mew/v0.4"), planRules, docsPlan)
	s.leads = nil
	s.asksFor("bob", "u1", "1", "write_file", inDocs, "")
	if _, asked := s.maybeQuestion(); asked || len(s.looks) != 1 || s.asked() != 0 {
		t.Fatalf("somebody is asked, or %d looks", len(s.looks))
	}
	s.pass(lookTime)
	if _, asked := s.maybeQuestion(); !asked || s.asked() != 0 {
		t.Error("nobody is asked")
	}
	s.do(Looked{s.looks[0].Ticket, s.looks[0].Places})
	if s.asked() != 0 {
		t.Error("it runs")
	}
}

// While links are followed everything may happen, and each call has one last word.
func TestMeanwhileLinksAreFollowed(t *testing.T) {
	for what, c := range map[string]struct {
		happens func(s *stage)
		asked   bool
		says    string
	}{
		"its caller takes it back": {happens: func(s *stage) {
			s.says("bob", "c1", wire.Notification, "notifications/cancelled", "", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		}},
		"the plan is revoked":  {happens: func(s *stage) { s.do(Revoked{s.engine.Grants(s.now)[0].ID}) }, asked: true},
		"its time is over":     {happens: func(s *stage) { s.now = s.engine.Grants(s.now)[0].Until }, asked: true},
		"a rule denies it":     {happens: func(s *stage) { s.do(Reloaded{rules(t, planRules+"  - {name: late, deny: [write_file]}\n")}) }, says: `"rule":"late"`},
		"the bridge is halted": {happens: func(s *stage) { s.do(Halt{By: "ann"}) }, says: "the bridge is halted"},
		"the bridge stops":     {happens: func(s *stage) { s.do(Stopping{}) }, says: string(refusal.ShuttingDown().Message)},
		"it stops at once":     {happens: func(s *stage) { s.do(Stopping{}); s.do(GivingUp{}) }, says: string(refusal.ShuttingDown().Message)},
		"another uses it up":   {happens: func(s *stage) { s.leads = nil }, asked: true},
		"its server gets new tools": {happens: func(s *stage) {
			s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			s.answerListing(`{"tools":[{"name":"write_file","description":"now more","inputSchema":{"type":"object"}}]}`)
		}, asked: true},
	} {
		t.Run(what, func(t *testing.T) {
			plan := docsPlan
			s := plannedStage(t, lookup(t, "mew/v0.4"), planRules, plan)
			s.leads = nil
			s.asksFor("bob", "u1", "1", "write_file", inDocs, "")
			if what == "another uses it up" {
				s.asksFor("bob", "u2", "2", "write_file", inDocs, "")
				s.asksFor("bob", "u3", "3", "write_file", inDocs, "")
			}
			c.happens(s)
			for _, l := range s.looks {
				s.do(Looked{l.Ticket, l.Places})
			}
			want := 0
			if what == "another uses it up" {
				want = 2
			}
			if s.asked() != want {
				t.Errorf("%d run", s.asked())
			}
			if q, asked := s.maybeQuestion(); asked != c.asked {
				t.Errorf("somebody is asked: %v: %s", asked, q.params)
			}
			if c.says != "" {
				s.has(fmt.Sprint(s.frames), c.says)
			}
			s.pass(time.Minute)
			if want == 0 && s.asked() != 0 {
				t.Error("it runs later")
			}
		})
	}
}

// A call whose links are followed takes its place in a limit once, and gives it back if it does not
// run.
func TestACallThatLooksCountsOnceInALimit(t *testing.T) {
	limited := strings.Replace(planRules, "{name: writes, ask: [write_file]}", "{name: writes, ask: [write_file], limit: {count: 3/day, over: deny}}", 1)
	begin := func() *stage {
		return plannedStage(t, lookup(t, "mew/v0.4"), limited, strings.Replace(docsPlan, `"uses":2`, `"uses":9`, 1))
	}
	run := func(s *stage) (n int) {
		for i := range 5 {
			if s.runs(fmt.Sprint("n", i), "write_file", inDocs) {
				n++
			}
		}
		return n
	}
	if n := run(begin()); n != 3 {
		t.Errorf("%d run, and 3 may", n)
	}
	for what, happens := range map[string]func(s *stage){
		"its caller takes it back": func(s *stage) {
			s.says("bob", "c1", wire.Notification, "notifications/cancelled", "", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		},
		"its caller leaves and comes back": func(s *stage) {
			s.seatWith("carol", "mallory")
			s.pass(leaveGrace)
			s.seatWith("bob", "carol", "mallory")
		},
		"the bridge is halted": func(s *stage) {
			s.halt()
			s.resumes()
		},
	} {
		s := begin()
		leads := s.leads
		s.leads = nil
		s.asksFor("bob", "u1", "1", "write_file", inDocs, "")
		happens(s)
		for _, l := range s.looks {
			s.do(Looked{l.Ticket, l.Places})
		}
		s.leads, s.looks = leads, nil
		if s.asked() != 0 {
			t.Errorf("%s: it runs", what)
		}
		if n := run(s); n != 3 {
			t.Errorf("%s: %d run, and 3 may", what, n)
		}
	}
}

// Rules that have come to allow a call while its links were followed do not give it to a server that
// is gone, nor to a tool that it does not fit any more.
func TestWhatIsAllowedMeanwhileIsLookedAtAgain(t *testing.T) {
	allowed := func(s *stage) {
		s.do(Reloaded{rules(t, strings.Replace(planRules, "ask: [write_file]", "allow: [write_file]", 1))})
	}
	for what, c := range map[string]struct {
		happens func(s *stage)
		code    int
	}{
		"its server is gone": {func(s *stage) { s.do(ServerDown{Cause: "it ended", Retry: 1}); allowed(s) }, refusal.CodeServerUnavailable},
		"its server is another": {func(s *stage) {
			s.do(ServerDown{Cause: "it ended", Retry: 1})
			s.do(ServerUp{Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`)}})
			allowed(s)
		}, refusal.CodeServerUnavailable},
		"its tool is another": {func(s *stage) {
			s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			s.answerListing(`{"tools":[{"name":"write_file","inputSchema":{"type":"object","properties":{"text":{"type":"integer"}}}}]}`)
			s.do(Reloaded{rules(t, "server: {pin: off}\n"+strings.Replace(planRules, "ask: [write_file]", "allow: [write_file]", 1))})
		}, refusal.CodeInvalidParams},
	} {
		t.Run(what, func(t *testing.T) {
			s := plannedStage(t, lookup(t, "mew/v0.4"), planRules, docsPlan)
			s.leads = nil
			s.asksFor("bob", "u1", "1", "write_file", inDocs, "")
			c.happens(s)
			s.lines = nil
			for _, l := range s.looks {
				s.do(Looked{l.Ticket, l.Places})
			}
			if s.asked() != 0 {
				t.Error("it is given to the server")
			}
			s.has(fmt.Sprint(s.frames), fmt.Sprintf(`"code":%d`, c.code))
		})
	}
}

// While the links of a request's paths are followed somebody has the same proposal served by
// another, by a request of the same id: the end of the one says nothing of the other.
func TestTheEndOfARequestThatLooksIsNotThatOfAnotherOfItsID(t *testing.T) {
	for what, ends := range map[string]func(s *stage){
		"it is looked up": func(s *stage) {
			for _, l := range s.looks {
				s.do(Looked{l.Ticket, l.Places})
			}
		},
		"it is taken back": func(s *stage) {
			s.says("bob", "c1", wire.Notification, "notifications/cancelled", "", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":44}}`)
		},
	} {
		s := plannedStage(t, lookup(t, "mew/v0.4"), planRules+"proposals: {fulfil: policy, broadcast: true}\n", docsPlan)
		s.leads = nil
		s.proposes("bob", "q1", "", "write_file", inDocs, "")
		s.says("bob", "r1", wire.Request, "tools/call", "write_file", "q1", `{"jsonrpc":"2.0","id":44,"method":"tools/call","params":{"name":"write_file","arguments":`+inDocs+`}}`)
		s.frameTo("mallory", "carol", "r1", "q1", "write_file", inDocs)
		if len(s.looks) != 2 || !s.noted(record.Taken, "") {
			t.Fatalf("%s: %d are looked up, or it is not taken: %q", what, len(s.looks), s.frames)
		}
		ends(s)
		if s.noted(record.Reopened, "") || s.asked() > 0 {
			t.Errorf("%s: it is ours again while carol serves it", what)
		}
	}
}

// The policy may say that nothing is fulfilled any more while the links of a proposal's paths are followed: one in
// the words of a dialect without proposals ran as a call then.
func TestWhatIsNotFulfilledAnyMoreDoesNotRunOnceItIsLookedUp(t *testing.T) {
	s := askingStageWith(t, lookup(t, "mew/v0.4"), Config{Policy: rules(t, planRules), ToolsRequest: true})
	s.plans("p1", docsPlan)
	s.agreed(yes)
	s.frames, s.notes, s.leads = nil, nil, nil
	s.says("bob", "u1", wire.Request, "tools/request", "", "", `{"jsonrpc":"2.0","id":1,"method":"tools/request","params":{"name":"write_file","arguments":`+inDocs+`}}`)
	if len(s.looks) != 1 {
		t.Fatalf("%d looks: %q", len(s.looks), s.frames)
	}
	s.do(Reloaded{rules(t, strings.Replace(planRules, "ask: [write_file]", "allow: [write_file]", 1)+"proposals: {fulfil: never}\n")})
	for _, l := range s.looks {
		s.do(Looked{l.Ticket, l.Places})
	}
	if s.asked() != 0 {
		t.Errorf("it runs: %q", s.frames)
	}
}
