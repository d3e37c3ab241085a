package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// modernStage has a server of 2026-07-28, which tells nothing unasked.
func modernStage(t *testing.T, rulesText, capabilities string) *stage {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, rulesText)})
	s.seatWith("alice", "bob", "carol", "mallory")
	s.do(ServerUp{Hello{PID: 7, Revision: "2026-07-28", Modern: true, Meta: []byte(`"m":1`), Result: []byte(`{}`), Capabilities: []byte(capabilities)}})
	s.answerListing(moreTools)
	s.frames, s.notes = nil, nil
	return s
}

// listings counts the requests for tools that the server got since the last look.
func (s *stage) listings() (n int) {
	n = strings.Count(strings.Join(s.lines, "\n"), `"tools/list"`)
	return n
}

var otherTools = strings.Replace(moreTools, `"name":"write_file",`, `"name":"write_file","description":"and sends it elsewhere",`, 1)

// Seen before the mend: the call ran, for nothing told us of the change
// (FINDINGS P1).
func TestWhatSomebodyAgreedToIsReadOnceMoreBeforeItStarts(t *testing.T) {
	for name, test := range map[string]struct {
		listing string
		runs    bool
		want    string
	}{
		"as it was":  {moreTools, true, ""},
		"changed":    {otherTools, false, "-31011"},
		"gone":       {`{"tools":[]}`, false, "-31011"},
		"unreadable": {`7`, false, "-31007"},
	} {
		s := modernStage(t, asksAlice, `{"tools":{}}`)
		s.write()
		a := s.question()
		s.lines = nil
		s.answers("alice", a, true, yes)
		if s.asked() != 0 || s.listings() != 1 {
			t.Fatalf("%s: after the yes the server got %q", name, s.lines)
		}
		s.answerListing(test.listing)
		if got := s.asked() == 1; got != test.runs {
			t.Errorf("%s: the call ran: %v", name, got)
		}
		if all := strings.Join(s.frames, "\n"); test.want != "" && !strings.Contains(all, test.want) || test.want == "" && strings.Contains(all, `"error"`) {
			t.Errorf("%s: sent %s", name, all)
		}
	}
}

// The question what its tools are could not be put on record, and so never left: the
// server was blamed for that (seed 2282).
func TestTheServerIsNotBlamedForADiskThatIsFull(t *testing.T) {
	s := modernStage(t, asksAlice, `{"tools":{}}`)
	s.write()
	a := s.question()
	s.answers("alice", a, true, yes)
	s.do(Unrecorded{Calls: []uint64{s.writes[len(s.writes)-1].Call}, Err: errors.New("disk full")})
	s.refused(-31009)
}

// A listing that was under way when somebody agreed may tell of what was before.
func TestAListingThatBeganBeforeTheYesDoesNotDo(t *testing.T) {
	s := modernStage(t, asksAlice, `{"tools":{}}`)
	s.write()
	a := s.question()
	s.pass(rereadUsual)
	before := s.listings()
	s.answers("alice", a, true, yes)
	s.waitsForAListingOfItsOwn(before)
}

// waitsForAListingOfItsOwn: after a yes the listing that was under way does not do, and
// the one that began since shows another tool.
func (s *stage) waitsForAListingOfItsOwn(before int) {
	s.t.Helper()
	s.answerListing(moreTools)
	if s.asked() != 0 || s.listings() != before+1 {
		s.t.Fatalf("the server got %q", s.lines)
	}
	s.answerListing(otherTools)
	if s.asked() != 0 {
		s.t.Error("it ran as another tool")
	}
}

// A server that had just come back was being asked for its tools when somebody agreed:
// what it said to that was taken for what it says since (seed 72735).
func TestAListingOfAStartingServerThatBeganBeforeTheYesDoesNotDo(t *testing.T) {
	s := modernStage(t, asksAlice, `{"tools":{}}`)
	s.write()
	a := s.question()
	s.do(ServerDown{Cause: "crashed", Retry: time.Second})
	s.do(ServerUp{Hello{PID: 8, Revision: "2026-07-28", Modern: true, Meta: []byte(`"m":1`), Result: []byte(`{}`), Capabilities: []byte(`{"tools":{}}`)}})
	before := s.listings()
	s.answers("alice", a, true, yes)
	s.waitsForAListingOfItsOwn(before)
}

// Where the answer does not come, what was agreed to does not start.
func TestAServerThatDoesNotSayWhatItsToolsAreRunsNothing(t *testing.T) {
	s := modernStage(t, asksAlice, `{"tools":{}}`)
	s.write()
	a := s.question()
	s.answers("alice", a, true, yes)
	s.frames = nil
	s.pass(31 * time.Second)
	s.has(strings.Join(s.frames, "\n"), `-31007`, `"executed":"no"`)
	s.answerListing(moreTools)
	if s.asked() != 0 {
		t.Error("it ran after its caller heard that it will not")
	}
}

func TestWhoeverTakesACallBackWhileItsToolIsReadAgainRunsNothing(t *testing.T) {
	s := modernStage(t, asksAlice, `{"tools":{}}`)
	s.write()
	a := s.question()
	s.answers("alice", a, true, yes)
	s.takesBack("bob", "c1", "7", "e7")
	s.answerListing(moreTools)
	if s.asked() != 0 {
		t.Error("it ran")
	}
}

