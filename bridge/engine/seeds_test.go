package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// The open questions of the seeds 000, 001 and 002, and our answers (WIRE 8):
// each is a test that is called by the number of its seed and of the question.
// That about too many withdrawals is with package proposal.

// proposes puts a proposal of somebody on the stage; to "" is everybody.
func (s *stage) proposes(from, env, to, tool, arguments, more string) {
	s.t.Helper()
	e := &wire.Envelope{ID: env, TS: "2026-01-01T00:00:00Z", From: from, Kind: wire.Proposal, Method: "tools/call", Key: tool,
		Payload: fmt.Appendf(nil, `{"method":"tools/call","params":{"name":%q,"arguments":%s}%s}`, tool, arguments, more)}
	if to != "" {
		e.To = []string{to}
	}
	frame, err := s.dialect.Append(nil, e, wire.Caps{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.arrive(string(frame))
}

func (s *stage) withdraws(from, proposal string) {
	s.t.Helper()
	s.says(from, fmt.Sprint("w", len(s.notes), from), wire.Withdraw, "", "", proposal, `{"reason":"no_longer_needed"}`)
}

// rejects are the reasons of the rejects to bob so far.
func (s *stage) rejects() (reasons []string) {
	s.t.Helper()
	for _, f := range s.frames {
		env, err := s.dialect.Decode([]byte(f))
		if err != nil {
			s.t.Fatal(err)
		}
		if end, err := env.Ending(); env.Kind == wire.Reject && err == nil {
			reasons = append(reasons, end.Reason)
		}
	}
	return reasons
}

func (s *stage) rejected(reasons ...string) {
	s.t.Helper()
	if got := s.rejects(); strings.Join(got, " ") != strings.Join(reasons, " ") {
		s.t.Errorf("rejected as %q, want %q", got, reasons)
	}
	s.frames = nil
}

// proposalStage has reads allowed, writes asked of alice, and this to say about
// proposals.
func proposalStage(t *testing.T, protocol, proposals string) *stage {
	d, _ := wire.Lookup(protocol)
	return askingStage(t, d, raceRules[:strings.Index(raceRules, "proposals:")]+"proposals: {"+proposals+"}\n")
}

const path = `{"path":"/a"}`

// Rejects are optional on the wire. We always reject what is addressed to us, and
// never what is not: stock proposers give up at the first.
func TestSeed000Q1RejectsAreForThoseWhoAskedUs(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy, broadcast: true")
	s.proposes("bob", "p1", "fs", "nope", `{}`, "")
	s.rejected("incapable")
	s.proposes("bob", "p2", "", "nope", `{}`, "")
	s.proposes("bob", "p3", "carol", "nope", `{}`, "")
	s.rejected()
}

// The first request for a proposal is what counts; another only when that failed.
func TestSeed000Q2TheFirstToServeItWins(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	for _, from := range []string{"alice", "carol"} {
		s.says(from, "r-"+from, wire.Request, "tools/call", "read_file", "p1", `{"id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"}}}`)
	}
	if n := s.asked(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	if got := strings.Count(strings.Join(s.frames, ""), `"code":-31014`); got != 2 {
		t.Errorf("%d of 2 heard that it is served already", got)
	}
}

// How a proposal stands is kept here and not in the gateway, for 15 minutes.
func TestSeed000Q3HowItStandsIsKeptHere(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	s.withdraws("bob", "p1")
	s.frames = nil
	request := func(env string) {
		s.says("carol", env, wire.Request, "tools/call", "read_file", "p1", `{"id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"}}}`)
	}
	request("r1")
	s.has(s.only(), `"code":-31012`, `"executed":"no"`)
	s.pass(17 * time.Minute)
	request("r2") // of something long forgotten: a request like any other
	if s.asked() != 1 {
		t.Errorf("it ran %d times: %q", s.asked(), s.frames)
	}
}

// What we offer can be read from tools/list. What a proposal says it requires is
// held against that.
func TestSeed000Q4WhatIsRequiredMustBeOffered(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", "fulfil: policy")
	s.engine.server.hello.Capabilities = []byte(`{"tools":{},"resources":{"subscribe":true}}`)
	for i, c := range []struct{ needs, reject string }{
		{`["read_file","tools","resources/read","mcp/response:tools/call"]`, ""},
		{`"read_file"`, ""},
		{`[]`, ""},
		{`["read_file","git"]`, "incapable"},
		{`["prompts"]`, "incapable"},
		{`[""]`, "incapable"},
		{`7`, "invalid"},
	} {
		s.frames = nil
		s.proposes("bob", fmt.Sprint("p", i), "fs", "read_file", fmt.Sprintf(`{"path":"/%d"}`, i), `,"required_capabilities":`+c.needs)
		if got := strings.Join(s.rejects(), " "); got != c.reject {
			t.Errorf("%s: rejected as %q, want %q", c.needs, got, c.reject)
		}
	}
}

// Targeting is a hint of somebody we need not trust: it opens no door.
func TestSeed000Q5TargetingGrantsNothing(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", "fulfil: policy, broadcast: true")
	hints := `,"preferred":["fs"],"targeting":{"preferred":["fs"],"exclusive":true,"quick_reject":true},"fulfiller":["fs"]`
	s.proposes("bob", "p1", "", "deploy", `{"target":"production"}`, hints) // the default denies
	s.rejected("policy")
	s.proposes("bob", "p2", "", "write_file", path, hints)
	if s.asked() != 0 {
		t.Error("it ran unasked")
	}
	s.question()
	never := proposalStage(t, "mcpx/v0.1", "fulfil: never")
	never.proposes("bob", "p3", "fs", "read_file", path, hints)
	if never.asked() != 0 || len(never.frames) > 0 {
		t.Errorf("it is served although the owner serves none: %q", never.frames)
	}
}

// Nobody is told that a proposal has expired, unless we said that we may serve it.
func TestSeed001Q1ExpiryIsSilent(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", path, `,"ttl":1000`)
	s.question()
	s.pass(time.Second)
	s.rejected()
	if !s.noted(record.Expired, "ttl") {
		t.Error("it is not on record")
	}
	d := proposalStage(t, "mcpx/v0.1", "fulfil: ask")
	caps, _ := wire.ParseCaps([]byte(`["mcp/*","chat","proposal-response","proposal-reject"]`))
	d.engine.room.caps = caps
	d.arrive(`{"protocol":"mcpx/v0.1","id":"p2","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"proposal","payload":{"method":"tools/call","request_response":true,"ttl":1000,"params":{"name":"write_file","arguments":{"path":"/a"}}}}`)
	d.question()
	d.has(d.only(), `"kind":"proposal-response"`, `"status":"defer"`)
	d.pass(time.Second)
	d.rejected("timeout")
}

// What is addressed to us and cannot be served is always rejected, unless its
// proposer wants none of that.
func TestSeed001Q2WhoWantsNoRejectGetsNone(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "nope", `{}`, `,"quick_reject":false`)
	s.proposes("bob", "p2", "fs", "nope", `{}`, `,"targeting":{"quick_reject":false}`)
	s.rejected()
	s.proposes("bob", "p3", "fs", "nope", `{}`, `,"targeting":{"quick_reject":true}`)
	s.rejected("incapable")
}

// Whoever wants to learn from rejects finds the same words every time, on the
// topic and on record.
func TestSeed001Q3ReasonsAreWordsToBuildOn(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask")
	for i, c := range []struct{ tool, arguments, reason string }{
		{"nope", `{}`, "incapable"}, {"read_file", `{}`, "invalid"}, {"deploy", `{"target":"production"}`, "policy"},
	} {
		id := fmt.Sprint("p", i)
		s.proposes("bob", id, "fs", c.tool, c.arguments, "")
		s.rejected(c.reason)
		if last := s.notes[len(s.notes)-1]; last.Event != record.Rejected || last.Reason != c.reason || last.Proposal != id || last.State != "told" {
			t.Errorf("on record is %+v", last)
		}
	}
}

// A ttl counts from receipt, by our clock, and nothing of it goes out.
func TestSeed002Q1TheTTLIsHonoured(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", path, `,"ttl":30000`)
	q := s.question()
	s.pass(30 * time.Second)
	s.answers("alice", q, true, yes)
	if s.asked() != 0 {
		t.Error("it ran after its time")
	}
}

// A withdrawal reaches everything that waits for the proposal's sake, however it
// was addressed itself.
func TestSeed002Q2AWithdrawalEndsWhateverWaits(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy, broadcast: true")
	s.proposes("bob", "waits", "", "read_file", path, `,"targeting":{"preferred":["other"]}`)
	s.proposes("bob", "asked", "fs", "write_file", path, "")
	q := s.question()
	s.withdraws("bob", "waits")
	s.frame("bob", "other", "w2", wire.Withdraw, "asked")
	s.pass(time.Minute)
	s.answers("alice", q, true, yes)
	if s.asked() != 0 {
		t.Errorf("it ran: %q", s.lines)
	}
}

// frame puts a frame of somebody to somebody else on the stage.
func (s *stage) frame(from, to, env string, kind wire.Kind, corr string) {
	s.t.Helper()
	frame, err := s.dialect.Append(nil, &wire.Envelope{ID: env, TS: "2026-01-01T00:00:00Z", From: from, To: []string{to}, Kind: kind,
		Corr: []string{corr}, Payload: []byte(`{}`)}, wire.Caps{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.arrive(string(frame))
}

// A withdrawal can be seen by all as it is; it is confirmed to nobody, and on
// record here.
func TestSeed002Q3AWithdrawalIsNotConfirmed(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: never")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	s.withdraws("bob", "p1")
	s.nothing("after a withdrawal")
	if !s.noted(record.Withdrawn, "no_longer_needed") {
		t.Errorf("it is not on record: %+v", s.notes)
	}
}

// Of a proposer that counts the time it has left, and is a moment late, nothing is run and nobody
// is asked.
func TestAProposalThatIsOverWhenItIsMadeIsNotServed(t *testing.T) {
	for _, rule := range []string{"fulfil: ask", "fulfil: policy", "fulfil: policy, broadcast: true"} {
		for _, to := range []string{"fs", ""} {
			s := proposalStage(t, "mcpx/v0.1", rule)
			s.proposes("bob", "p1", to, "write_file", path, `,"ttl":-12`)
			s.proposes("bob", "p2", to, "read_file", path, `,"ttl":-12`)
			s.nobodyAsked(rule)
			s.nothing(rule)
			if !s.noted(record.Expired, "ttl") {
				t.Errorf("%s, to %q: %v", rule, to, s.notes)
			}
		}
	}
}
