package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const forAll = "fulfil: policy, broadcast: true"

// claim is the last request to ourselves that went out, which would serve proposal.
func (s *stage) claim(proposal string) *wire.Envelope {
	s.t.Helper()
	for i := len(s.sends) - 1; i >= 0; i-- {
		if e := s.sends[i].Envelope; e.Kind == wire.Request && len(e.To) == 1 && e.To[0] == "fs" && len(e.Corr) == 1 && e.Corr[0] == proposal {
			return e
		}
	}
	s.t.Fatalf("nothing claims %s: %q", proposal, s.frames)
	return nil
}

// echo is the gateway that returns a frame of ours to us.
func (s *stage) echo(e *wire.Envelope) {
	s.t.Helper()
	frame, err := s.dialect.Append(nil, e, wire.Caps{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.arrive(string(frame))
}

// claims is another bridge that would serve a proposal.
func (s *stage) claims(who, env, proposal string) {
	s.t.Helper()
	s.frameTo(who, who, env, proposal, "read_file", path)
}

// frameTo is a request that from makes of to for a proposal.
func (s *stage) frameTo(from, to, env, proposal, tool, arguments string) {
	s.t.Helper()
	s.echo(&wire.Envelope{ID: env, TS: "2026-01-01T00:00:00Z", From: from, To: []string{to}, Kind: wire.Request, Corr: []string{proposal}, Method: "tools/call", Key: tool,
		Payload: []byte(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`)})
}

var contested = map[string]struct{ to, more string }{
	"to all":       {"", ""},
	"to several":   {"fs,carol", ""},
	"preferred":    {"", `,"preferred":["fs","carol"]`},
	"one of many":  {"", `,"targeting":{"preferred":["fs","carol"],"exclusive":true,"fallback_to_broadcast":false}`},
	"not the only": {"", `,"fulfiller":"fs"`},
}

func (s *stage) offersRead(id, to, more string) {
	s.t.Helper()
	e := wire.Envelope{ID: id, TS: "2026-01-01T00:00:00Z", From: "bob", Kind: wire.Proposal, Method: "tools/call", Key: "read_file",
		Payload: []byte(`{"method":"tools/call","params":{"name":"read_file","arguments":` + path + `}` + more + `}`)}
	if to != "" {
		e.To = strings.Split(to, ",")
	}
	s.echo(&e)
}

func inBoth(t *testing.T, proposals string, f func(t *testing.T, s *stage, to, more string)) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
		for name, c := range contested {
			t.Run(protocol+" "+name, func(t *testing.T) { f(t, proposalStage(t, protocol, proposals), c.to, c.more) })
		}
	}
}

// Two bridges that may both serve a proposal both ran it: each started as soon as it
// had said that it would.
func TestAProposalThatSeveralMayServeRunsAtTheFirstOfThem(t *testing.T) {
	inBoth(t, forAll, func(t *testing.T, s *stage, to, more string) {
		s.offersRead("p1", to, more)
		ours := s.claim("p1")
		if s.asked() != 0 {
			t.Fatal("it ran before anybody could know who was first")
		}
		s.echo(ours)
		if s.asked() != 1 {
			t.Fatalf("it ran %d times after its claim came back", s.asked())
		}
		s.claims("carol", "c1", "p1")
		s.echo(ours)
		s.pass(time.Minute / 2)
		if s.asked() != 1 {
			t.Errorf("it ran %d times", s.asked())
		}
	})
}

func TestWhoComesSecondSaysSoAndDoesNotRun(t *testing.T) {
	inBoth(t, forAll, func(t *testing.T, s *stage, to, more string) {
		s.offersRead("p1", to, more)
		ours := s.claim("p1")
		s.frames = nil
		s.claims("carol", "c1", "p1")
		s.echo(ours)
		s.rejected("duplicate")
		s.pass(time.Minute)
		if s.asked() != 0 || !s.noted(record.Rejected, "duplicate") || !s.noted(record.Taken, "") || s.engine.calls.Foreign != 0 {
			t.Errorf("it ran %d times, %d are open, notes %+v", s.asked(), s.engine.calls.Foreign, s.notes)
		}
	})
}

// Where a proposal may be answered without a request, who did so came first, and has a name.
func TestWhoAnsweredAtOnceCameFirst(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", forAll)
	s.offersRead("p1", "", "")
	ours := s.claim("p1")
	s.frames = nil
	s.echo(&wire.Envelope{ID: "a1", TS: "2026-01-01T00:00:00Z", From: "carol", To: []string{"bob"}, Kind: wire.Response, Corr: []string{"p1"}, Method: "tools/call", Key: "read_file",
		Payload: []byte(`{"jsonrpc":"2.0","id":"x","result":{"content":[]}}`)})
	s.echo(ours)
	r := s.lastNote(record.Rejected)
	if s.asked() != 0 || !slices.Equal(r.By, []string{"carol"}) || r.Detail != "already_taken: carol came first" {
		t.Errorf("it ran %d times, and on record is %+v; sent %q", s.asked(), r, s.frames)
	}
}

// At a gateway that returns nothing the window decides, and of two that claim in it
// both find the same one first.
func TestWhereNothingComesBackTheWindowDecides(t *testing.T) {
	for by, ran := range map[string]int{"": 1, "zoe": 1, "alice": 0} {
		s := proposalStage(t, "mcpx/v0.1", forAll)
		s.comes("zoe")
		s.offersRead("p1", "", "")
		s.claim("p1")
		if by != "" {
			s.claims(by, "c1", "p1")
		}
		s.pass(claimWindow - time.Millisecond)
		if s.asked() != 0 {
			t.Fatalf("%q: it ran too soon", by)
		}
		s.pass(time.Millisecond)
		if s.asked() != ran {
			t.Errorf("%q: it ran %d times, want %d", by, s.asked(), ran)
		}
	}
}

// Of a bridge that wakes late the window was over before it read what had come within it:
// the proposal ran though its proposer had taken it back, or though another's claim comes
// first (seed 6783).
func TestWhatHasComeByTheEndOfTheWindowIsReadBeforeItDecides(t *testing.T) {
	for what, comes := range map[string]func(s *stage){
		"it is taken back":         func(s *stage) { s.withdraws("bob", "p1") },
		"another claims it":        func(s *stage) { s.claims("alice", "c1", "p1") },
		"the bridge is to stop":    func(s *stage) { s.do(Stopping{}) },
		"the link is lost":         func(s *stage) { s.do(Unseated{}) },
		"the policy denies it now": func(s *stage) { s.do(Reloaded{rules(s.t, "version: 1\ndefault: deny\n")}) },
	} {
		s := proposalStage(t, "mcpx/v0.1", forAll)
		s.offersRead("p1", "", "")
		s.claim("p1")
		s.now = s.now.Add(2 * claimWindow)
		if comes(s); s.asked() != 0 {
			t.Errorf("%s, and it runs", what)
		}
	}
}

// Its claim came first while the server was down, and then its proposer took it back: it ran when the
// server was up again (seeds 12517, 18405).
func TestWhatIsTakenBackBetweenItsClaimAndTheServerDoesNotRun(t *testing.T) {
	for _, back := range []bool{false, true} {
		s := proposalStage(t, "mcpx/v0.1", forAll)
		s.proposes("bob", "p1", "", "write_file", path, "")
		s.answers("alice", s.questionTo("alice"), true, yes)
		claim := s.claim("p1")
		s.do(ServerDown{Reason: "exit", Cause: "exited", Retry: time.Second})
		s.echo(claim)
		if back {
			s.withdraws("bob", "p1")
		}
		s.do(ServerUp{Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{}`)}})
		s.frames = nil
		s.answerListing(moreTools)
		if ran := s.asked(); (ran == 1) == back {
			t.Errorf("it was taken back: %t, and ran %d times", back, ran)
		}
		if back && (!s.noted(record.Ended, "withdrawn") || !s.noted(record.Withdrawn, "no_longer_needed") || !strings.Contains(s.frames[len(s.frames)-1], `"code":-31012`)) {
			t.Errorf("it was taken back, and what is on record is %+v", s.notes)
		}
	}
}

