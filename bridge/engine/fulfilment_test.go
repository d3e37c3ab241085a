package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func (s *stage) requests(from, env, proposal, tool string) {
	s.t.Helper()
	s.says(from, env, wire.Request, "tools/call", tool, proposal,
		`{"jsonrpc":"2.0","id":44,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"path":"/a"}}}`)
}

// Carol's request for a proposal is put to alice. While that is so it is served;
// when it comes to nothing, somebody else may serve it.
func TestARequestThatComesToNothingMakesRoomForAnother(t *testing.T) {
	ends := map[string]func(s *stage, q ask){
		"alice refuses": func(s *stage, q ask) { s.answers("alice", q, true, `{"action":"decline"}`) },
		"carol takes it back": func(s *stage, _ ask) {
			s.says("carol", "c1", wire.Notification, "notifications/cancelled", "", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":44}}`)
		},
		"carol leaves": func(s *stage, _ ask) {
			s.do(Arrived{&wire.Envelope{Kind: wire.Presence, From: "system:gateway", Payload: []byte(`{"event":"leave","participant":{"id":"carol"}}`)}})
			s.pass(leaveGrace)
		},
		"nobody decides": func(s *stage, _ ask) { s.pass(2 * time.Hour) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			s := proposalStage(t, "mew/v0.4", "fulfil: never")
			s.proposes("bob", "p1", "fs", "write_file", path, "")
			s.requests("carol", "r1", "p1", "write_file")
			q := s.question()
			s.requests("mallory", "r2", "p1", "write_file")
			s.has(s.only(), `"code":-31014`, `"to":["mallory"]`)
			end(s, q)
			if s.asked() != 0 {
				t.Error("it ran")
			}
			s.frames = nil
			if name == "nobody decides" { // by then it is forgotten, too
				return
			}
			s.requests("mallory", "r3", "p1", "write_file")
			if q, is := s.maybeQuestion(); !is || !strings.Contains(q.params, "mallory") {
				t.Errorf("nobody else may serve it: %q", s.frames)
			}
		})
	}
}

