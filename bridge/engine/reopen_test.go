package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// taken has bob propose a write to all, alice asked about it, and mallory request it of
// carol, who is here and serves it.
func takenStage(t *testing.T, protocol string) *stage {
	s := proposalStage(t, protocol, "fulfil: ask, broadcast: true")
	s.proposes("bob", "p1", "", "write_file", path, "")
	s.question()
	s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
	if _, is := s.maybeQuestion(); is || !s.noted(record.Taken, "") {
		t.Fatal("it is not taken")
	}
	return s
}

func (s *stage) staysTaken(what string) {
	s.t.Helper()
	if _, is := s.maybeQuestion(); is || s.noted(record.Reopened, "") || s.asked() != 0 {
		s.t.Errorf("%s, %s: it is ours again while somebody serves it", s.dialect.Protocol, what)
	}
}

// absent says that nobody was there for r1, in the dialect of the stage.
func (s *stage) absent(from, to string) {
	head := `{"protocol":"` + s.dialect.Protocol + `","id":"g1","ts":"2026-01-01T00:00:00Z",`
	if from != "" {
		head += `"from":"` + from + `",`
	}
	if to != "" {
		head += `"to":["` + to + `"],`
	}
	switch {
	case s.dialect.Protocol == "mcp-x/v0":
		head += `"kind":"system","correlation_id":"r1","payload":{"type":"error","code":"recipient_absent","message":"gone"}}`
	case s.dialect.Protocol == "mcpx/v0.1":
		head += `"kind":"system/error","correlation_id":"r1","payload":{"error":"recipient_absent","message":"gone"}}`
	default:
		head += `"kind":"system/error","correlation_id":["r1"],"payload":{"error":"recipient_absent","message":"gone"}}`
	}
	s.arrive(head)
}

// A gateway that tells the whole room of its faults tells of another frame of the same
// id, too: mallory sends one to nobody. And where who speaks is not verified, anybody is
// the gateway (FINDINGS A8).
func TestAFaultAboutAnotherFrameOfTheSameIDReopensNothing(t *testing.T) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4", "meup/v0.2"} {
		for what, from := range map[string]string{"a gateway": "system:gateway", "a gateway without a name": "", "a participant": "mallory", "the runner": "carol"} {
			for _, to := range []string{"", "mallory", "fs"} {
				s := takenStage(t, protocol)
				s.absent(from, to)
				s.staysTaken(what + " to " + to)
				s.goes2("carol")
				if s.absent(from, to); s.noted(record.Reopened, "") && from != "system:gateway" && from != "" {
					t.Errorf("%s: %s says that carol is not here", protocol, what)
				}
			}
		}
	}
}

// goes2 is goes in any dialect.
func (s *stage) goes2(who string) {
	s.t.Helper()
	s.do(Arrived{&wire.Envelope{Kind: wire.Presence, From: "system:gateway", Payload: []byte(`{"event":"leave","participant":{"id":"` + who + `"}}`)}})
}

// Whoever it is that serves it here, the gateway's word about others' frames is none.
func TestAFaultReopensNothingThatRunsHere(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask, broadcast: true")
	s.proposes("bob", "p1", "", "read_file", path, "")
	s.question()
	s.frameTo("carol", "fs", "r1", "p1", "read_file", path)
	if s.asked() != 1 {
		t.Fatalf("carol's request does not run: %q", s.frames)
	}
	s.frames = nil
	s.absent("system:gateway", "")
	if _, is := s.maybeQuestion(); is || s.noted(record.Reopened, "") {
		t.Error("alice is asked to have it run again")
	}
}

const refusesR1 = `{"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"no","data":{"executed":"no"}}}`

// refuses is carol's refusal of what came under r1.
func (s *stage) refuses(to ...string) {
	s.t.Helper()
	s.echo(&wire.Envelope{ID: "a1", TS: "2026-01-01T00:00:00Z", From: "carol", To: to, Kind: wire.Response, Corr: []string{"r1"}, Method: "tools/call", Key: "write_file", Payload: []byte(refusesR1)})
}