// Nor does what its proposer wanted for a while that is over.
func TestWhatRunsOutBetweenItsClaimAndTheServerDoesNotRun(t *testing.T) {
	for _, over := range []bool{false, true} {
		s := proposalStage(t, "mcpx/v0.1", forAll)
		s.proposes("bob", "p1", "", "write_file", path, `,"ttl":5000`)
		s.answers("alice", s.questionTo("alice"), true, yes)
		claim := s.claim("p1")
		s.do(ServerDown{Reason: "exit", Cause: "exited", Retry: time.Second})
		s.echo(claim)
		s.pass(4 * time.Second)
		if over {
			s.pass(time.Second)
		}
		s.do(ServerUp{Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{}`)}})
		s.frames = nil
		s.answerListing(moreTools)
		if ran := s.asked(); (ran == 1) == over {
			t.Errorf("its time is over: %t, and it ran %d times", over, ran)
		}
		if over && !strings.Contains(s.frames[len(s.frames)-1], `"code":-31002`) {
			t.Errorf("its proposer reads %s", s.frames)
		}
	}
}

// The window of a claim that could not leave begins when it does, also if it had been over
// just before.
func TestTheWindowOfAClaimThatWasHeldBeginsWhenItLeaves(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", forAll)
	s.offersRead("p1", "", "")
	s.claim("p1")
	s.notTaken()
	s.pausesFor(60)
	s.now = s.now.Add(2 * claimWindow)
	s.arrive(mewHead + `"id":"resume","from":"carol","kind":"participant/resume","payload":{}}`)
	s.claim("p1")
	if s.asked() != 0 {
		t.Fatal("it runs before anybody can have answered its claim")
	}
	if s.pass(claimWindow); s.asked() != 1 {
		t.Errorf("it ran %d times", s.asked())
	}
}

// At a gateway that returns nothing our claim had found the way out full, and then there was a pause. Another claimed the proposal
// meanwhile, saw nobody else and ran it; then ours left, was the first by name, and it ran here as well.
func TestAClaimThatNobodyHasSeenComesSecond(t *testing.T) {
	for what, c := range map[string]struct {
		paused bool
		ran    int // in all
	}{
		"it waits on for a pause to end": {true, 0},
		"it has left":                    {false, 1}, // and zoe, who has seen it, knows that we are first
	} {
		s := proposalStage(t, "mew/v0.4", forAll)
		s.comes("zoe")
		s.offersRead("p1", "", "")
		s.claim("p1")
		if c.paused {
			s.notTaken()
			s.pausesFor(60)
		}
		s.claims("zoe", "c1", "p1")
		s.pass(claimWindow)
		s.arrive(mewHead + `"id":"resume","from":"carol","kind":"participant/resume","payload":{}}`)
		s.pass(claimWindow)
		if s.asked() != c.ran {
			t.Errorf("%s: it ran %d times", what, s.asked())
		}
		s.rejected()
	}
}

// Whoever had it then may come to nothing, and it is ours again.
func TestWhatTookTheProposalOfAClaimThatNobodyHasSeenMayFail(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", forAll)
	s.comes("zoe")
	s.offersRead("p1", "", "")
	s.claim("p1")
	s.notTaken()
	s.claims("zoe", "c1", "p1")
	s.goes("zoe")
	if s.pass(time.Minute + claimWindow); s.asked() != 1 || !s.noted(record.Reopened, "") {
		t.Errorf("it ran %d times; on record is %+v", s.asked(), s.notes)
	}
}

// The way out was full, and then so much waited for it that our claim was given up. Nobody had seen that, and at a gateway
// that returns nothing the proposal ran here all the same, as it may with others.
func TestAClaimThatHadNoRoomOnTheWayOutRunsNothing(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", forAll)
	s.reads("carol", "r1")
	first := s.lastID()
	s.reads("carol", "r2")
	second := s.lastID()
	s.offersRead("p1", "", "")
	s.claim("p1")
	s.notTaken()
	s.pausesFor(1)
	before := s.asked()
	for _, id := range []string{first, second} {
		s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", outgoing.HeldMaxBytes/2) + `"}]}}`)
	}
	if !s.noted(record.Dropped, "outbox_full") {
		t.Fatal("there is room for all")
	}
	if s.pass(time.Minute + claimPatience); s.asked() != before {
		t.Error("it runs, and nobody has seen who serves it")
	}
	if !s.noted(record.Rejected, "busy") {
		t.Errorf("on record is %+v", s.notes)
	}
}

