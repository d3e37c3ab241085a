package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// asksAlice is the fixture of WIRE 11: reads allowed, deletes denied, writes and
// deploys asked of alice.
const asksAlice = `
version: 1
default: deny
asks:
  write:  {of: [alice], within: 60s}
  deploy: {of: [alice], within: 60s, delegate: {to: [carol], depth: 2},
           edit: {modifiedTarget: {arg: /target, title: Target, enum: [production, staging, development]}}}
rules:
  - {name: reads, allow: ["read_*"]}
  - {name: deletes, deny: ["delete_*"]}
  - {name: writes, ask: ["write_*"], as: write}
  - {name: deploys, ask: [deploy], as: deploy}
`

const moreTools = `{"tools":[
 {"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},
 {"name":"write_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path"]}},
 {"name":"deploy","inputSchema":{"type":"object","properties":{"target":{"enum":["production","staging","development"]}},"required":["target"]}}]}`

// everyDialect runs a test once per dialect, with a stage on which alice, bob,
// carol and mallory are present.
func everyDialect(t *testing.T, rulesText string, test func(s *stage)) {
	for _, d := range wire.Dialects {
		t.Run(strings.ReplaceAll(d.Protocol, "/", "_"), func(t *testing.T) { test(askingStage(t, d, rulesText)) })
	}
}

func askingStage(t *testing.T, d wire.Dialect, rulesText string) *stage {
	return askingStageWith(t, d, Config{Policy: rules(t, rulesText), Local: strings.Contains(rulesText, "local")})
}

func askingStageWith(t *testing.T, d wire.Dialect, c Config) *stage {
	c.TrustUnverified = true
	s := stageWith(t, d, c)
	s.seatWith("alice", "bob", "carol", "mallory")
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.answerListing(moreTools)
	s.frames, s.lines, s.notes = nil, nil, nil
	return s
}

