package desktop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

const unseen = "\u3164\u00ad\ufe0f\u200b\U000E0041\u202e\u009b"

// hasHidden reports whether a line to the client hides anything.
func hasHidden(line string) bool {
	return strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(line), text.Hidden)
}

// Whatever string of a definition is read as text, a person sees of it what the
// model does (FINDINGS M6): schemas, annotations and the arguments of prompts were
// passed as they were.
func TestNothingHiddenAnywhereInADefinition(t *testing.T) {
	for _, member := range []string{
		`"title":"BAD"`, `"description":"BAD"`, `"annotations":{"title":"BAD","readOnlyHint":true}`, `"vendor":{"x":["BAD"]}`, `"_meta":{"ui":"BAD"}`, `"_meta":{"BAD":1}`, `"BAD":1`,
		`"inputSchema":{"type":"object","description":"BAD","properties":{"a":{"type":"string","title":"BAD","description":"BAD","examples":["BAD"],"x-note":{"y":"BAD"}}}}`,
		`"inputSchema":{"type":"object","$comment":"BAD","properties":{"description":{"description":"BAD"}},"anyOf":[{"description":"BAD"}]}`,
		`"outputSchema":{"type":"object","description":"BAD","properties":{"a":{"description":"BAD"}}}`,
	} {
		for _, bad := range []string{unseen, `\u3164\u00ad\ufe0f\u200b\udb40\udc41\u202e\u009b`, `a\u0008b`} {
			def := `{"name":"read",` + strings.ReplaceAll(member, "BAD", bad)
			if !strings.Contains(member, "inputSchema") {
				def += `,"inputSchema":{"type":"object"}`
			}
			s := newStage(t, desktop.Config{})
			s.join(map[string][]string{"fs": {def + "}"}})
			s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			line := s.one(`"fs__read"`)
			if hasHidden(line) || strings.Contains(line, `\u3164`) || strings.Contains(line, `\u0008`) || strings.Contains(line, `\b`) {
				t.Errorf("%s hides something: %s", member, line)
			}
		}
	}
}

// What a model must send back as it is stays what it is, or is not offered: an enum
// that was made visible would be another value.
func TestWhatMustBeSentBackIsNeverChanged(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"enum":["x","BAD"]}}}`, `{"type":"object","properties":{"BAD":{}}}`, `{"type":"object","properties":{"a":{"const":{"b":["BAD"]}}}}`,
		`{"type":"object","properties":{"a":{"default":"BAD"}}}`, `{"type":"object","required":["BAD"]}`, `{"type":"object","$defs":{"BAD":{}}}`, `{"type":"object","properties":{"a":{"pattern":"BAD"}}}`,
	} {
		s := newStage(t, desktop.Config{})
		s.join(map[string][]string{"fs": {`{"name":"bad","inputSchema":` + strings.ReplaceAll(schema, "BAD", unseen) + `}`, tool("good")}})
		if got := s.shown(); !slices.Equal(got, []string{"fs__good"}) {
			t.Errorf("with %s these are offered: %q", schema, got)
		}
		s.call(2, "mcpx_peers", `{}`)
		s.one(`"notOffered":[{"kind":"tool","name":"bad","why":"its inputSchema has a name or a value with characters that cannot be seen"}]`, `tool bad is not offered: its inputSchema`)
	}
	s := newStage(t, desktop.Config{})
	plain := `{"type":"object","properties":{"sep":{"enum":["\n","\t",", ","ü"],"default":"\n","description":"\u2192 é"}}}`
	s.join(map[string][]string{"fs": {`{"name":"join","inputSchema":` + plain + `}`, `{"name":"a` + unseen + `","inputSchema":{"type":"object"}}`}})
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if line := s.one(`"enum":["\n","\t",", ","ü"],"default":"\n"`); strings.Count(line, `"fs__`) != 1 {
		t.Errorf("a name that cannot be seen is offered: %s", line)
	}
}