// Where claims come back, one that does not was seen by nobody.
func TestAClaimThatTheGatewayLostRunsNothing(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", forAll)
	s.offersRead("p1", "", "")
	s.echo(s.claim("p1"))
	s.proposes("bob", "p2", "", "read_file", `{"path":"/b"}`, "")
	s.claim("p2")
	s.pass(claimPatience)
	if s.asked() != 1 || s.engine.calls.Foreign != 1 {
		t.Errorf("%d ran, %d are open", s.asked(), s.engine.calls.Foreign)
	}
	s.rejected("busy")
}

// A gateway that returns any request of ours to us returns claims too: the window of a gateway
// that returns nothing decided all the same, and ran what another had claimed (seed 302244).
func TestAGatewayThatReturnedWhatWeServedAloneReturnsClaims(t *testing.T) {
	for what, frames := range map[string]int{"it returned one": 1, "it returned nothing": 0, "somebody made one up": -1} {
		s := proposalStage(t, "mcpx/v0.1", forAll)
		s.comes("zoe")
		s.offersRead("p1", "fs", "")
		switch ours := s.claim("p1"); frames {
		case 1:
			s.echo(ours)
		case -1:
			ours.ID = "invented"
			s.echo(ours)
		}
		s.proposes("bob", "p2", "", "read_file", `{"path":"/b"}`, "")
		s.claim("p2")
		s.frameTo("zoe", "zoe", "c1", "p2", "read_file", `{"path":"/b"}`)
		s.pass(claimPatience)
		if ran := s.asked(); ran != 1 && frames == 1 || ran != 2 && frames < 1 {
			t.Errorf("%s: %d ran", what, ran)
		}
	}
}

