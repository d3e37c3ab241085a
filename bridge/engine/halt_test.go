package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func (s *stage) halt() {
	s.t.Helper()
	s.do(Halt{By: "local", Why: "the agents have gone mad"})
	s.toldAll(`"halted":true,"by":"local","reason":"the agents have gone mad"`)
}

// toldAll checks that all in the topic were told this, once, and forgets it.
func (s *stage) toldAll(part string) {
	s.t.Helper()
	told := 0
	s.frames = slices.DeleteFunc(s.frames, func(f string) bool {
		is := strings.Contains(f, Halting)
		if is && !strings.Contains(f, `"to":`) && strings.Contains(f, part) {
			told++
		}
		return is
	})
	if told != 1 && s.engine.room.seated {
		s.t.Errorf("%s was told %d times", part, told)
	}
}

func (s *stage) resumes() {
	s.t.Helper()
	s.do(Resume{By: "local", Why: "all is well"})
	if s.engine.Halted() != nil {
		s.t.Fatal("it is halted still")
	}
	s.toldAll(`"halted":false`)
}

// refusedAsHalted checks that bob, and nobody else, was told, and forgets it.
func (s *stage) refusedAsHalted() {
	s.t.Helper()
	s.has(s.only(), `"to":["bob"]`, `"code":-31015`, `"reason":"halted"`, `"executed":"no"`, `"retryable":true`, `"by":"local"`, `"say":"the agents have gone mad"`,
		"the bridge is halted, and starts nothing until it goes on")
}

func TestNothingStartsWhileHalted(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.halt()
		s.has(s.recorded(record.Halted), `"by":["local"]`, `"detail":"the agents have gone mad"`)
		s.asksFor("bob", "e1", "1", "read_file", path, "") // which a rule allows
		s.refusedAsHalted()
		s.asksFor("bob", "e2", "2", "write_file", path, "") // which people are asked about
		s.refusedAsHalted()
		s.says("bob", "e3", wire.Request, "tools/list", "", "", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
		s.refusedAsHalted()
		s.says("bob", "e4", wire.Request, "ping", "", "", `{"jsonrpc":"2.0","id":4,"method":"ping"}`) // which needs no server
		s.has(s.only(), `"result":{}`)
		if len(s.lines) > 0 {
			t.Fatalf("the server got %q", s.lines)
		}
		s.resumes()
		s.has(s.recorded(record.Resumed), `"by":["local"]`, `"detail":"all is well"`)
		s.has(s.only(), "notifications/tools/list_changed")
		s.asksFor("bob", "e5", "5", "read_file", path, "")
		s.crossed(path)
	})
}

// What a rule denies, or nobody offers, is told as ever: to come again after the halt is no use.
func TestAHaltHidesNoDenial(t *testing.T) {
	everyDialect(t, "version: 1\ndefault: deny\nrules: [{name: reads, allow: [read_file]}]\n", func(s *stage) {
		s.halt()
		s.asksFor("bob", "e1", "1", "write_file", path, "")
		s.has(s.only(), `"code":-31004`, `"retryable":false`)
		s.asksFor("bob", "e2", "2", "no_such_tool", `{}`, "")
		s.has(s.only(), `"code":-32602`)
		s.asksFor("bob", "e3", "3", "read_file", path, "")
		s.refusedAsHalted()
		s.do(ServerDown{Reason: "child_exit", Cause: "exited", Retry: time.Second})
		s.asksFor("bob", "e4", "4", "write_file", path, "") // which nobody can judge then
		s.refusedAsHalted()
	})
}

func TestAHaltHidesNoDenialOfAProposal(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.halt()
	s.arrive(mewHead + `"id":"p1","from":"bob","kind":"mcp/proposal","payload":{"method":"resources/read","params":{"uri":"file:///a"}}}`)
	s.rejected("policy")
}

// Somebody agreed, and the call was on its way: it does not start, and not after the halt either.
func TestWhatWasAgreedToAndHasNotStartedNeverStarts(t *testing.T) {
	waits := map[string]func(s *stage){
		"for the disk":   func(s *stage) { s.synced = false },
		"for the server": func(s *stage) { s.failStart(time.Second) },
		"for its tools":  func(s *stage) { s.engine.server.hello.Modern = true },
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			d, _ := wire.Lookup("mcpx/v0.1")
			s := askingStage(t, d, asksAlice)
			s.write()
			q := s.question()
			wait(s)
			s.answers("alice", q, true, yes)
			if s.asked() != 0 {
				t.Fatal("it does not wait")
			}
			s.frames = nil
			s.halt()
			s.refusedAsHalted()
			if s.synced = true; len(s.tickets) > 0 {
				s.do(Synced{Ticket: s.tickets[0]})
			}
			s.resumes()
			s.do(ServerUp{Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{}`)}})
			s.answerListing(moreTools)
			s.pass(time.Hour)
			if s.asked() != 0 {
				t.Errorf("it started after the halt: %q", s.lines)
			}
			if line := s.recorded(record.Ended); !strings.Contains(line, `"reason":"halted"`) {
				t.Errorf("on record: %s", line)
			}
		})
	}
}

func TestAQuestionGoesOnAfterAHalt(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.write()
		before := s.question()
		s.pass(20 * time.Second)
		s.frames = nil
		s.halt()
		s.has(s.only(), "notifications/cancelled", strings.Trim(before.id, `"`), `"to":["alice"]`,
			"the bridge is halted, and starts nothing until it goes on; the person at the bridge says: the agents have gone mad")
		s.answers("alice", before, true, yes)
		s.pass(time.Hour)
		if !s.noted(record.LateAnswer, "halted") || s.asked() != 0 || s.open() != 1 {
			t.Fatalf("a yes while halted: %v", s.notes)
		}
		s.nothing("while halted")
		s.resumes()
		q := s.question()
		s.has(q.params, `"timeout":40`)
		s.answers("alice", before, true, yes) // of before it was taken away
		if s.asked() != 0 {
			t.Fatal("an answer to what was taken away counts")
		}
		s.answers("alice", q, true, yes)
		s.crossed(`{"path":"/a","text":"x"}`)
	})
}