// A prompt's or a resource's odd definition hides itself alone as well.
func TestPromptsAndResourcesHideNothing(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	s.answer(s.open("tools/list"), list())
	s.answer(s.open("prompts/list"), `{"prompts":[{"name":"a","description":"`+unseen+`","arguments":[{"name":"x","description":"`+unseen+`"}]},{"name":"b","arguments":[{"name":"`+unseen+`"}]},{"name":"c","x":`+deep+`}]}`)
	s.answer(s.open("resources/list"), `{"resources":[{"uri":"file:///a","name":"`+unseen+`"},{"uri":"file:///`+unseen+`","name":"b"},{"uri":"file:///c","name":"c","x":{"a":1,"a":2}}]}`)
	s.answer(s.open("resources/templates/list"), `{"resourceTemplates":[]}`)
	for method, want := range map[string]string{"prompts/list": `"fs__a"`, "resources/list": `"mcpx://fs/file:///a"`} {
		s.line(`{"jsonrpc":"2.0","id":1,"method":%q}`, method)
		if line := s.one(want); hasHidden(line) || strings.Contains(line, `"fs__b"`) || strings.Contains(line, "///c") {
			t.Errorf("%s shows %s", method, line)
		}
	}
	s.call(2, "mcpx_peers", `{}`)
	s.one(`"kind":"prompt","name":"b"`, `"kind":"prompt","name":"c"`, `"kind":"resource","name":"file:///c"`)
	if len(s.notes) != 4 {
		t.Errorf("%d notes: %q", len(s.notes), s.notes)
	}
}

// 70 levels, a key twice, a schema that says nothing, 300 KiB: each hides itself
// alone and says why, or is offered where that is safe (FINDINGS P5, P14).
func TestAToolThatCannotBeOfferedHidesItselfAloneAndSaysWhy(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 70) + "{}" + strings.Repeat("}", 70)
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {
		`{"name":"deep","inputSchema":{"type":"object","not":` + deep + `}}`, `{"name":"deepout","inputSchema":{"type":"object"},"outputSchema":` + deep + `}`,
		`{"name":"twice","inputSchema":{"type":"object","type":"object"}}`, `{"name":"big","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 300<<10) + `"}}`,
		`{"name":"none"}`, `{"name":"true","inputSchema":true}`, `{"name":"null","inputSchema":null}`, `{"name":"empty","inputSchema":{}}`, `{"name":"untyped","inputSchema":{"properties":{"a":{}}}}`,
		`{"name":"false","inputSchema":false}`, `{"name":"text","inputSchema":{"type":"string"}}`, tool("good"),
	}})
	if got, want := s.shown(), []string{"fs__empty", "fs__good", "fs__none", "fs__null", "fs__true", "fs__untyped"}; !slices.Equal(got, want) {
		t.Errorf("these are offered: %q", got)
	}
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.one(`"name":"fs__none","inputSchema":{"type":"object"}`, `"name":"fs__true","inputSchema":{"type":"object"}`, `{"type":"object","properties":{"a":{}}}`)
	s.call(2, "mcpx_peers", `{}`)
	line := s.one()
	for _, name := range []string{"deep", "deepout", "twice", "big", "false", "text"} {
		if !strings.Contains(line, fmt.Sprintf(`{"kind":"tool","name":%q,"why":`, name)) && name != "big" {
			t.Errorf("nobody says why %s is not offered: %s", name, line)
		}
	}
	if len(s.notes) != 6 {
		t.Errorf("%d notes: %q", len(s.notes), s.notes)
	}
	s.step(desktop.Noticed{From: "fs", Method: "notifications/tools/list_changed"})
	s.pass(time.Second)
	s.serveLists(map[string][]string{"fs": {tool("good")}})
	s.call(3, "mcpx_peers", `{}`)
	if line := s.one(`"tools":["good"]`); strings.Contains(line, "notOffered") {
		t.Errorf("what is gone is told of: %s", line)
	}
}