// The desk has no room for another question of carol's, so nobody is asked about her
// request, and the question about the proposal itself stays as it is.
func TestARequestThatNobodyIsAskedAboutTakesNoQuestionAway(t *testing.T) {
	for _, fulfil := range []string{"ask", "never"} {
		s := proposalStage(t, "mew/v0.4", "fulfil: "+fulfil)
		for n := range 8 {
			s.says("carol", fmt.Sprint("c", n), wire.Request, "tools/call", "write_file", "",
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/%d"}}}`, n, n))
		}
		s.frames = nil
		s.proposes("bob", "p1", "fs", "write_file", path, "")
		_, asked := s.maybeQuestion()
		if asked != (fulfil == "ask") {
			t.Fatalf("fulfil: %s, and asked about the proposal: %t", fulfil, asked)
		}
		s.notes, s.frames = nil, nil
		s.requests("carol", "r1", "p1", "write_file")
		s.has(s.only(), `"code":-31005`, `"to":["carol"]`)
		for _, r := range s.notes {
			if slices.Contains([]record.Event{record.Taken, record.Withdrawn, record.Reopened}, r.Event) {
				t.Errorf("fulfil: %s, and on record is that the proposal is %s", fulfil, r.Event)
			}
		}
		if fulfil == "ask" {
			continue
		}
		s.requests("mallory", "r2", "p1", "write_file") // who has asked nothing yet
		if q, is := s.maybeQuestion(); !is || !strings.Contains(q.params, "mallory") {
			t.Errorf("nobody else may serve it: %q", s.frames)
		}
	}
}

// Whoever withdraws a proposal ends what others request for its sake, too.
func TestAWithdrawalReachesRequestsThatWait(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: never")
	s.proposes("bob", "p1", "fs", "write_file", path, "")
	s.requests("carol", "r1", "p1", "write_file")
	q := s.question()
	s.withdraws("bob", "p1")
	if answer := strings.Join(s.frames, ""); !strings.Contains(answer, `"code":-31012`) {
		t.Errorf("carol hears %q", answer)
	}
	s.answers("alice", q, true, yes)
	if s.asked() != 0 {
		t.Error("it ran")
	}
}

// Whose proposal it was may leave: who requested it hears that nothing comes of
// it, and on record each call has its last word.
func TestAProposerWhoLeavesLeavesNobodyWaiting(t *testing.T) {
	for _, who := range []string{"bob", "carol"} {
		s := proposalStage(t, "mew/v0.4", "fulfil: ask")
		s.proposes("bob", "p1", "fs", "write_file", path, "")
		s.requests("carol", "r1", "p1", "write_file")
		s.frames = nil
		s.leaves(who)
		heard := strings.Contains(strings.Join(s.frames, ""), `"correlation_id":["r1"]`)
		if heard != (who == "bob") {
			t.Errorf("%s left, and carol hears %q", who, s.frames)
		}
		if who == "carol" { // bob's own comes back to us: he waits for it still
			s.withdraws("bob", "p1")
		}
		if s.engine.calls.Foreign != 0 {
			t.Errorf("%s left, and %d calls are open", who, s.engine.calls.Foreign)
		}
		last := map[string]int{}
		for _, r := range s.notes {
			if r.Event == record.Ended || r.Event == record.Withdrawn || r.Event == record.Rejected {
				last[r.Call]++
			}
		}
		if last["1"] != 1 || last["2"] != 1 || last["3"] != 1 && who == "carol" {
			t.Errorf("%s left: last words %v", who, last)
		}
	}
}

// The same goes for a proposer, or a caller, about whose call people decide.
func TestWhoLeavesWhilePeopleDecideIsOnRecord(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", path, "")
	s.requests("carol", "r1", "p2", "write_file")
	s.leaves("bob")
	s.leaves("carol")
	for _, call := range []string{"1", "2"} {
		if !slices.ContainsFunc(s.notes, func(r record.Record) bool { return r.Event == record.Withdrawn && r.Call == call && r.Executed == "no" }) {
			t.Errorf("call %s has no last word", call)
		}
	}
}

func (s *stage) leaves(who string) {
	s.t.Helper()
	s.do(Arrived{&wire.Envelope{Kind: wire.Presence, From: "system:gateway", Payload: []byte(`{"event":"leave","participant":{"id":"` + who + `"}}`)}})
	s.pass(leaveGrace)
}

// Where a dialect has room for several links, all that they name are withdrawn.
func TestOneWithdrawalForSeveralProposals(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", `{"path":"/a"}`, "")
	s.proposes("bob", "p2", "fs", "write_file", `{"path":"/b"}`, "")
	q := s.question()
	s.arrive(`{"protocol":"mew/v0.4","id":"w1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/withdraw",` +
		`"correlation_id":["p0","p1","p2"],"payload":{"reason":"no_longer_needed"}}`)
	s.answers("alice", q, true, yes)
	if s.asked() != 0 || len(s.engine.Pending(0, 9)) != 0 {
		t.Errorf("%d ran, %d wait", s.asked(), len(s.engine.Pending(0, 9)))
	}
}

// A call that nobody knows the end of counts as made: it must not run twice.
func TestWhatMayHaveRunIsNotServedAgain(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	s.do(ServerDown{Reason: "exit", Cause: "exited", Retry: time.Second})
	s.startServer()
	s.frames, s.lines = nil, nil
	s.requests("carol", "r1", "p1", "read_file")
	s.has(s.only(), `"code":-31014`)
	s.proposes("bob", "p2", "fs", "read_file", path, "") // the very same
	s.rejected("duplicate")
}

// With no leave to make the request that shows who serves it, nothing is served
// and nobody is bothered (WIRE 7.8).
func TestWithoutLeaveToRequestNothingIsServed(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.engine.room.caps, _ = wire.ParseCaps([]byte(`[{"kind":"mcp/response"},{"kind":"mcp/reject"}]`))
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	s.proposes("bob", "p2", "fs", "write_file", path, "")
	if s.asked() != 0 || len(s.frames) > 0 {
		t.Errorf("lines %q, frames %q", s.lines, s.frames)
	}
	s.proposes("bob", "p3", "fs", "nope", path, "")
	s.rejected("incapable")
}

// The request that shows who serves a proposal is longer than that. Where it fits
// into no frame nobody would know what the answer is to.
func TestAProposalOfWhichNoRequestCanBeShownIsNotServed(t *testing.T) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
		s := proposalStage(t, protocol, "fulfil: policy")
		s.proposes("bob", "p1", "fs", "read_file", `{"path":"`+strings.Repeat("x", jsonrpc.MaxSize-300)+`"}`, "")
		if s.asked() != 0 {
			t.Errorf("%s: it ran", protocol)
		}
		s.rejected("resource_limit")
	}
}

