package engine

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// Seen before the mend: the caller waited a minute and was told of a time-out
// (FINDINGS P4, P11).
func TestAnAnswerOfWhichNoIDIsKnownEndsTheOneCallThereIs(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.do(ServerNoise{Reason: "child_stdout_garbage", Count: 1}) // a banner
	s.nothing("noise that is no answer")
	s.do(ServerNoise{Reason: "child_stdout_garbage", Answer: true, Count: 2})
	s.has(s.only(), `"code":-31008`, `"executed":"unknown"`, `"e1"`)
}

func TestALostAnswerIsTheOneThatIsLeft(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	var ids []string
	for _, n := range []string{"1", "2", "3"} {
		s.call("bob", "e"+n, n, "read_file", `{"path":"a"}`)
		ids = append(ids, s.lastID())
	}
	s.do(ServerNoise{Reason: "json_depth", Answer: true, Count: 1})
	s.nothing("three may have been answered")
	s.call("bob", "e4", "4", "read_file", `{"path":"a"}`) // which came after it
	s.said(`{"jsonrpc":"2.0","id":` + ids[0] + `,"result":{}}`)
	s.has(s.only(), `"result":{}`)
	s.said(`{"jsonrpc":"2.0","id":` + ids[2] + `,"result":{}}`)
	if len(s.frames) != 2 || !strings.Contains(s.frames[0], `-31008`) || !strings.Contains(s.frames[0], `"e2"`) || !strings.Contains(s.frames[1], `"e3"`) {
		t.Errorf("sent: %q", s.frames)
	}
	s.frames = nil
	s.pass(time.Second)
	s.nothing("the call that came after the lost answer")
}

func TestAsManyLostAnswersAsCallsEndThemAll(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for _, n := range []string{"1", "2"} {
		s.call("bob", "e"+n, n, "read_file", `{"path":"a"}`)
	}
	s.do(ServerNoise{Reason: "json_depth", Answer: true, Count: 1})
	s.nothing("two may have been answered")
	s.do(ServerNoise{Reason: "json_depth", Answer: true, Count: 2})
	if len(s.frames) != 2 || !strings.Contains(s.frames[0], "-31008") || !strings.Contains(s.frames[1], "-31008") {
		t.Errorf("sent: %q", s.frames)
	}
	if len(s.engine.calls.Lost) != 0 {
		t.Error("the lost answers are remembered")
	}
}

// The bridge's own question was waited for just as long.
func TestAnUnreadableListOfToolsIsNotWaitedFor(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.do(ServerNoise{Reason: "json_depth", ID: []byte(s.lastID()), Answer: true, Count: 1})
	if len(s.restarts) != 1 || !s.noted(record.Warning, "tools_unknown") {
		t.Errorf("restarts: %q", s.restarts)
	}
}