// A participant called like our own tools adds none beside them.
func TestNobodyAddsAToolToOurOwn(t *testing.T) {
	s := newStage(t, desktop.Config{})
	tools := map[string][]string{}
	for _, id := range []string{"mcpx", "MCPX", "mcpx_", "mcpx.call", "mcpx_approvals"} {
		tools[id] = []string{tool("approvals"), tool("x")}
	}
	s.join(tools)
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	own := 0
	for _, d := range listed(t, s.one()) {
		switch {
		case strings.HasPrefix(strings.ToLower(d.Name), "mcpx"):
			own++
		case !strings.HasPrefix(strings.ToLower(d.Name), "peer-mcpx_"):
			t.Errorf("a tool is called %s", d.Name)
		}
	}
	if own != 4 {
		t.Errorf("%d tools are called like ours", own)
	}
}

// One participant does not drown all others.
func TestAParticipantHasALimitOfTools(t *testing.T) {
	var many []string
	for i := range 600 {
		many = append(many, tool(fmt.Sprintf("t%03d", i)))
	}
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": many, "git": {tool("log")}})
	if got := s.shown(); len(got) != 513 || got[512] != "git__log" {
		t.Errorf("%d tools are offered", len(got))
	}
	s.call(2, "mcpx_peers", `{}`)
	s.one(`"name":"t512","why":"at most 512 tools of one participant are"`, `"notOfferedBeside":68`, "68 more are not offered")
}

// Names of 240 KB were given to the model as they were, 7.7 MB at once.
func TestPeersGaveTheModelNamesOfAnyLength(t *testing.T) {
	lists := map[string][]string{"a": {tool("log")}, "z": {tool("read_file")}}
	for i := range 15 {
		lists["long"] = append(lists["long"], tool(fmt.Sprint("t", i, strings.Repeat("x", 120_000))))
	}
	for i := range 512 {
		lists["many"] = append(lists["many"], tool(fmt.Sprintf("%0180d", i)))
	}
	s := newStage(t, desktop.Config{})
	s.join(lists)
	s.call(1, "mcpx_peers", `{}`)
	line := s.one(`"tools":["log"]`, `"tools":["read_file"]`, `"toolsBeside":`, "more tools are not named here", "z: read_file")
	if len(line) > 300<<10 {
		t.Errorf("the model got %d bytes", len(line))
	}
}

// A list whose cursors are long was gone through without end, and each was kept.
func TestLongCursorsEndAList(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.meet(`{}`)
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
	for i := range 3 {
		s.answer(s.open("tools/list"), fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d%s"}`, tool(fmt.Sprint("t", i)), i, strings.Repeat("x", 2_000_000)))
	}
	s.none("tools/list")
}

// mcpx_peers took any argument and heeded none (FINDINGS S17, seed 004).
func TestPeersAreFoundByCapability(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {tool("read_file"), tool("echo")}, "git": {tool("log")}})
	s.call(1, "mcpx_peers", `{"capability":"FILE"}`)
	s.one(`"peers":[{"peer":"fs","here":true,"tools":["read_file"]}]`)
	s.call(2, "mcpx_peers", `{"capability":"weather"}`)
	s.one(`"peers":[]`, "nobody here has a tool for weather")
	s.call(3, "mcpx_peers", `{"capability":7}`)
	s.one(`-32602`)
}