// says puts a frame of a participant to us on the stage, in its dialect.
func (s *stage) says(from, env string, kind wire.Kind, method, key, corr, payload string) {
	s.t.Helper()
	e := &wire.Envelope{ID: env, TS: "2026-01-01T00:00:00Z", From: from, To: []string{"fs"}, Kind: kind, Method: method, Key: key, Payload: []byte(payload)}
	if corr != "" {
		e.Corr = []string{corr}
	}
	frame, err := s.dialect.Append(nil, e, wire.Caps{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.arrive(string(frame))
}

func (s *stage) asksFor(from, env, id, tool, arguments, meta string) {
	s.t.Helper()
	s.says(from, env, wire.Request, "tools/call", tool, "",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":%q,"arguments":%s}}`, id, meta, tool, arguments))
}

// write is bob's call of the fixture.
func (s *stage) write() {
	s.t.Helper()
	s.asksFor("bob", "e7", "7", "write_file", `{"path":"/a","text":"x"}`, "")
}

// An ask is an elicitation as it went out.
type ask struct {
	env    string
	id     string
	to     string
	params string
	frame  string
}

// question is the one elicitation sent since the last look.
func (s *stage) question() ask {
	s.t.Helper()
	a, ok := s.maybeQuestion()
	if !ok {
		s.t.Fatalf("no elicitation was sent: %q", s.frames)
	}
	return a
}

func (s *stage) maybeQuestion() (a ask, ok bool) {
	s.t.Helper()
	for i, f := range s.frames {
		env, err := s.dialect.Decode([]byte(f))
		if err != nil {
			s.t.Fatal(err)
		}
		if env.Method == elicitation && env.Kind == wire.Request {
			s.frames = append(s.frames[:i:i], s.frames[i+1:]...)
			return ask{env.ID, string(env.Message.Get(jsonrpc.ID)), env.To[0], string(env.Message.Get(jsonrpc.Params)), f}, true
		}
	}
	return a, false
}

func (s *stage) answers(from string, a ask, corr bool, result string) {
	s.t.Helper()
	link := ""
	if corr {
		link = a.env
	}
	s.says(from, fmt.Sprint("a", len(s.notes), from, len(s.lines)), wire.Response, elicitation, "", link,
		`{"jsonrpc":"2.0","id":`+a.id+`,"result":`+result+`}`)
}

// takesBack cancels what a participant asked for under an id; env: which of it.
func (s *stage) takesBack(from, envelope, id, env string) {
	s.t.Helper()
	s.says(from, envelope, wire.Notification, "notifications/cancelled", "", env,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
}

const yes = `{"action":"accept","content":{"approve":true,"reason":"ok"}}`

// crossed checks that the call reached the server exactly once with these
// arguments, and answers it.
func (s *stage) crossed(arguments string) {
	s.t.Helper()
	if n := s.asked(); n != 1 {
		s.t.Fatalf("the call reached the server %d times", n)
	}
	s.has(s.lines[len(s.lines)-1], `"arguments":`+arguments)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"content":[]}}`)
}

func (s *stage) refused(code int, parts ...string) {
	s.t.Helper()
	if s.asked() != 0 {
		s.t.Fatal("the call reached the server")
	}
	for _, f := range s.frames {
		if strings.Contains(f, `"to":["bob"]`) {
			s.has(f, append(parts, fmt.Sprintf(`"code":%d`, code), `"executed":"no"`)...)
			s.frames = nil
			return
		}
	}
	s.t.Fatalf("bob has no answer: %q", s.frames)
}

func TestO39TheQuestionIsTheSeedsAndNothingRunsYet(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.write()
		a := s.question()
		s.has(a.params, `"elicitationType":"tool_approval"`, `"timeout":60`, `"from":"bob"`, `"tool":"write_file"`,
			`"arguments":{"path":"/a","text":"x"}`, `"requestId":7`, `"envelopeId":"e7"`, `"required":["approve"]`, `"mcpx/approval"`)
		if a.to != "alice" || strings.Contains(a.frame, "correlation_id") {
			t.Errorf("the question is %s", a.frame)
		}
		if s.asked() != 0 || len(s.frames) != 0 {
			t.Errorf("something else happened: %q %q", s.lines, s.frames)
		}
	})
}

func TestO40O41AYesRunsTheCallOnce(t *testing.T) {
	for _, corr := range []bool{true, false} {
		everyDialect(t, asksAlice, func(s *stage) {
			s.write()
			a := s.question()
			s.answers("alice", a, corr, yes)
			if !corr && s.dialect.MustLink() { // apr-006
				if s.asked() != 0 {
					t.Error("an answer that names no envelope counted")
				}
				return
			}
			s.crossed(`{"path":"/a","text":"x"}`)
			s.has(s.only(), `"id":7`, `"result":{"content":[]}`, `e7`)
			s.answers("alice", a, corr, yes)
			if s.asked() != 1 {
				t.Error("O49: a second yes ran it again")
			}
		})
	}
}

func TestO42ToO45EverythingElseIsANo(t *testing.T) {
	words := map[string]string{"declined": "was declined by alice", "cancelled": "was put to alice, who did not decide",
		"invalid_answer": "was not approved: the answer of alice is no clear yes"}
	for result, reason := range map[string]string{
		`{"action":"accept","content":{"approve":false}}`:  "declined",
		`{"action":"decline","content":{"approve":true}}`:  "declined",
		`{"action":"cancel"}`:                              "cancelled",
		`{"action":"cancel","content":{"approve":true}}`:   "cancelled",
		`{"action":"accept"}`:                              "invalid_answer",
		`{"action":"accept","content":{"approve":"true"}}`: "invalid_answer",
		`{"action":"accept","content":{"approve":1}}`:      "invalid_answer",
		`{"action":"accept","content":{}}`:                 "invalid_answer",
		`{"action":"ACCEPT","content":{"approve":true}}`:   "invalid_answer",
		`{"content":{"approve":true}}`:                     "invalid_answer",
		`[]`:                                               "invalid_answer",
		`"accept"`:                                         "invalid_answer",
	} {
		everyDialect(t, asksAlice, func(s *stage) {
			s.write()
			s.answers("alice", s.question(), true, result)
			s.refused(-31001, `"reason":"`+reason+`"`, "the call of write_file "+words[reason])
		})
	}
}

func TestO46O47OnlyTheOneWhoWasAskedAnswers(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.write()
		a := s.question()
		for _, from := range []string{"mallory", "bob", "carol"} {
			s.answers(from, a, true, yes)
			s.nothing(from + " is nobody to answer")
		}
		if s.asked() != 0 || !s.noted(record.ForeignAnswer, "wrong_sender") {
			t.Errorf("notes: %+v", s.notes)
		}
		s.answers("alice", a, true, yes)
		s.crossed(`{"path":"/a","text":"x"}`)
	})
}

func TestO48NobodyDecidingIsANoOfItsOwn(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.write()
		a := s.question()
		s.pass(60 * time.Second)
		withdrawn := false
		for _, f := range s.frames {
			withdrawn = withdrawn || strings.Contains(f, "notifications/cancelled") && strings.Contains(f, a.id) && strings.Contains(f, `"to":["alice"]`)
		}
		if !withdrawn {
			t.Errorf("alice's question is still open: %q", s.frames)
		}
		s.refused(-31002)
		s.answers("alice", a, true, yes)
		if s.asked() != 0 || !s.noted(record.LateAnswer, "expired") {
			t.Errorf("a late yes: %q, %+v", s.lines, s.notes)
		}
	})
}

func TestO50AnApproverWhoCannotAnswerIsNoApprover(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.write()
		a := s.question()
		s.says("alice", "x", wire.Response, elicitation, "", a.env, `{"jsonrpc":"2.0","id":`+a.id+`,"error":{"code":-32601,"message":"no"}}`)
		s.refused(-31003, `"tool":"write_file"`)
	})
}

func TestO51NobodyThereIsSaidAtOnce(t *testing.T) {
	everyDialect(t, strings.ReplaceAll(asksAlice, "alice", "zoe"), func(s *stage) {
		s.write()
		if _, asked := s.maybeQuestion(); asked {
			t.Fatal("somebody absent was asked")
		}
		s.refused(-31003, `"requester":"bob"`)
	})
}

func TestO53ACallerWhoCancelsHasNoAnswerAndNothingRuns(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.write()
		a := s.question()
		s.says("bob", "c1", wire.Notification, "notifications/cancelled", "", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		s.has(s.only(), `"to":["alice"]`, "notifications/cancelled", a.id)
		s.answers("alice", a, true, yes)
		s.nothing("the caller cancelled")
		if s.asked() != 0 {
			t.Error("it ran")
		}
	})
}

func TestO54O55ProgressWhilePeopleDecide(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.asksFor("bob", "e7", "7", "write_file", `{"path":"/a"}`, `"_meta":{"progressToken":5},`)
		a := s.question()
		s.has(s.only(), `"to":["bob"]`, `"progressToken":5`, `"progress":0.000000001`, "waiting for approval")
		s.pass(15 * time.Second)
		f := s.only()
		s.has(f, `"progress":0.000000002`)
		if strings.Contains(f, "correlation_id") {
			t.Error("a progress frame is correlated")
		}
		s.answers("alice", a, true, yes)
		s.has(s.only(), `"progress":0.000000003`, `"message":"allowed by alice: ok"`)
		s.said(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + s.lastID() + `,"progress":0.5}}`)
		s.has(s.only(), `"progress":0.5`)
		s.pass(time.Second)
		s.said(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + s.lastID() + `,"progress":1,"total":3}}`)
		s.has(s.only(), `"progress":1,"total":3`)
		s.pass(15 * time.Second)
		s.nothing("the call has started")
	})
}

func TestO56ToO58ParameterEdits(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.asksFor("bob", "e7", "7", "deploy", `{"target":"production"}`, "")
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"staging","evil":1}}`)
		s.crossed(`{"target":"staging"}`)
		if r := s.decided(); r.Digest == "" || r.Ran == "" || r.Ran == r.Digest || string(r.Args) != `{"target":"staging"}` {
			t.Errorf("on record as %s", r.JSON())
		}
		s.has(s.only(), `"_meta":{"mcpx/approval":{`, `"modified":["/target"]`)
	})
	everyDialect(t, asksAlice, func(s *stage) {
		s.asksFor("bob", "e7", "7", "deploy", `{"target":"production"}`, "")
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"mars"}}`)
		s.refused(-31001, `"reason":"invalid_modification"`)
	})
	everyDialect(t, asksAlice+"  - {name: no-staging, deny: [deploy], args: {target: {is: staging}}}\n", func(s *stage) {
		s.asksFor("bob", "e7", "7", "deploy", `{"target":"production"}`, "")
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"staging"}}`)
		s.refused(-31001, `"reason":"invalid_modification"`)
	})
}