// That is known of a gateway while a claim is out already: it has its time from then on.
func TestAClaimHasItsTimeWhenTheFirstEchoCameMeanwhile(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", forAll)
	s.offersRead("p1", "fs", "")
	first := s.claim("p1")
	s.proposes("bob", "p2", "", "read_file", `{"path":"/b"}`, "")
	claim := s.claim("p2")
	s.echo(first)
	s.pass(claimWindow)
	s.rejected()
	s.echo(claim)
	if s.asked() != 2 {
		t.Errorf("%d ran", s.asked())
	}
}

// What is put to some alone nobody else can keep from us with a request to himself: ours had
// come back, and was given up as lost (seed 7500004357).
func TestAClaimOfOneWhoMayNotServeHeldUpOurs(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", forAll)
	s.offersRead("p1", "", contested["one of many"].more)
	claim := s.claim("p1")
	s.claims("mallory", "m1", "p1")
	s.echo(claim)
	if s.asked() != 1 {
		t.Errorf("%d ran; sent %q", s.asked(), s.frames)
	}
}

// There a slow gateway has more time than one that returns nothing.
func TestAClaimThatComesBackLateStillCounts(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", forAll)
	s.offersRead("p1", "", "")
	s.echo(s.claim("p1"))
	s.proposes("bob", "p2", "", "read_file", `{"path":"/b"}`, "")
	claim := s.claim("p2")
	s.pass(claimPatience - time.Millisecond)
	s.rejected()
	s.echo(claim)
	if s.asked() != 2 {
		t.Errorf("%d ran", s.asked())
	}
}

// Who was asked to be quiet claims nothing, also for what people agree to meanwhile.
func TestNothingIsClaimedDuringAPause(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask, broadcast: true")
	s.proposes("bob", "p1", "", "write_file", path, "")
	q := s.question()
	s.pausesFor(60)
	s.frames = nil
	s.answers("alice", q, true, yes)
	s.pass(61 * time.Second)
	if s.asked() != 0 || !s.noted(record.Rejected, "busy") {
		t.Errorf("%d ran; sent %q", s.asked(), s.frames)
	}
}