// The owner's second thoughts reach what waits.
func TestAReloadReachesProposalsThatWait(t *testing.T) {
	for name, c := range map[string]struct{ now, reject string }{
		"none are served any more":        {"default: deny\nasks: {default: {of: [alice]}}\nrules: [{ask: ['write_*']}]\nproposals: {fulfil: never}", "policy"},
		"this one is not allowed anymore": {"default: deny", "policy"},
	} {
		t.Run(name, func(t *testing.T) {
			s := proposalStage(t, "mew/v0.4", "fulfil: ask")
			s.proposes("bob", "p1", "fs", "write_file", path, "")
			q := s.question()
			s.do(Reloaded{rules(t, "version: 1\n"+c.now+"\n")})
			s.rejected(c.reject)
			s.answers("alice", q, true, yes)
			if s.asked() != 0 {
				t.Error("it ran")
			}
		})
	}
	t.Run("nobody's are not ours any more", func(t *testing.T) {
		s := proposalStage(t, "mew/v0.4", "fulfil: policy, broadcast: true")
		s.proposes("bob", "p1", "", "read_file", path, `,"preferred":"carol"`)
		s.do(Reloaded{rules(t, "version: 1\ndefault: allow\nproposals: {fulfil: policy}\n")})
		s.pass(time.Minute)
		if s.asked() != 0 {
			t.Error("it ran")
		}
	})
}

// What was due while the machine slept is judged by the rules that were put in
// force before anybody looked.
func TestWhatIsDueWithAReloadIsJudgedByTheNewRules(t *testing.T) {
	for _, tool := range []string{"read_file", "write_file"} { // allowed, and asked about
		s := proposalStage(t, "mew/v0.4", "fulfil: policy, broadcast: true")
		s.proposes("bob", "p1", "", tool, path, `,"preferred":"carol"`)
		s.now = s.now.Add(time.Hour)
		s.do(Reloaded{rules(t, "version: 1\ndefault: deny\nproposals: {fulfil: policy, broadcast: true}\n")})
		s.pass(time.Hour)
		if len(s.lines) > 1 || slices.ContainsFunc(s.notes, func(r record.Record) bool { return r.Event == record.Asked || r.Verdict == "allow" && r.Env == "p1" }) {
			t.Errorf("%s: %q, %+v", tool, s.lines, s.notes)
		}
	}
}

// While we stop, are paused, have no server or can put nothing on record, a
// proposal is refused at once.
func TestWhenNothingCanBeServed(t *testing.T) {
	for name, c := range map[string]struct {
		before func(s *stage)
		reason string
	}{
		"stopping":       {func(s *stage) { s.do(Stopping{}) }, "busy"},
		"no server":      {func(s *stage) { s.do(ServerDown{Cause: "exited", Retry: time.Second}) }, "incapable"},
		"no record":      {func(s *stage) { s.do(Unrecorded{Err: errNoTools}) }, "other"},
		"too many calls": {func(s *stage) { s.engine.calls.Running = s.engine.maxCalls }, "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			s := proposalStage(t, "mew/v0.4", "fulfil: policy")
			c.before(s)
			s.frames = nil
			s.proposes("bob", "p1", "fs", "read_file", path, "")
			s.rejected(c.reason)
			if s.asked() != 0 {
				t.Error("it ran")
			}
		})
	}
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.control("pause", `{"timeout_seconds":5}`)
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	s.nothing("while paused")
	s.pass(5 * time.Second)
	s.rejected("busy")
}

func (s *stage) control(what, payload string) {
	s.t.Helper()
	s.arrive(`{"protocol":"mew/v0.4","id":"ctl","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"participant/` + what + `","payload":` + payload + `}`)
}

// What is asked about, and open when we stop, is refused.
func TestStoppingRefusesWhatIsAsked(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", path, "")
	s.question()
	s.do(Stopping{})
	s.rejected("busy")
	if s.idle == 0 {
		t.Error("it does not come to rest")
	}
}