// Whoever waits hears at once that no time passes, and when it does again.
func TestWhoWaitsHearsOfTheHalt(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.asksFor("bob", "e7", "7", "write_file", path, `"_meta":{"progressToken":"t"},`)
	toBob := func() string {
		t.Helper()
		for _, f := range s.frames {
			if strings.Contains(f, "notifications/progress") {
				s.frames = nil
				return f
			}
		}
		t.Fatalf("bob hears nothing: %q", s.frames)
		return ""
	}
	s.has(toBob(), "waiting for approval by alice until 00:01:00 UTC", `"left_ms":60000`)
	s.pass(10 * time.Second)
	s.halt()
	s.has(toBob(), "waiting for approval by alice [", "]; the bridge is halted, and no time passes until it goes on", `"halted":true,"left_ms":50000`)
	s.pass(time.Hour)
	s.has(toBob(), `"left_ms":50000`)
	s.resumes()
	s.has(toBob(), "waiting for approval by alice until 01:01:00 UTC", `"left_ms":50000`)
}

func TestProposalsAreTurnedDownWhileHalted(t *testing.T) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
		s := proposalStage(t, protocol, "fulfil: policy")
		s.halt()
		s.proposes("bob", "p1", "fs", "read_file", path, "")
		s.rejected("busy")
		s.resumes()
		s.proposes("bob", "p2", "fs", "read_file", path, "")
		if s.asked() != 1 {
			t.Errorf("%s: after the halt %d run", protocol, s.asked())
		}
	}
}

// Everybody has seen that we would serve a proposal, and nobody knows yet who comes first.
func TestAClaimIsGivenUpWhenTheHaltComes(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", forAll)
	s.offersRead("p1", "", "")
	ours := s.claim("p1")
	s.halt()
	s.rejected("busy")
	s.resumes()
	s.echo(ours)
	s.pass(time.Hour)
	if s.asked() != 0 {
		t.Error("it ran")
	}
}

// A proposal runs out as its proposer has it, who does not know of the halt.
func TestAHaltDoesNotProlongAProposal(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", path, `,"ttl":30`)
	s.question()
	s.halt()
	s.pass(time.Minute)
	if s.open() != 0 || !s.noted(record.Expired, "ttl") {
		t.Errorf("%d are open: %v", s.open(), s.notes)
	}
}

func TestWhatWaitsForTheFirstStartIsRefusedWhenTheHaltComes(t *testing.T) {
	s := startingStage(t)
	s.call("bob", "e1", "1", "read_file", path)
	s.says("carol", "e2", wire.Request, "initialize", "", "", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)
	s.frames = nil
	s.halt()
	s.refusedAsHalted()
	s.call("bob", "e3", "3", "read_file", path)
	s.refusedAsHalted()
	s.startServer()
	if frames := strings.Join(s.frames, "\n"); !strings.Contains(frames, `"serverInfo"`) || s.asked() != 0 {
		t.Errorf("the start came to %s", frames)
	}
}