// A claim that found the way out full, and was taken back before it left, was rejected to
// a proposer who had seen none, and who takes the first reject for the last word (seed 40085).
func TestWhoHasSeenNoClaimIsToldNothingOfItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		more string
		ends func(s *stage)
	}{
		"taken":     {"", func(s *stage) { s.claims("carol", "c1", "p1") }},
		"requested": {"", func(s *stage) { s.frameTo("bob", "fs", "r1", "p1", "read_file", path) }},
		"overdue":   {`,"ttl":100`, func(s *stage) { s.pass(time.Second) }},
		"seat lost": {"", func(s *stage) { s.do(Unseated{}); s.seatWith("alice", "bob", "carol") }},
	} {
		for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
			for _, full := range []bool{true, false} {
				s := proposalStage(t, protocol, forAll)
				s.proposes("bob", "p0", "", "read_file", `{"path":"/b"}`, "")
				s.echo(s.claim("p0")) // the gateway returns claims: the first is whose it is
				s.offersRead("p1", "", c.more)
				s.claim("p1")
				if full {
					s.notTaken()
				}
				s.frames = nil
				c.ends(s)
				if got := s.rejects(); full && len(got) > 0 {
					t.Errorf("%s, %s: rejected as %q to who has seen no claim", protocol, name, got)
				} else if !full && len(got) != 1 {
					t.Errorf("%s, %s: who has seen the claim hears %q of its end", protocol, name, got)
				}
			}
		}
	}
}

// Nobody had seen the claim, so nobody was told when it was given up, and what it was of stayed as it was for good: no
// record had the last word on that, and what the Book remembers grew.
func TestAClaimThatHasNotLeftHasALastWord(t *testing.T) {
	for what, ends := range map[string]func(s *stage){
		"the seat is lost": func(s *stage) { s.do(Unseated{}) },
		"a halt":           func(s *stage) { s.halt() },
		"the bridge ends":  func(s *stage) { s.do(GivingUp{}) },
	} {
		s := proposalStage(t, "mew/v0.4", forAll)
		s.offersRead("p1", "", "")
		s.claim("p1")
		s.notTaken()
		ends(s)
		if r := s.lastNote(record.Rejected); r.Reason != "busy" || r.State != "untold" || r.Executed != "no" {
			t.Errorf("%s: on record is %+v", what, r)
		}
		s.rejected()
		if n := len(s.engine.offers.calls); n != 0 {
			t.Errorf("%s: %d calls are kept", what, n)
		}
	}
}

// While we were away somebody may have taken it up.
func TestAfterALostLinkNothingRunsThatOthersMayHaveServed(t *testing.T) {
	for name, lose := range map[string]func(s *stage, q ask){
		"before the yes": func(s *stage, _ ask) {
			s.do(Unseated{})
			s.seatWith("alice", "bob", "carol")
			s.answers("alice", s.question(), true, yes)
		},
		"after the claim": func(s *stage, q ask) {
			s.answers("alice", q, true, yes)
			s.claim("p1")
			s.do(Unseated{})
			s.seatWith("alice", "bob", "carol")
		},
	} {
		s := proposalStage(t, "mcpx/v0.1", "fulfil: ask, broadcast: true")
		s.offersRead("p1", "", "")
		lose(s, s.question())
		s.pass(time.Minute)
		if s.asked() != 0 || s.engine.calls.Foreign != 0 {
			t.Errorf("%s: it ran %d times, %d are open", name, s.asked(), s.engine.calls.Foreign)
		}
	}
}

// Two people at two bridges say yes: one of the two runs.
func TestTwoYesesAtTwoBridgesAreOneRun(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask, broadcast: true")
	s.offersRead("p1", "", "")
	s.answers("alice", s.question(), true, yes)
	ours := s.claim("p1")
	s.claims("carol", "c1", "p1")
	s.echo(ours)
	if s.asked() != 0 {
		t.Error("it ran here too")
	}
	s.rejected("duplicate")
}