// A proposer that wants to know hears what we make of it; how it stands only
// those who understand that, and only where the owner wants it said.
func TestAProposerHearsHowItStands(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStageWith(t, d, Config{Policy: rules(t, raceRules), ProposalStatus: true})
	s.engine.room.caps, _ = wire.ParseCaps([]byte(`["mcp/*","mcpx.*","proposal-response","proposal-reject","chat"]`))
	propose := func(id, kind, tool, more string) {
		s.arrive(`{"protocol":"mcpx/v0.1","id":"` + id + `","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"` + kind +
			`","payload":{"method":"tools/call","params":{"name":"` + tool + `","arguments":{"path":"/a"}}` + more + `}}`)
	}
	propose("p1", "mcp.proposal.tools/call", "write_file", "")
	q := s.question()
	s.has(s.only(), `"kind":"mcpx.status.proposal"`, `"status":"considering"`, `"correlationId":"p1"`)
	s.answers("alice", q, true, yes)
	s.has(s.frames[0], Approved)
	s.has(s.frames[1], `"status":"processing"`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"content":[]}}`)
	s.frames = nil
	propose("p2", "mcp.proposal.tools/call", "nope", "")
	s.has(strings.Join(s.frames, "\n"), `"status":"unable"`, `"kind":"mcpx.reject.proposal"`)
	s.frames = nil
	propose("p3", "proposal", "nope", `,"request_response":true`)
	s.has(strings.Join(s.frames, "\n"), `"kind":"proposal-response"`, `"status":"reject"`, `"reason":"incapable"`, `"kind":"proposal-reject"`)
	s.frames = nil
	propose("p4", "proposal", "write_file", `,"request_response":true`)
	q = s.question()
	s.has(s.only(), `"kind":"proposal-response"`, `"status":"defer"`)
	s.answers("alice", q, true, yes)
	s.has(s.frames[1], `"kind":"proposal-response"`, `"status":"accept"`)
}

// A reconnect in between loses nothing of a proposal that was agreed to.
func TestAProposalOutlivesTheLink(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", path, "")
	q := s.question()
	s.synced = false
	s.answers("alice", q, true, yes)
	s.do(Unseated{})
	s.frames = nil
	s.do(Synced{Ticket: s.tickets[0]})
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"content":[]}}`)
	s.nothing("without a seat")
	s.seatWith("alice", "bob")
	s.pass(resendAfter) // the answer waits until its request is through
	if len(s.frames) != 2 {
		t.Fatalf("%d frames, want the request and its answer: %q", len(s.frames), s.frames)
	}
	s.has(s.frames[0], `"kind":"mcp/request:tools/call:write_file"`, `"correlation_id":"p1"`)
	s.has(s.frames[1], `"kind":"mcp/response:tools/call:write_file"`, `"to":["bob","fs"]`)
}

// Who proposed it and is gone gets nothing served any more.
func TestAProposerWhoLeavesEndsItsProposal(t *testing.T) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
		s := proposalStage(t, protocol, "fulfil: ask")
		s.proposes("bob", "p1", "fs", "write_file", path, "")
		q := s.question()
		s.do(Arrived{&wire.Envelope{Kind: wire.Presence, From: "system:gateway", Payload: []byte(`{"event":"leave","participant":{"id":"bob"}}`)}})
		s.pass(leaveGrace - time.Millisecond)
		s.nothing("before its leave counts")
		s.pass(time.Millisecond)
		s.answers("alice", q, true, yes)
		if s.asked() != 0 || !s.noted(record.Withdrawn, "proposer_left") {
			t.Errorf("%s: %d calls, notes %+v", protocol, s.asked(), s.notes)
		}
	}
}

// Carol requests what bob has proposed, and takes that back when the server has it. Whatever came of it then, the
// proposal counted as being served for an hour: nobody could request it, and bob not propose the same again.
func TestAProposalEndsWithItsCallAlsoWhereNobodyWaitsForThat(t *testing.T) {
	for what, c := range map[string]struct {
		ends  func(s *stage, call uint64)
		event record.Event
	}{
		"the server answers": {func(s *stage, _ uint64) {
			s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"content":[]}}`)
		}, record.Fulfilled},
		"it answers with an error": {func(s *stage, _ uint64) {
			s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"error":{"code":-32000,"message":"no"}}`)
		}, record.Unfulfilled},
		"its line was not taken":   {func(s *stage, call uint64) { s.do(NotWritten{Call: call, Err: errors.New("full")}) }, record.Reopened},
		"its start is not on disk": {func(s *stage, call uint64) { s.do(Unrecorded{Calls: []uint64{call}, Err: errors.New("full")}) }, record.Reopened},
		"the server went first":    {func(s *stage, _ uint64) { s.do(ServerDown{Cause: "exited", Unsent: 3, Retry: time.Second}) }, record.Reopened},
	} {
		s := proposalStage(t, "mew/v0.4", "fulfil: ask")
		s.proposes("bob", "p1", "fs", "read_file", path, "")
		s.requests("carol", "r1", "p1", "read_file")
		call := s.writes[len(s.writes)-1].Call
		s.takesBack("carol", "c1", "44", "r1")
		c.ends(s, call)
		if !s.noted(c.event, "") {
			t.Errorf("%s: the proposal is not %s", what, c.event)
		}
		s.frames = nil
		if s.proposes("bob", "p2", "fs", "read_file", path, ""); slices.Contains(s.rejects(), "duplicate") {
			t.Errorf("%s: the same is being served still", what)
		}
	}
}

// So did one that we served ourselves, and that the server answered when its time was over.
func TestAProposalThatTheServerAnsweredLateIsServed(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	id := s.lastID()
	s.pass(s.engine.timeout)
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}`)
	s.proposes("bob", "p2", "fs", "read_file", path, "")
	if s.asked() != 2 || !s.noted(record.Fulfilled, "") {
		t.Errorf("%d ran: %q", s.asked(), s.frames)
	}
}