// An agreed call has its place in a limit already, and does not stand in its own
// way; the next one finds the place taken, until a call that did not run gives
// it back.
func TestALimitCountsAnAgreedCallOnce(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	limited := strings.Replace(asksAlice, `ask: ["write_*"], as: write`, `ask: ["write_*"], as: write, limit: {count: 1/day, per: caller, over: deny}`, 1)
	s := askingStage(t, d, limited)
	s.write()
	s.answers("alice", s.question(), true, `{"action":"decline"}`)
	s.refused(-31001)
	s.asksFor("bob", "e8", "8", "write_file", `{"path":"/a","text":"x"}`, "")
	s.answers("alice", s.question(), true, yes)
	s.crossed(`{"path":"/a","text":"x"}`)
	s.frames, s.lines = nil, nil
	s.asksFor("bob", "e9", "9", "write_file", `{"path":"/b"}`, "")
	s.refused(-31004)
}

// "Nobody can be asked" was said where one was here, of two who must agree.
func TestWhoIsHereIsSaidWhereTooFewAre(t *testing.T) {
	two := strings.Replace(asksAlice, "{of: [alice], within: 60s}", "{of: [alice, carol, dave], need: 2, within: 60s}", 1)
	everyDialect(t, two, func(s *stage) {
		s.leaves("carol")
		s.frames = nil
		s.write()
		s.refused(-31003, `"message":"2 must agree about write_file, and only alice is here; carol and dave are away"`)
		s.leaves("alice")
		s.frames = nil
		s.asksFor("bob", "e8", "8", "write_file", `{"path":"/a","text":"x"}`, "")
		s.refused(-31003, `"message":"nobody who may decide about write_file can be asked now"`)
	})
}