// carol refuses a second request of the same id, while she serves the first: that
// reopened the proposal (FINDINGS A9).
func TestTheRefusalOfASecondRequestUnderOneIDReopensNothing(t *testing.T) {
	bad := func(from, to, proposal, tool, args string) func(s *stage) {
		return func(s *stage) { s.frameTo(from, to, "r1", proposal, tool, args) }
	}
	for what, c := range map[string]struct {
		again func(s *stage)
		to    []string
	}{
		"another tool":                 {bad("mallory", "carol", "p1", "nope", `{}`), []string{"mallory"}},
		"other arguments":              {bad("mallory", "carol", "p1", "write_file", `{}`), []string{"mallory"}},
		"no proposal":                  {bad("mallory", "carol", "p7", "nope", `{}`), []string{"mallory"}},
		"by the proposer":              {bad("bob", "carol", "p7", "nope", `{}`), []string{"bob"}},
		"by anybody, answered to all":  {bad("alice", "carol", "p7", "nope", `{}`), nil},
		"to us, and answered by carol": {bad("mallory", "fs", "p7", "nope", `{}`), []string{"mallory"}},
		"that we cannot read": {func(s *stage) {
			s.arrive(`{"protocol":"` + s.dialect.Protocol + `","id":"r1","ts":"2026-01-01T00:00:00Z","from":"mallory","to":["carol"],"kind":"mcp/request","payload":{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","name":"b"}}}`)
		}, []string{"mallory"}},
	} {
		for _, protocol := range []string{"mew/v0.4", "mcpx/v0.1"} {
			if protocol == "mcpx/v0.1" && strings.HasPrefix(what, "that") {
				continue // its kinds name the method
			}
			s := takenStage(t, protocol)
			c.again(s)
			s.frames = nil
			s.refuses(c.to...)
			s.staysTaken(what)

			// The second may have come first.
			s = proposalStage(t, protocol, "fulfil: ask, broadcast: true")
			s.proposes("bob", "p1", "", "write_file", path, "")
			s.question()
			c.again(s)
			s.frames = nil
			s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
			s.refuses(c.to...)
			s.staysTaken(what + ", before it")
		}
	}
}

// Anybody can have a frame of the id of our question refused.
func TestAFaultToSomebodyElseEndsNoQuestion(t *testing.T) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
		s := askingStage(t, lookup(t, protocol), raceRules)
		s.asksFor("bob", "e1", "7", "write_file", path, "")
		ask := s.question()
		link := `"` + ask.env + `"`
		if protocol != "mcpx/v0.1" {
			link = "[" + link + "]"
		}
		s.arrive(`{"protocol":"` + protocol + `","id":"g1","ts":"2026-01-01T00:00:00Z","from":"system:gateway","to":["mallory"],"kind":"system/error","correlation_id":` + link + `,"payload":{"error":"capability_violation","message":"no"}}`)
		if len(s.engine.Pending(0, 0)) != 1 {
			t.Errorf("%s: the question is over: %q", protocol, s.frames)
		}
	}
}

// deploysForAll has deploys asked about, which those who decide may change.
const deploysForAll = `
version: 1
default: deny
asks:
  deploy: {of: [alice, dora], need: NEED, within: 1h, edit: {modifiedTarget: {arg: /target, title: Target, enum: [production, staging, development]}}}
rules:
  - {name: deploys, ask: [deploy], as: deploy}
proposals: {fulfil: ask, broadcast: true}
`