// A list of those who are preferred is an order.
func TestWhoIsPreferredSecondWaitsItsTurn(t *testing.T) {
	const second = `,"targeting":{"preferred":["carol","fs"],"fallback_timeout":4000}`
	for name, c := range map[string]struct {
		before func(s *stage)
		at     time.Duration
	}{
		"its turn": {func(*stage) {}, 2 * time.Second},
		"the first will not": {func(s *stage) {
			s.echo(&wire.Envelope{ID: "x1", TS: "2026-01-01T00:00:00Z", From: "carol", To: []string{"bob"}, Kind: wire.Reject, Corr: []string{"p1"}, Payload: []byte(`{"reason":"busy"}`)})
		}, 0},
		"the first leaves": {func(s *stage) { s.leaves("carol") }, 0},
	} {
		s := proposalStage(t, "mcpx/v0.1", "fulfil: policy")
		s.offersRead("p1", "", second)
		s.nothing(name)
		c.before(s)
		if c.at > 0 {
			s.pass(c.at - time.Millisecond)
			s.nothing(name)
			s.pass(time.Millisecond)
		}
		s.claim("p1")
	}
	s := proposalStage(t, "mcpx/v0.1", "fulfil: policy")
	s.offersRead("p1", "", `,"preferred":["nobody","fs"]`)
	s.claim("p1") // who is not here has no turn
	s.proposes("bob", "p2", "", "nope", `{}`, second)
	s.rejected("incapable") // and what cannot be served is refused at once
}

// A proposal that waits its turn was judged without its arguments: what only lacks of
// them are denied was refused, what only some of them are was left to wait.
func TestAProposalThatWaitsIsJudgedByItsArguments(t *testing.T) {
	const text = "version: 1\ndefault: allow\nproposals: {fulfil: policy}\nrules:\n - {name: nowhere, deny: ['read_*'], args: {path: {type: absent}}}\n - {name: there, deny: ['read_*'], args: {path: {is: /etc}}}\n"
	const second = `,"targeting":{"preferred":["carol","fs"],"fallback_timeout":4000}`
	for args, reasons := range map[string][]string{`{"path":"/a"}`: nil, `{"path":"/etc"}`: {"policy"}} {
		s := proposalStage(t, "mcpx/v0.1", "fulfil: policy")
		s.do(Reloaded{rules(t, text)})
		s.frames = nil
		s.proposes("bob", "p1", "", "read_file", args, second)
		s.rejected(reasons...)
		if s.pass(5 * time.Second); reasons == nil {
			s.claim("p1")
		}
	}
}

// Anybody could end anybody's proposal with a request of another tool, or of somebody
// who is not there (FINDINGS M9).
func TestARequestOfSomethingElseEndsNobodysProposal(t *testing.T) {
	for name, c := range map[string]struct {
		to        string
		request   func(s *stage)
		withdrawn bool
	}{
		"another tool, of somebody here":      {"", func(s *stage) { s.frameTo("mallory", "carol", "r1", "p1", "delete_file", `{}`) }, false},
		"another tool, of nobody":             {"fs", func(s *stage) { s.frameTo("mallory", "ghost", "r1", "p1", "delete_file", `{}`) }, false},
		"the same, of nobody":                 {"", func(s *stage) { s.frameTo("mallory", "ghost", "r1", "p1", "write_file", path) }, false},
		"the same, of whom it is not put to":  {"fs", func(s *stage) { s.frameTo("mallory", "carol", "r1", "p1", "write_file", path) }, false},
		"the same, of somebody here":          {"", func(s *stage) { s.frameTo("mallory", "carol", "r1", "p1", "write_file", path) }, true},
		"changed by whoever agreed, and here": {"", func(s *stage) { s.frameTo("mallory", "carol", "r1", "p1", "write_file", `{"path":"/b"}`) }, true},
	} {
		for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
			s := proposalStage(t, protocol, "fulfil: ask, broadcast: true")
			s.proposes("bob", "p1", c.to, "write_file", path, "")
			s.question()
			c.request(s)
			if (len(s.engine.Pending(0, 0)) == 0) != c.withdrawn {
				t.Errorf("%s, %s: the question is withdrawn: %v", protocol, name, !c.withdrawn)
			}
		}
	}
}

