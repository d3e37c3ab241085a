package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Seen before the mend: the list showed both, and the first was judged
// (FINDINGS C9).
func TestOfTwoToolsOfOneNameThatDifferNeitherIsOffered(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	const list = `{"tools":[{"name":"read_a","description":"reads"},{"name":"read_b"},{"name":"read_a","description":"sends"},{"name":"read_b"},{"name":"read_a","description":"reads"}]}`
	s.answerListing(list)
	if !s.noted(record.Warning, "tools_of_one_name") || !s.noted(record.Warning, "tool_name_twice") {
		t.Error("it is not told")
	}
	s.frames = nil
	s.arrive(`{"protocol":"mcpx/v0.1","id":"l1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":` + list + `}`)
	s.has(s.only(), `"result":{"tools":[{"name":"read_b"}]}`)
	s.call("bob", "e1", "1", "read_a", `{}`)
	s.has(s.only(), "-32602")
	s.call("bob", "e2", "2", "read_b", `{}`)
	if s.asked() != 1 {
		t.Error("the one that is listed cannot be called")
	}
}

// A list that holds two, which the server has not told of yet, shows neither too.
func TestAListThatIsNewerThanOursShowsNoToolTwice(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.arrive(`{"protocol":"mcpx/v0.1","id":"l1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"tools":[{"name":"read_file","title":"x"},{"name":"read_file"},{"name":"new"},{"name":7},{"name":"new"}]}}`)
	s.has(s.only(), `"result":{"tools":[{"name":"new"}]}`)
}

// 2 000 notifications were 2 000 frames (FINDINGS C10).
func TestWordOfChangedListsIsGathered(t *testing.T) {
	for _, of := range []string{"resources", "prompts"} {
		s := newStage(t, "mcpx/v0.1")
		for range 2000 {
			s.said(`{"jsonrpc":"2.0","method":"notifications/` + of + `/list_changed"}`)
		}
		s.has(s.only(), of+"/list_changed")
		s.pass(gatherFor)
		s.has(s.only(), of+"/list_changed")
		s.pass(time.Minute)
		s.nothing("after the last word")
		s.said(`{"jsonrpc":"2.0","method":"notifications/` + of + `/list_changed"}`)
		s.has(s.only(), of+"/list_changed")
	}
}

// It was cut without a word (FINDINGS C11).
func TestAListOfToolsWithoutEndIsCutWithAWarning(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	for i := range pagesMax {
		if s.serving != 0 {
			t.Fatalf("serving after %d pages", i)
		}
		s.answerListing(fmt.Sprintf(`{"tools":[{"name":"read_%d"}],"nextCursor":"next"}`, i))
	}
	if s.serving != 1 || !s.noted(record.Security, "tools_cut") || len(s.engine.server.tools.Tools) != pagesMax {
		t.Errorf("serving %d, %d tools", s.serving, len(s.engine.server.tools.Tools))
	}
}

func TestAListOfToolsOfManyMegabytesIsCutWithAWarning(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	for i := range 5 {
		s.answerListing(fmt.Sprintf(`{"tools":[{"name":"read_%d","description":"%s"}],"nextCursor":"next"}`, i, strings.Repeat("x", 8<<20)))
		if s.serving == 1 {
			break
		}
	}
	if !s.noted(record.Security, "tools_cut") || len(s.engine.server.tools.Tools) > 5 {
		t.Error("it is read on and on")
	}
}

// A changed tool was put to one person at this machine, where the file wants two
// of a group (FINDINGS C1).
func TestAChangedToolIsPutToWhomTheFileNames(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, allowsSome+"server: {pin: ask}\nasks: {default: {of: [alice, carol], need: 2, within: 1h}}\n")})
	s.seatWith("alice", "bob", "carol")
	s.startServer()
	s.relists(changedTools)
	s.call("bob", "e1", "1", "write_file", `{"path":"/a"}`)
	s.has(strings.Join(s.frames, "\n"), `"to":["alice"]`, `"to":["carol"]`)
	if len(s.shown) != 0 {
		t.Error("it is put to the person at this machine")
	}
	for _, r := range s.notes {
		if r.Event == record.Asked && (r.Need != 2 || r.Rule != "server.pin") {
			t.Errorf("asked: %+v", r)
		}
	}
}