// What comes back is asked about, and runs, as it was proposed, whatever somebody had
// made of it before it was taken up elsewhere: agreed to in part or in whole, or in the
// request that took it (seeds 13992 and 14936).
func TestWhatComesBackIsAskedAboutAndRunsAsItWasProposed(t *testing.T) {
	const edit = `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging"}}`
	for what, c := range map[string]struct {
		need  string
		taken func(s *stage)
	}{
		"alice has changed it, and that was not on disk yet": {"1", func(s *stage) {
			s.synced = false
			s.answers("alice", s.questionTo("alice"), true, edit)
			s.frameTo("mallory", "carol", "r1", "p1", "deploy", `{"target":"production"}`)
			s.synced = true
			s.do(Tick{})
		}},
		"alice has changed it, and dora was asked about that": {"2", func(s *stage) {
			s.answers("alice", s.questionTo("alice"), true, edit)
			if q := s.questionTo("dora"); !strings.Contains(q.params, `"arguments":{"target":"staging"}`) {
				t.Fatalf("dora is asked %s", q.params)
			}
			s.frameTo("mallory", "carol", "r1", "p1", "deploy", `{"target":"production"}`)
		}},
		"who took it has changed it": {"1", func(s *stage) {
			s.frameTo("mallory", "carol", "r1", "p1", "deploy", `{"target":"development"}`)
		}},
	} {
		for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
			s := askingStage(t, lookup(t, protocol), strings.Replace(deploysForAll, "NEED", c.need, 1))
			s.do(Arrived{&wire.Envelope{Kind: wire.Presence, From: "system:gateway", Payload: []byte(`{"event":"join","participant":{"id":"dora"}}`)}})
			s.proposes("bob", "p1", "", "deploy", `{"target":"production"}`, "")
			c.taken(s)
			s.frames, s.questions = nil, nil
			s.refuses("mallory", "carol")
			if !s.noted(record.Reopened, "") {
				t.Fatalf("%s, %s: it does not come back", protocol, what)
			}
			deciding := []string{"alice", "dora"}
			if c.need == "1" {
				deciding = deciding[:1]
			}
			for _, who := range deciding {
				q := s.questionTo(who)
				s.has(q.params, `"arguments":{"target":"production"}`)
				if strings.Contains(q.params, `"arguments":{"target":"staging"}`) {
					t.Errorf("%s, %s: %s is asked %s", protocol, what, who, q.params)
				}
				s.answers(who, q, true, yes)
			}
			s.echo(s.claim("p1"))
			s.crossed(`{"target":"production"}`)
		}
	}
}

// questionTo is the last question that went to somebody.
func (s *stage) questionTo(who string) (last ask) {
	s.t.Helper()
	for q, is := s.maybeQuestion(); is; q, is = s.maybeQuestion() {
		s.questions = append(s.questions, q)
	}
	for _, q := range s.questions {
		if q.to == who {
			last = q
		}
	}
	if last.to == "" {
		s.t.Fatalf("%s is asked nothing", who)
	}
	return last
}