// What the server has goes on, and its caller hears how it ends; unless that is to end too.
func TestWhatRunsGoesOnUnlessItIsToEnd(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", path)
	id := s.lastID()
	s.halt()
	s.nothing("of what runs")
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}`)
	s.has(s.only(), `"id":1`, `"result"`)
	s.resumes()
	s.call("bob", "e2", "2", "read_file", path)
	s.halt()
	s.frames = nil
	s.do(Halt{By: "local", Cancel: true}) // which was halted already
	s.has(s.only(), `"id":2`, `"code":-31015`, `"executed":"unknown"`, `"retryable":false`, "told the server to end it")
	s.has(s.lines[len(s.lines)-1], "notifications/cancelled")
	if n := s.eventsOf(record.Halted); n != 2 {
		t.Errorf("%d halts are on record, not two", n)
	}
	if h := s.engine.Halted(); h == nil || h.Why != "the agents have gone mad" {
		t.Errorf("it is halted as %+v", h)
	}
}

// A bridge that was stopped while halted says so before all else.
func TestABridgeThatStartsIsHaltedFromItsFirstMoment(t *testing.T) {
	since := time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, allowsSome), Halted: &Halted{By: "local", Why: "since yesterday", Since: since}})
	s.seat()
	s.toldAll("since yesterday")
	if s.notes[0].Event != record.Halted {
		t.Errorf("the first that is on record is %+v", s.notes[0])
	}
	s.frames = nil
	s.call("bob", "e1", "1", "read_file", path)
	s.has(s.only(), `"code":-31015`, "since yesterday")
	s.startServer()
	if s.has(s.recorded(record.Halted), `"reason":"restarted"`); s.asked() != 0 || !s.engine.Halted().Since.Equal(since) {
		t.Errorf("%d run, halted since %s", s.asked(), s.engine.Halted().Since)
	}
}

// That it goes on takes effect when it is on disk, and not otherwise.
func TestNothingStartsBeforeItIsOnRecordThatTheBridgeGoesOn(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.halt()
	s.synced = false
	resumed := func(err error) (at []error) {
		for _, f := range s.engine.Step(s.now, Synced{Ticket: s.tickets[len(s.tickets)-1], Err: err}) {
			if r, is := f.(Resumed); is {
				at = append(at, r.Err)
			}
		}
		return at
	}
	full := errors.New("no space left on device")
	for _, err := range []error{full, nil} {
		s.frames = nil
		s.do(Resume{By: "local"})
		s.call("bob", "e"+s.now.String(), "1", "read_file", path)
		s.refusedAsHalted()
		if told := resumed(err); len(told) != 1 || told[0] != err {
			t.Fatalf("told %v, want %v", told, err)
		}
		if (s.engine.Halted() == nil) != (err == nil) {
			t.Fatalf("after %v it is halted: %v", err, s.engine.Halted())
		}
		s.now = s.now.Add(time.Second)
	}
}

// Somebody halts while another's word that it goes on is on its way to the disk.
func TestAHaltBeatsAResume(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.halt()
	s.synced = false
	s.do(Resume{By: "local"})
	goesOn := s.tickets[len(s.tickets)-1]
	told := 0
	for _, f := range s.engine.Step(s.now, Halt{By: "local", Why: "no"}) {
		if r, is := f.(Resumed); is && r.Err != nil {
			told++
		}
	}
	s.do(Synced{Ticket: goesOn})
	if told != 1 {
		t.Errorf("whoever waits for the other was told %d times", told)
	}
	if h := s.engine.Halted(); h == nil || h.Why != "no" {
		t.Errorf("it is halted as %v", h)
	}
}

// A halt holds while records cannot be written, and is on record when they can be.
func TestAHaltThatCouldNotBeRecordedIsRecordedLater(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.synced = false
	s.halt()
	full := errors.New("no space left on device")
	s.do(Unrecorded{Err: full})
	s.do(Synced{Ticket: s.tickets[0], Err: full})
	s.synced, s.tickets = true, nil
	s.do(AuditUp{})
	s.do(AuditUp{})
	if n := s.eventsOf(record.Halted); n != 2 {
		t.Errorf("%d halts were put on record, not two", n)
	}
	s.frames = nil
	s.call("bob", "e1", "1", "read_file", path)
	s.refusedAsHalted()
}

// The calls of the client that the server belongs to are halted where they are judged.
func TestTheClientsOwnCallsAreHaltedWhereTheyAreJudged(t *testing.T) {
	s := gatedStage(t)
	s.halt()
	s.hostCalls("1", "read_file")
	if len(s.toldHost) != 1 || !strings.Contains(s.toldHost[0], "the bridge is halted") || s.asked() != 0 {
		t.Errorf("the client heard %q, and %d run", s.toldHost, s.asked())
	}
}

// What the policy hides is hidden in the reason too.
func TestTheReasonOfAHaltKeepsSecrets(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.do(Halt{By: "local", Why: "token=HUSH was leaked"})
	if strings.Contains(s.only(), "HUSH") {
		t.Error("all in the topic read it")
	}
	s.call("bob", "e1", "1", "read_file", path)
	if f := s.only(); strings.Contains(f, "HUSH") || strings.Contains(s.recorded(record.Halted), "HUSH") {
		t.Errorf("bob reads %s", f)
	}
}

// Records can be written again while it is on its way to the disk that the bridge goes on: that
// it was halted must not stand behind that.
func TestTheRecordEndsAsTheBridgeIs(t *testing.T) {
	for _, err := range []error{nil, errors.New("no space left on device")} {
		s := newStage(t, "mcpx/v0.1")
		s.synced = false
		s.halt()
		s.do(Resume{By: "local"})
		goesOn := s.tickets[len(s.tickets)-1]
		s.do(Unrecorded{Err: errors.New("a disk that fails")})
		s.do(AuditUp{})
		s.do(Synced{Ticket: goesOn, Err: err})
		last := record.Event("")
		for _, r := range s.notes {
			if r.Event == record.Halted || r.Event == record.Resumed {
				last = r.Event
			}
		}
		if halted := s.engine.Halted() != nil; halted != (err != nil) || halted != (last == record.Halted) {
			t.Errorf("after %v it is halted: %v, and the record ends with %s", err, halted, last)
		}
	}
}