// What is missing was said with the place of the whole, a pointer of no steps.
func TestWhatIsMissingFromArgumentsIsNamed(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.asksFor("bob", "e8", "8", "write_file", `{}`, "")
		s.refused(-32602, `"message":"the arguments of write_file are not as its schema has them: property path is missing"`)
	})
}

// An edit may not lead to where others would have been asked.
func TestAnEditDoesNotReachWhatStricterTermsGuard(t *testing.T) {
	two := strings.Replace(asksAlice, "asks:\n", "asks:\n  two: {of: [alice, carol], need: 2, within: 60s}\n", 1)
	everyDialect(t, two+"  - {name: guarded, ask: [deploy], as: two, args: {target: {is: development}}}\n", func(s *stage) {
		s.asksFor("bob", "e7", "7", "deploy", `{"target":"production"}`, "")
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"development"}}`)
		s.refused(-31001, `"reason":"invalid_modification"`)
	})
}

func TestO59O60Delegation(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.asksFor("bob", "e7", "7", "deploy", `{"target":"production"}`, "")
		s.pass(30 * time.Second)
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"delegate","delegateTo":"carol"}}`)
		a := s.question()
		if a.to != "carol" {
			t.Fatalf("asked %s", a.to)
		}
		s.has(a.params, `"delegation":[{"by":"alice","to":"carol"`)
		s.answers("carol", a, true, `{"action":"accept","content":{"action":"approve"}}`)
		s.crossed(`{"target":"production"}`)
	})
	for _, to := range []string{"bob", "alice", "nobody", "fs"} {
		everyDialect(t, asksAlice, func(s *stage) {
			s.asksFor("bob", "e7", "7", "deploy", `{"target":"production"}`, "")
			delegate := `{"action":"accept","content":{"action":"delegate","delegateTo":"` + to + `"}}`
			s.answers("alice", s.question(), true, delegate)
			again := s.question()
			if again.to != "alice" {
				t.Fatalf("asked %s", again.to)
			}
			s.answers("alice", again, true, delegate)
			s.refused(-31001, `"reason":"invalid_delegation"`)
		})
	}
}