// A server that restarts meanwhile lists its tools anyway.
func TestAServerThatRestartsWhileAToolIsReadAgain(t *testing.T) {
	s := modernStage(t, asksAlice, `{"tools":{}}`)
	s.write()
	a := s.question()
	s.answers("alice", a, true, yes)
	s.do(ServerDown{Cause: "exited", Retry: time.Second})
	s.do(ServerUp{Hello{PID: 8, Revision: "2026-07-28", Modern: true, Meta: []byte(`"m":1`)}})
	s.answerListing(moreTools)
	if s.asked() != 1 {
		t.Errorf("it did not run: %q", s.frames)
	}
}

// A yes for long counts for the definition it was given to, whatever the server
// tells of changes.
func TestALastingYesToAServerThatTellsNothingIsHeldAgainstItsTools(t *testing.T) {
	s := modernStage(t, remembers, `{"tools":{}}`)
	s.write()
	a := s.question()
	s.question() // carol's
	s.answers("alice", a, true, `{"action":"accept","content":{"approve":true,"remember":"session"}}`)
	s.answerListing(moreTools)
	if s.asked() != 1 {
		t.Fatalf("the first did not run: %q", s.frames)
	}
	s.frames, s.lines = nil, nil
	s.asksFor("bob", "e8", "8", "write_file", `{"path":"/a","text":"x"}`, "")
	if s.asked() != 0 || s.listings() != 1 {
		t.Fatalf("the server got %q", s.lines)
	}
	s.answerListing(otherTools)
	if s.asked() != 0 {
		t.Error("a yes to another tool let it run")
	}
	s.asksFor("bob", "e9", "9", "write_file", `{"path":"/a","text":"x"}`, "")
	if _, asked := s.maybeQuestion(); !asked || s.asked() != 0 {
		t.Error("the yes outlives the definition")
	}
}

// With pin: block a changed tool ran for ever (FINDINGS P13).
func TestToolsOfAServerThatTellsNothingAreReadAgain(t *testing.T) {
	for ttl, wait := range map[string]time.Duration{"": rereadUsual, `"ttlMs":0,`: rereadSoonest, `"ttlMs":20000,`: 20 * time.Second,
		`"ttlMs":1e300,`: rereadLatest, `"ttlMs":"x",`: rereadUsual, `"ttlMs":-1,`: rereadUsual} {
		s := modernStage(t, allowsSome+"server: {pin: block}\n", `{"tools":{}}`)
		s.relists("{" + ttl + moreTools[1:])
		s.pass(wait - 1)
		if s.listings() != 0 {
			t.Errorf("%s: read again too early", ttl)
		}
		s.pass(1)
		s.answerListing(strings.Replace("{"+ttl+otherTools[1:], `"tools":[`, `"tools":[{"name":"read_new"},`, 1))
		s.has(strings.Join(s.frames, ""), "tools/list_changed")
		s.frames = nil
		s.call("bob", "e1", "1", "write_file", `{"path":"/a"}`)
		s.has(s.only(), "-31004", "server.pin")
		s.call("bob", "e2", "2", "read_new", `{}`)
		if s.asked() != 1 {
			t.Errorf("%s: a new tool is unknown", ttl)
		}
		s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
		s.frames = nil
		s.pass(wait)
		s.answerListing(strings.Replace("{"+ttl+otherTools[1:], `"tools":[`, `"tools":[{"name":"read_new"},`, 1))
		s.nothing("nothing has changed")
		s.do(Stopping{})
	}
}

func TestAServerThatOffersToTellIsListenedTo(t *testing.T) {
	s := modernStage(t, allowsSome+"server: {pin: block}\n", `{"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{"listChanged":true}}`)
	line := s.lines[len(s.lines)-1]
	s.has(line, `"subscriptions/listen"`, `"notifications":{"toolsListChanged":true,"resourcesListChanged":true}`, `"_meta":{"m":1}`)
	id := s.lastID()
	s.lines = nil
	s.said(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `},"notifications":{"toolsListChanged":true}}}`)
	s.answerListing(moreTools) // it may have changed before
	s.lines = nil
	s.pass(10 * time.Minute)
	if len(s.lines) != 0 || len(s.restarts) != 0 || s.engine.Occupied() {
		t.Errorf("while it is listened to the server got %q", s.lines)
	}
	s.said(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`)
	if f := s.only(); strings.Contains(f, "subscriptionId") {
		t.Errorf("the topic hears of our request: %s", f)
	}
	s.relists(otherTools)
	s.call("bob", "e1", "1", "write_file", `{"path":"/a"}`)
	s.has(s.only(), "-31004")

	// It ends that, and is asked in turns.
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete"}}`)
	s.lines = nil
	s.pass(rereadUsual)
	if s.listings() != 1 {
		t.Errorf("after the end of the stream the server got %q", s.lines)
	}
}

// A server that says it tells and does not, or that refuses, is asked in turns.
func TestAServerThatDoesNotListenIsAskedInTurns(t *testing.T) {
	for _, answer := range []string{"", `"error":{"code":-32601,"message":"no"}`} {
		s := modernStage(t, allowsSome, `{"tools":{"listChanged":true}}`)
		if answer != "" {
			s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,` + answer + `}`)
		}
		s.lines = nil
		s.pass(rereadUsual)
		if s.listings() != 1 || len(s.restarts) != 0 {
			t.Errorf("%s: the server got %q", answer, s.lines)
		}
	}
}