// What bob took back while it was being served is wanted by nobody when that comes to
// nothing: who requests it then is refused, whoever it was that served it (seed 43392).
func TestWhatWasTakenBackWhileItRanIsNotServedAfterwards(t *testing.T) {
	for what, c := range map[string]struct{ takes, fails func(s *stage) }{
		"elsewhere": {
			func(s *stage) { s.frameTo("mallory", "carol", "r1", "p1", "read_file", path) },
			func(s *stage) { s.refuses("mallory", "carol") }},
		"elsewhere, and whoever has it leaves": {
			func(s *stage) { s.frameTo("mallory", "carol", "r1", "p1", "read_file", path) },
			func(s *stage) { s.goes2("carol"); s.pass(leaveGrace) }},
		"here": {
			func(s *stage) { s.frameTo("carol", "fs", "r1", "p1", "read_file", path) },
			func(s *stage) {
				s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"error":{"code":-32000,"message":"no"}}`)
			}},
	} {
		for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
			s := proposalStage(t, protocol, "fulfil: ask")
			s.proposes("bob", "p1", "carol", "read_file", path, "")
			c.takes(s)
			ran := s.asked()
			s.withdraws("bob", "p1")
			c.fails(s)
			s.frames = nil
			s.frameTo("mallory", "fs", "r2", "p1", "read_file", path)
			s.has(strings.Join(s.frames, ""), `"code":-31012`)
			if s.asked() != ran {
				t.Errorf("%s, %s: what bob wants no more runs", protocol, what)
			}
			if !s.noted(record.Withdrawn, "no_longer_needed") {
				t.Errorf("%s, %s: it is not on record that bob took it back", protocol, what)
			}
		}
	}
}

// Where links lead is looked up for bob's request for his proposal, when mallory, whom a rule lets, makes hers under
// the id of his. His is refused, as hers runs: that was taken for the end of hers, and the proposal ran again.
func TestTheEndOfAnothersRequestOfTheSameIDReopensNothing(t *testing.T) {
	hers := strings.Replace(widerRules, "{name: writes,", "{name: hers, from: [mallory], allow: [write_file]}\n  - {name: writes, from: [bob],", 1)
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
		s := askingStage(t, lookup(t, protocol), hers+"proposals: {fulfil: policy, broadcast: true}\n")
		s.asksFor("bob", "w1", "1", "write_file", inDocs, "")
		q := s.question()
		s.answers(q.to, q, true, `{"action":"accept","content":{"approve":true,"remember":"folder"}}`)
		s.leads, s.lines, s.notes = nil, nil, nil
		s.proposes("bob", "p1", "", "write_file", inDocs, "")
		for _, who := range []string{"bob", "mallory"} {
			s.frameTo(who, "fs", "r1", "p1", "write_file", inDocs)
		}
		if len(s.looks) != 2 || s.asked() != 1 {
			t.Fatalf("%s: %d looks, and it runs %d times", protocol, len(s.looks), s.asked())
		}
		for _, l := range s.looks {
			s.do(Looked{l.Ticket, l.Places})
		}
		if s.noted(record.Reopened, "") || len(s.looks) != 2 || s.asked() != 1 {
			t.Errorf("%s: it is ours again while mallory's request runs", protocol)
		}
	}
}

// Where a rule wants a reason and the proposal has it beside its arguments, the request that was made of it has none.
func TestWhatComesBackStillSaysWhy(t *testing.T) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
		s := askingStage(t, lookup(t, protocol), strings.Replace(strings.Replace(deploysForAll, "NEED", "1", 1), "as: deploy}", "as: deploy, justification: required}", 1))
		s.proposes("bob", "p1", "", "deploy", `{"target":"production"},"_meta":{"mcpx/justification":"the release is due"}`, "")
		s.has(s.questionTo("alice").params, "the release is due")
		s.frameTo("mallory", "carol", "r1", "p1", "deploy", `{"target":"production"}`)
		s.frames, s.questions = nil, nil
		if s.refuses("mallory", "carol"); !s.noted(record.Reopened, "") {
			t.Fatalf("%s: it does not come back", protocol)
		}
		s.has(s.questionTo("alice").params, "the release is due")
	}
}

// The gateway calls us otherwise than before, as it has our old connection still. What that one
// does, or who has the name now, is not what we do.
func TestWhoHasOurOldNameReopensNothingThatRunsHere(t *testing.T) {
	for what, happens := range map[string]func(s *stage){
		"leaves": func(s *stage) {
			s.goes2("fs")
			s.pass(leaveGrace)
		},
		"is not there": func(s *stage) {
			s.goes2("fs")
			s.absent("system:gateway", "")
		},
		"refuses it": func(s *stage) {
			s.echo(&wire.Envelope{ID: "a1", TS: "2026-01-01T00:00:00Z", From: "fs", To: []string{"carol"}, Kind: wire.Response, Corr: []string{"r1"}, Method: "tools/call", Key: "read_file", Payload: []byte(refusesR1)})
		},
	} {
		s := proposalStage(t, "mew/v0.4", "fulfil: ask, broadcast: true")
		s.proposes("bob", "p1", "", "read_file", path, "")
		s.question()
		s.frameTo("carol", "fs", "r1", "p1", "read_file", path)
		if s.asked() != 1 {
			t.Fatalf("carol's request does not run: %q", s.frames)
		}
		caps := s.engine.room.caps
		s.do(Unseated{})
		s.do(Seated{s.dialect, wire.Welcome{You: wire.Participant{ID: "fs2", Caps: caps}, Peers: []wire.Participant{{ID: "alice"}, {ID: "bob"}, {ID: "carol"}, {ID: "fs"}}}})
		s.frames = nil
		happens(s)
		if _, is := s.maybeQuestion(); is || s.noted(record.Reopened, "") {
			t.Errorf("whoever is called fs now %s: alice is asked to have it run again", what)
		}
	}
}

// A proposal may come back as long as others serve it, longer than a frame is remembered. A request of bob's under its
// id was taken meanwhile: two calls had one name, and each kept the other's place in a limit, or gave it back.
func TestARequestUnderTheIDOfAProposalThatMayComeBackIsNotTaken(t *testing.T) {
	s := takenStage(t, "mew/v0.4")
	s.pass(21 * time.Minute)
	s.asksFor("bob", "p1", "7", "write_file", path, "")
	if _, asked := s.maybeQuestion(); asked || !s.noted(record.Dropped, "duplicate_envelope") {
		t.Error("alice is asked about it")
	}
	s.refuses("mallory")
	s.answers("alice", s.question(), true, yes)
	if s.echo(s.claim("p1")); s.asked() != 1 {
		t.Errorf("what came back runs %d times", s.asked())
	}
}