func TestO61AfterAReconnectTheQuestionIsPutAgain(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.write()
		old := s.question()
		s.do(Unseated{errors.New("cut")})
		s.pass(20 * time.Second)
		s.seatWith("alice", "bob")
		again := s.question()
		if again.env == old.env || again.id == old.id {
			t.Error("the ids are the old ones")
		}
		s.answers("alice", again, true, yes)
		s.crossed(`{"path":"/a","text":"x"}`)
		s.frames = nil
		s.answers("alice", old, true, yes)
		if s.asked() != 1 {
			t.Error("both answers ran it")
		}
	})
}

func TestAnOutageOfAllEndsNoQuestion(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.write()
		s.question()
		s.do(Unseated{errors.New("the gateway was started again")})
		s.seatWith() // we are the first to be back
		s.pass(leaveGrace / 2)
		s.frames = nil // what was put to alice in vain
		s.seatWith("alice", "bob")
		s.answers("alice", s.question(), true, yes)
		s.crossed(`{"path":"/a","text":"x"}`)
	})
}

func TestO62WhoMayNotAskHasNoApprover(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	caps, err := wire.ParseCaps([]byte(`["mcp/response:*","chat"]`))
	if err != nil {
		t.Fatal(err)
	}
	s.do(Seated{d, wire.Welcome{You: wire.Participant{ID: "fs", Caps: caps}, Peers: []wire.Participant{{ID: "alice"}, {ID: "bob"}}}})
	s.write()
	s.has(strings.Join(s.frames, ""), "mcp/response:tools/call:write_file")
	if strings.Contains(strings.Join(s.frames, ""), "mcp/request") {
		t.Error("a request was sent without leave")
	}
	s.refused(-31003)
}

func TestO64WhereSendersAreNotVerifiedNobodyIsBelievedUnasked(t *testing.T) {
	d, _ := wire.Lookup("mew/v0.4")
	s := stageWith(t, d, Config{Policy: rules(t, asksAlice)})
	s.seatWith("alice", "bob")
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.answerListing(moreTools)
	s.frames, s.lines = nil, nil
	s.write()
	s.refused(-31003)
}

func TestAnApproverWhoLeavesIsNotWaitedFor(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.write()
	s.question()
	s.arrive(`{"protocol":"mcpx/v0.1","id":"l","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"leave","participant":{"id":"alice","capabilities":[]}}}`)
	s.pass(leaveGrace - time.Second)
	s.nothing("the grace is not over")
	s.pass(time.Second)
	s.refused(-31003)
}

func TestAI13WithoutARecordOnDiskNothingRuns(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.synced = false
	s.write()
	s.answers("alice", s.question(), true, yes)
	if s.asked() != 0 || len(s.tickets) != 1 {
		t.Fatalf("the call ran before its record was on disk: %q", s.lines)
	}
	s.do(Synced{s.tickets[0], errors.New("no space left on device")})
	s.refused(-31009)
}

func TestACallCancelledWhileItsRecordIsWrittenDoesNotRun(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.synced = false
	s.write()
	s.answers("alice", s.question(), true, yes)
	s.cancel("bob", "c1", "7")
	s.frames = nil
	s.do(Synced{Ticket: s.tickets[0]})
	s.nothing("it was cancelled")
	if s.asked() != 0 {
		t.Error("it ran")
	}
}