// What somebody else took up and did not do is put to our people again.
// Somebody's request for a proposal was refused for want of room, and with it the bridge
// forgot that it was asking people about the proposal itself: its proposer took it back,
// and the question stayed (seed 50005503).
func TestARefusedRequestForAProposalTakesNoQuestionAlong(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask, broadcast: true")
	s.proposes("bob", "p1", "fs", "write_file", path, "")
	a := s.question()
	s.engine.maxCalls = 0 // the server is full
	s.frameTo("mallory", "fs", "r1", "p1", "write_file", path)
	s.has(strings.Join(s.frames, "\n"), "-31005")
	s.withdraws("bob", "p1")
	if n := len(s.engine.Pending(0, 9)); n != 0 {
		t.Errorf("%d questions about what nobody wants any more", n)
	}
	if s.answers("alice", a, true, yes); s.noted(record.Decided, "approved") {
		t.Error("it is agreed to")
	}
}

func TestWhatItsProposerTookBackMeanwhileDoesNotComeBack(t *testing.T) {
	for name, end := range map[string]func(s *stage){
		"taken back": func(s *stage) {
			s.arrive(`{"protocol":"mew/v0.4","id":"w1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/withdraw","correlation_id":["p1"],"payload":{"reason":"no_longer_needed"}}`)
		},
		"over": func(s *stage) {
			s.arrive(`{"protocol":"mew/v0.4","id":"w1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/withdraw","correlation_id":["p1"],"payload":{"reason":"expired"}}`)
		},
		"its proposer left": func(s *stage) { s.leaves("bob") },
	} {
		s := proposalStage(t, "mew/v0.4", "fulfil: ask, broadcast: true")
		s.proposes("bob", "p1", "", "write_file", path, "")
		s.question()
		s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
		end(s)
		s.arrive(`{"protocol":"mew/v0.4","id":"a1","ts":"2026-01-01T00:00:00Z","from":"carol","to":["mallory"],"kind":"mcp/response","correlation_id":["r1"],"payload":{"jsonrpc":"2.0","id":"x","error":{"code":-31004,"message":"no","data":{"executed":"no"}}}}`)
		if _, is := s.maybeQuestion(); is || s.noted(record.Reopened, "") {
			t.Errorf("%s: and is asked about when whoever took it refuses it", name) // seed 86150
		}
	}
}

func TestWhatOthersTakeAndDoNotDoIsAskedAgain(t *testing.T) {
	for name, end := range map[string]func(s *stage){
		"the gateway says that nobody was there": func(s *stage) {
			s.goes("carol")
			s.arrive(`{"protocol":"mew/v0.4","id":"g1","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/error","correlation_id":["r1"],"payload":{"error":"recipient_absent","message":"gone"}}`)
		},
		"the runner leaves": func(s *stage) { s.leaves("carol") },
		"the runner refuses": func(s *stage) {
			s.arrive(`{"protocol":"mew/v0.4","id":"a1","ts":"2026-01-01T00:00:00Z","from":"carol","to":["mallory"],"kind":"mcp/response","correlation_id":["r1"],"payload":{"jsonrpc":"2.0","id":"x","error":{"code":-31004,"message":"no","data":{"executed":"no"}}}}`)
		},
		"the runner does not know it": func(s *stage) {
			s.arrive(`{"protocol":"mew/v0.4","id":"a1","ts":"2026-01-01T00:00:00Z","from":"carol","to":["mallory"],"kind":"mcp/response","correlation_id":["r1"],"payload":{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}}`)
		},
		"the runner does not know it, in a number with a fraction": func(s *stage) {
			s.arrive(`{"protocol":"mew/v0.4","id":"a1","ts":"2026-01-01T00:00:00Z","from":"carol","to":["mallory"],"kind":"mcp/response","correlation_id":["r1"],"payload":{"jsonrpc":"2.0","id":"x","error":{"code":-32601.0,"message":"no"}}}`)
		},
	} {
		s := proposalStage(t, "mew/v0.4", "fulfil: ask, broadcast: true")
		s.proposes("bob", "p1", "", "write_file", path, "")
		s.question()
		s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
		if _, is := s.maybeQuestion(); is || !s.noted(record.Taken, "") {
			t.Fatalf("%s: it is not taken", name)
		}
		end(s)
		s.answers("alice", s.question(), true, yes)
		s.echo(s.claim("p1"))
		if s.asked() != 1 || !s.noted(record.Reopened, "") {
			t.Errorf("%s: it ran %d times", name, s.asked())
		}
	}
	s := proposalStage(t, "mew/v0.4", "fulfil: ask, broadcast: true")
	s.proposes("bob", "p1", "", "write_file", path, "")
	s.answers("alice", s.question(), true, yes)
	s.claim("p1")
	s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
	if !s.noted(record.Rejected, "duplicate") {
		t.Fatal("its proposer, who has seen our claim, is not told that another came first")
	}
	s.arrive(`{"protocol":"mew/v0.4","id":"a1","ts":"2026-01-01T00:00:00Z","from":"carol","to":["mallory"],"kind":"mcp/response","correlation_id":["r1"],"payload":{"jsonrpc":"2.0","id":"x","error":{"code":-31004,"message":"no","data":{"executed":"no"}}}}`)
	if _, is := s.maybeQuestion(); is || s.noted(record.Reopened, "") {
		t.Error("what its proposer was refused is asked again") // who takes the first reject for the last word has gone elsewhere (seed 71182)
	}
	s = proposalStage(t, "mew/v0.4", "fulfil: ask, broadcast: true")
	s.proposes("bob", "p1", "", "write_file", path, "")
	s.question()
	s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
	s.arrive(`{"protocol":"mew/v0.4","id":"a1","ts":"2026-01-01T00:00:00Z","from":"carol","to":["mallory"],"kind":"mcp/response","correlation_id":["r1"],"payload":{"jsonrpc":"2.0","id":"x","error":{"code":-32000,"message":"half done"}}}`)
	if _, is := s.maybeQuestion(); is {
		t.Error("what may have run is asked again")
	}
}