// Native participants of mew never answer a handshake (FINDINGS D3).
func TestWhoDoesNotAnswerAHandshakeIsAskedAllTheSame(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Greet: true, Peers: []desktop.Peer{{ID: "fs"}}})
	hello := s.open("initialize")
	s.none("tools/list")
	s.line(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	s.pass(2 * time.Second)
	s.serveLists(map[string][]string{"fs": {tool("read")}})
	s.one(`"fs__read"`)
	if len(s.tells) != 0 || len(s.cancels) != 0 {
		t.Errorf("it is told %v, and %v is taken back", s.tells, s.cancels)
	}
	s.answer(hello, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`)
	s.pass(time.Second)
	s.serveLists(map[string][]string{"fs": {tool("read"), tool("write")}}) // which it may have refused before
	if len(s.tells) != 1 || len(s.shown()) != 2 {
		t.Errorf("an answer that comes late counts for nothing: %v", s.tells)
	}
	s.step(desktop.Left{ID: "fs"})
	s.step(desktop.Came{Peer: desktop.Peer{ID: "fs"}})
	s.open("initialize")
	s.step(desktop.Left{ID: "fs"})
	s.pass(10 * time.Second)
	s.none("initialize")
	s.none("tools/list")
}

// What a function of a native participant returned is an answer (FINDINGS D9): the
// tool ran, and nobody was told what came of it.
func TestABareValueIsShownAsText(t *testing.T) {
	const said = `{"type":"text","text":"fs answered read with a bare value, which is shown as text"}]`
	for result, want := range map[string]string{
		`8`: `"content":[{"type":"text","text":"8"},` + said, `"hello"`: `"text":"hello"},` + said, `{"a":1.0}`: `"text":"{\"a\":1.0}"},` + said, `[1, 2]`: `"text":"[1, 2]"},` + said,
		`{"content":"x"}`: `"text":"{\"content\":\"x\"}"`, `true`: `"text":"true"`,
		`null`: `"content":[{"type":"text","text":"fs answered read without a value"}]`, `{}`: "without a value", `""`: "without a value",
		`{"content":[]}`: `"result":{"content":[]}`, `{"structuredContent":{"a":1}}`: `"result":{"structuredContent":{"a":1}}`,
	} {
		s := joined(t, `{}`)
		s.call(7, "fs__read", `{}`)
		s.answer(s.open("tools/call"), result)
		if line := s.one(want); strings.Contains(line, "isError") {
			t.Errorf("%s is an error: %s", result, line)
		}
	}
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {`{"name":"sum","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`}})
	s.call(1, "fs__sum", `{}`)
	s.answer(s.open("tools/call"), `{"n":9007199254740993}`)
	s.one(`"structuredContent":{"n":9007199254740993}`)
	s.call(2, "fs__sum", `{}`)
	s.answer(s.open("tools/call"), `3`)
	s.one(`"isError":true`, `"text":"3"`)
}

// The final schema of 2026-07-28 has no serverInfo beside the versions of
// server/discover, and results say in _meta who answers (FINDINGS S19).
func TestDiscoveryIsThatOfTheFinalRevision(t *testing.T) {
	const me = `"io.modelcontextprotocol/serverInfo":{"name":"mcpx-bridge","title":"MCPx topic","version":"test"}`
	s := joined(t, `{}`)
	s.line(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, modernMeta)
	line := s.one(`"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`, `"_meta":{`+me+`}`)
	if strings.Contains(line, `"serverInfo"`) {
		t.Errorf("it says twice who we are: %s", line)
	}
	s.line(`{"jsonrpc":"2.0","id":2,"method":"ping","params":{%s}}`, modernMeta)
	s.one(`"_meta":{` + me + `}`)
	for result, want := range map[string]string{
		`{"_meta":{"a":{"_meta":{}}},"content":[]}`:                                                 `"_meta":{` + me + `,"a":{"_meta":{}}}`,
		`{"content":[{"_meta":{}}],"_meta":{}}`:                                                     `"content":[{"_meta":{}}],"_meta":{` + me + `}`,
		`{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fs","version":"1"}}}`: `/serverInfo":{"name":"fs","version":"1"}}`,
	} {
		s.modernCall(3, "fs__read", `{}`, "")
		s.answer(s.open("tools/call"), result)
		s.one(want)
	}
	s.call(4, "fs__read", `{}`)
	s.answer(s.open("tools/call"), `{"content":[]}`)
	s.one(`"result":{"content":[]}`)
}