func TestGivingUpAnswersACallWhoseRecordIsStillBeingWritten(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.synced = false
	s.write()
	s.answers("alice", s.question(), true, yes)
	s.do(Stopping{})
	s.do(GivingUp{})
	s.refused(-31006)
	s.do(Synced{Ticket: s.tickets[0]})
	if s.asked() != 0 || s.idle == 0 {
		t.Error("it ran, or we never rest")
	}
}

func TestAI10AnAgreementThatComesToNothingInTimeLapses(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.synced = false
	s.write()
	s.answers("alice", s.question(), true, yes)
	s.pass(31 * time.Second)
	s.do(Synced{Ticket: s.tickets[0]})
	s.refused(-31002)
}

func TestAI09AToolThatChangedSinceItWasAskedForDoesNotRun(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.write()
	a := s.question()
	s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	s.answerListing(strings.Replace(moreTools, `"name":"write_file",`, `"name":"write_file","description":"now it sends it elsewhere too",`, 1))
	s.refused(-31011)
	s.answers("alice", a, true, yes)
	if s.asked() != 0 {
		t.Error("it ran all the same")
	}
}

func TestAnApprovedCallWaitsForAServerThatIsComingBack(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	for _, back := range []bool{true, false} {
		s := askingStage(t, d, asksAlice)
		s.write()
		a := s.question()
		s.do(ServerDown{Cause: "crashed", Retry: time.Second})
		s.answers("alice", a, true, yes)
		s.nothing("the server may come back")
		if !back {
			s.pass(31 * time.Second)
			s.refused(-31007)
			continue
		}
		s.do(ServerUp{Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{}`)}})
		s.answerListing(moreTools)
		s.crossed(`{"path":"/a","text":"x"}`)
	}
}

func TestAI14TheStricterPolicyHolds(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.write()
	a := s.question()
	s.do(Reloaded{rules(t, "version: 1\ndefault: deny\n")})
	s.refused(-31004)
	s.answers("alice", a, true, yes)
	if s.asked() != 0 {
		t.Error("a call ran that the policy denies by now")
	}
	s = askingStage(t, d, asksAlice)
	s.write()
	s.question()
	s.do(Reloaded{rules(t, "version: 1\ndefault: allow\n")})
	if s.asked() != 0 {
		t.Error("a looser policy answered the question")
	}
}

func TestStoppingEndsQuestions(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.write()
	s.question()
	s.do(Stopping{})
	if s.idle == 0 {
		t.Error("not idle")
	}
	s.refused(-31006)
}

func TestThePersonAtThisMachineDecides(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, "version: 1\ndefault: ask\n")
	s.engine.desk.SetHere(approval.Who{Door: approval.Local}, true)
	s.write()
	s.nothing("nobody at the topic is asked")
	if len(s.shown) != 1 {
		t.Fatalf("shown %+v", s.shown)
	}
	v, ok := s.engine.View(s.now, s.shown[0].ID, true)
	if !ok {
		t.Fatal("the question cannot be seen")
	}
	s.do(Decided{approval.Answer{Who: approval.Who{Door: approval.Local}, Question: v.ID, Digest: "00000000", Result: []byte(yes)}})
	if s.asked() != 0 {
		t.Fatal("AI-23: a decision about something else than what was shown counted")
	}
	s.do(Decided{approval.Answer{Who: approval.Who{Door: approval.Local}, Question: v.ID, Digest: v.Digest, Result: []byte(yes)}})
	s.crossed(`{"path":"/a","text":"x"}`)
	if len(s.hidden) != 1 {
		t.Errorf("hidden %+v", s.hidden)
	}
}

func TestWhenTheAuditCannotBeWrittenNothingNewRuns(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.asksFor("bob", "r1", "1", "read_file", `{"path":"a"}`, "")
	n := s.writes[len(s.writes)-1].Call
	s.do(Unrecorded{Calls: []uint64{n}, Err: errors.New("disk full")})
	s.has(s.only(), `"code":-31009`, `"executed":"no"`)
	s.asksFor("bob", "r2", "2", "read_file", `{"path":"a"}`, "")
	s.has(s.only(), `"code":-31009`)
	s.do(AuditUp{})
	s.asksFor("bob", "r3", "3", "read_file", `{"path":"a"}`, "")
	if len(s.frames) != 0 || s.asked() != 2 {
		t.Errorf("no call runs though records can be written again: %q", s.frames)
	}
}

func TestACallOfAnEarlierRunIsNotRunAgain(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := stageWith(t, d, Config{Policy: rules(t, allowsSome), Seen: []Seen{{From: "bob", Env: "e1", At: now.Add(-time.Minute)}}})
	s.seat()
	s.startServer()
	s.frames, s.lines = nil, nil
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	if s.asked() != 0 {
		t.Error("it ran again")
	}
	s.call("bob", "e2", "1", "read_file", `{"path":"a"}`)
	if s.asked() != 1 {
		t.Error("another call does not run")
	}
}

// What is on record of requests is enough for the next run to tell one that
// comes again from another in its envelope; whether it ran, was asked about or
// was refused.
func TestABodyIsKnownAgainFromTheRecord(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	key := [32]byte{1, 2, 3}
	calls := map[string][2]string{"read_file": {"decided", "e1"}, "write_file": {"asked", "e2"}, "nonesuch": {"ended", "e3"}}
	for tool, c := range calls {
		first := stageWith(t, d, Config{Policy: rules(t, asksAlice), DigestKey: key})
		first.seatWith("alice", "bob")
		first.startServer()
		first.asksFor("bob", c[1], "1", tool, `{"path":"a"}`, "")
		var r record.Record
		if err := json.Unmarshal([]byte(first.recorded(record.Event(c[0]))), &r); err != nil || r.Body == "" {
			t.Errorf("%s: there is no body in %s (%v)", tool, first.recorded(record.Event(c[0])), err)
		}
		for args, reason := range map[string]string{`{"path":"a"}`: "duplicate_envelope", `{"path":"b"}`: "duplicate_id_different_body"} {
			next := stageWith(t, d, Config{Policy: rules(t, asksAlice), DigestKey: key, Seen: []Seen{{"bob", c[1], first.now, r.Body}}})
			next.seatWith("alice", "bob")
			next.startServer()
			next.asksFor("bob", c[1], "1", tool, args, "")
			if !next.noted(record.Dropped, reason) || next.asked() != 0 {
				t.Errorf("%s %s is not %s: %+v", tool, args, reason, next.notes)
			}
		}
	}
}

// Whatever leads there, what nobody has agreed to is not given to the server.
func TestWhatNobodyHasAgreedToDoesNotStart(t *testing.T) {
	s := askingStage(t, lookup(t, "mcpx/v0.1"), "version: 1\ndefault: ask\nasks: {default: {of: [alice]}}\n")
	s.write()
	tried, before := 0, s.engine.server.lines
	for _, c := range s.engine.calls.Asked {
		tried++
		s.engine.start(c)
	}
	if lines := s.engine.server.lines - before; tried != 1 || lines != 0 {
		t.Errorf("of %d calls that people are asked about %d were given to the server", tried, lines)
	}
}

// People take longer than a request is remembered, its caller has filled its share since, and the gateway
// delivers it once more. It is open still: to refuse it would say that it does not run (seed 3000780).
func TestWhatIsOpenIsNotRefusedForAFullShare(t *testing.T) {
	for _, fill := range []bool{false, true} {
		s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, "version: 1\ndefault: ask\nasks: {default: {of: [alice], within: 1h}}\n"), Share: 2})
		s.seatWith("alice", "bob")
		s.startServer()
		s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
		s.pass(20 * time.Minute)
		for i := range 2 {
			if fill {
				s.call("bob", "other"+strconv.Itoa(i), "1", "read_file", `{"path":"a"}`)
			}
		}
		s.frames = nil
		s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
		if len(s.frames) != 0 || !s.noted(record.Dropped, "duplicate_envelope") {
			t.Errorf("its caller's share is full: %t, and it was told %q", fill, s.frames)
		}
	}
}