// One emoji cut in two in one description, and the server was never ready
// (FINDINGS P10).
func TestHalfACharacterInADescriptionHidesNoTool(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.answerListing(`{"tools":[{"name":"read_file","description":"\ud83d","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"\ude00"}},"required":["path"]}},` +
		`{"name":"write_file"},{"name":"bad\ud83d"},{"name":7}]}`)
	if n := len(s.engine.server.tools.Tools); n != 2 || s.serving != 1 {
		t.Fatalf("%d tools are known", n)
	}
	if !s.noted(record.Warning, "tool_name_charset") || !s.noted(record.Warning, "tool_unreadable") {
		t.Error("the two that are not offered are not told")
	}
	s.frames = nil
	s.call("bob", "e1", "1", "read_file", `{}`)
	s.has(s.only(), "-32602")
	s.call("bob", "e2", "2", "read_file", `{"path":"a"}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"content":[{"type":"text","text":"\udc00"}]}}`)
	s.has(s.only(), `"text":"\udc00"`)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"e3","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":3,"method":"tools/list"}}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"tools":[{"name":"read_file","description":"\ud83d"},{"name":"bad\ud83d"}]}}`)
	if got := s.only(); !strings.Contains(got, `"tools":[{"name":"read_file","description":"\ud83d"}]`) {
		t.Errorf("the list is %s", got)
	}
}

// Our own standing request for word of changes has no answer but its end: what is lost is
// another's.
func TestALostAnswerIsNotTheEndOfOurListening(t *testing.T) {
	s := modernStage(t, allowsSome, `{"tools":{"listChanged":true}}`)
	s.call("bob", "e1", "1", "read_file", `{"path":"/a"}`)
	s.do(ServerNoise{Reason: "json_depth", Answer: true, Count: 1})
	s.has(s.only(), `"code":-31008`, `"e1"`)
}

func TestLostAnswersHaveABound(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.engine.maxCalls = 2 * lostMost
	for i := range 2 * lostMost {
		s.call("bob", "e"+strconv.Itoa(i), strconv.Itoa(i), "read_file", `{"path":"a"}`)
	}
	for i := range 2*lostMost - 1 {
		s.do(ServerNoise{Reason: "json_depth", Answer: true, Count: i + 1})
	}
	if n := len(s.engine.calls.Lost); n != lostMost {
		t.Errorf("%d are remembered", n)
	}
}

// The client has the answers to its own calls without us, also those that we cannot read:
// what is lost was never one of them.
func TestALostAnswerIsNoneOfTheClientsOwn(t *testing.T) {
	s := gatedStage(t)
	s.hostCalls(`1`, "read_file")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.frames, s.notes = nil, nil
	s.do(ServerNoise{Reason: "json_depth", Answer: true, Count: 1})
	s.has(s.only(), `"code":-31008`, `"e1"`)
	if !s.engine.OwnsHostCall([]byte(`1`)) {
		t.Error("the client's call has ended with it")
	}
}

// Sets of calls were compared with each other number by number, so that each end of a call
// of a full server with eight lost answers took long. Whose the lost ones were is known
// when as many calls are left.
func TestLostAnswersOfAFullServerHeldTheEngine(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.engine.maxCalls = 1024
	var ids []string
	for i := range 1024 {
		s.call("bob"+strconv.Itoa(i%64), "e"+strconv.Itoa(i), strconv.Itoa(i), "read_file", `{"path":"a"}`)
		ids = append(ids, s.lastID())
	}
	for i := range 100 {
		s.do(ServerNoise{Reason: "json_depth", Answer: true, Count: i + 1})
	}
	s.frames = nil
	for _, id := range ids[:1024-lostMost-1] {
		s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	}
	if n := len(s.frames); n != 1024-lostMost-1 || strings.Contains(strings.Join(s.frames, ""), "-31008") {
		t.Errorf("%d answers", n)
	}
	s.frames = nil
	s.said(`{"jsonrpc":"2.0","id":` + ids[1024-lostMost-1] + `,"result":{}}`)
	if n := strings.Count(strings.Join(s.frames, ""), "-31008"); n != lostMost || len(s.frames) != lostMost+1 {
		t.Errorf("%d of %d answers are lost", n, len(s.frames))
	}
}

// Of two lost answers one may have been for no call that the other cannot have been for, so
// that the newest call of each tells which. Held against all sets as they are.
func TestWhoseLostAnswersAreIsWhatTheSetsSay(t *testing.T) {
	for seed := range uint64(100) {
		dice := rand.New(rand.NewPCG(seed, 1))
		s := newStage(t, "mcpx/v0.1")
		s.engine.maxCalls = 100
		var open []string          // ids at the server, by age
		var lost []map[string]bool // which calls each may have been for
		env := map[string]string{} // of each id
		ends := func(id string) {
			open = slices.DeleteFunc(open, func(o string) bool { return o == id })
			for _, l := range lost {
				delete(l, id)
			}
		}
		for i := range 40 {
			s.frames = nil
			switch n := dice.IntN(4); {
			case n < 2:
				s.call("bob", "e"+strconv.Itoa(i)+".", strconv.Itoa(i), "read_file", `{"path":"a"}`)
				open, env[s.lastID()] = append(open, s.lastID()), "e"+strconv.Itoa(i)+"."
			case n == 2 && len(open) > 0:
				id := open[dice.IntN(len(open))]
				ends(id)
				s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
			case n == 3 && len(open) > 0 && len(lost) < lostMost:
				among := map[string]bool{}
				for _, id := range open {
					among[id] = true
				}
				lost = append(lost, among)
				s.do(ServerNoise{Reason: "json_depth", Answer: true, Count: i + 1})
			}
			var certain []string
			for l := surelyLost(&lost); l != nil; l = surelyLost(&lost) {
				for _, id := range slices.Sorted(maps.Keys(l)) {
					certain = append(certain, id)
					ends(id)
				}
			}
			all := strings.Join(s.frames, "")
			for _, id := range certain {
				if !strings.Contains(all, `"`+env[id]+`"`) {
					t.Fatalf("seed %d: %s is not told that its answer is lost", seed, env[id])
				}
			}
			if n := strings.Count(all, "-31008"); n != len(certain) {
				t.Fatalf("seed %d: %d are told that theirs is lost, and of %d it is certain", seed, n, len(certain))
			}
		}
	}
}

// surelyLost takes out a set for which as many answers were lost as are in it; nil: none.
func surelyLost(lost *[]map[string]bool) map[string]bool {
	for _, l := range *lost {
		within := func(o map[string]bool) bool {
			for id := range o {
				if !l[id] {
					return false
				}
			}
			return true
		}
		rest := slices.DeleteFunc(slices.Clone(*lost), within)
		if len(*lost)-len(rest) >= len(l) {
			*lost = rest
			return l
		}
	}
	return nil
}