// At a gateway that had returned nothing yet, another's claim was seen, and that it did what
// was proposed, before our own claim came back: the proposal counted as being served for ever.
func TestWhatTheOtherHadDoneBeforeOurClaimCameBackIsNotDoneAgain(t *testing.T) {
	inBoth(t, forAll, func(t *testing.T, s *stage, to, more string) {
		s.offersRead("p1", to, more)
		ours := s.claim("p1")
		s.claims("carol", "r1", "p1")
		s.echo(&wire.Envelope{ID: "a1", TS: "2026-01-01T00:00:00Z", From: "carol", To: []string{"bob", "carol"}, Kind: wire.Response, Corr: []string{"r1"}, Method: "tools/call", Key: "read_file",
			Payload: []byte(`{"jsonrpc":"2.0","id":"x","result":{"content":[]}}`)})
		s.echo(ours)
		if !s.noted(record.Fulfilled, "") {
			t.Error("that it was done is not noted")
		}
		s.leaves("carol")
		s.pass(leaveGrace + claimPatience)
		if s.asked() != 0 {
			t.Error("it was done again")
		}
	})
}

// The proposer makes a request of the other under the id of the other's claim, and has it
// refused: that is no reason to take the claim for given up.
func TestARefusalOfAnotherRequestDoesNotEndTheOthersClaim(t *testing.T) {
	inBoth(t, forAll, func(t *testing.T, s *stage, to, more string) {
		s.offersRead("p1", to, more)
		ours := s.claim("p1")
		s.claims("carol", "r1", "p1")
		s.echo(&wire.Envelope{ID: "r1", TS: "2026-01-01T00:00:00Z", From: "bob", To: []string{"carol"}, Kind: wire.Request, Method: "tools/call", Key: "nope",
			Payload: []byte(`{"jsonrpc":"2.0","id":"y","method":"tools/call","params":{"name":"nope"}}`)})
		s.echo(&wire.Envelope{ID: "a1", TS: "2026-01-01T00:00:00Z", From: "carol", To: []string{"bob"}, Kind: wire.Response, Corr: []string{"r1"}, Method: "tools/call", Key: "nope",
			Payload: []byte(`{"jsonrpc":"2.0","id":"y","error":{"code":-32602,"message":"no such tool"}}`)})
		s.echo(ours)
		s.pass(claimPatience)
		if s.asked() != 0 {
			t.Error("it runs here as well")
		}
	})
}
