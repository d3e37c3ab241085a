package desktop_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

func TestAToolIsShownAsItsPeerDefinesIt(t *testing.T) {
	s := newStage(t, desktop.Config{})
	schema := `{ "$schema":"x","type":"object","properties":{"n":{"const":9007199254740993}}, "oneOf":[{}],"<&>":1.0 }`
	s.join(map[string][]string{"fs": {`{"title":"T","vendor":{"b":1,"a":2.50},"name":"read.v2","inputSchema":` + schema + `}`}})
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	name := desktop.Pair{Peer: "fs", Name: "read.v2"}.Export(46)
	s.one(schema, `"vendor":{"b":1,"a":2.50}`, `"title":"T (fs)"`, `"name":"`+name+`"`, `"description":"(via fs)"`)
	s.call(2, name, `{"n":9007199254740993,"<":"\u00e9"}`)
	if a := s.open("tools/call"); string(a.Params) != `{"name":"read.v2","arguments":{"n":9007199254740993,"<":"\u00e9"}}` || a.To != "fs" {
		t.Errorf("the peer gets %s", a.Params)
	}
}

func TestOneBadDefinitionSpoilsNoList(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {
		tool("good"), tool("good"), `{"name":"a"}`, `{"name":7,"inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"array"}}`,
		`{"name":"c","inputSchema":{"type":"object","properties":{"x":true}}}`, `{"name":"d","inputSchema":{"type":"object","required":"x"}}`, `7`, `null`,
		`{"name":"kept","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"},"icons":{},"title":null,"outputSchema":{"type":"string"},"execution":{"taskSupport":"required"},"_meta":[]}`,
	}})
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line := s.one(`{"name":"fs__kept","inputSchema":{"type":"object"},"description":"(via fs)"}`)
	if n := strings.Count(line, `"fs__`); n != 3 || !strings.Contains(line, `"name":"fs__a","inputSchema":{"type":"object"}`) {
		t.Errorf("%d tools are shown: %s", n, line)
	}
	if len(s.notes) != 6 || s.notes[1] != "fs: the tool b is not offered: its inputSchema is not of type object" {
		t.Errorf("%d notes: %q", len(s.notes), s.notes)
	}
}

// Half a character, a key twice or 70 levels in one tool hid all of that peer's
// (FINDINGS P10, P14). What is cut in two is whole to whoever reads it.
func TestOneToolThatCannotBeReadHidesNoOther(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {`{"name":"a","description":"cut \ud83d","inputSchema":{"type":"object"}}`,
		`{"name":"b","inputSchema":{"type":"object","x":1,"x":2}}`, `{"name":"c","inputSchema":{"type":"object","x":` + deep + `}}`, `{"name":"d","inputSchema":{"type":"object"}}`}})
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line := s.one(`"fs__a"`)
	if !strings.Contains(line, "cut \ufffd") || !strings.Contains(line, `"fs__d"`) || strings.Contains(line, `"fs__b"`) || strings.Contains(line, `"fs__c"`) {
		t.Errorf("the list is %s", line)
	}
}

// Clients refuse a whole list for one member that is null, or without what it
// must have, so one participant could hide what all the others offer.
func TestOneBadMemberSpoilsNoList(t *testing.T) {
	for _, bad := range []string{
		`"icons":[{}]`, `"icons":[null]`, `"icons":[{"src":null}]`, `"icons":[{"Src":"x"}]`, `"icons":[{"src":"x","sizes":[null]}]`, `"icons":[{"src":"x","theme":"grey"}]`,
		`"annotations":{"readOnlyHint":null}`, `"annotations":{"title":null}`, `"annotations":{"audience":["everybody"]}`, `"annotations":{"priority":7}`, `"annotations":{"lastModified":"now"}`,
		`"outputSchema":{"type":"object","properties":{"a":{"type":"nonsense"}}}`, `"outputSchema":{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`,
		`"outputSchema":{"type":"object","$ref":"https://example.com/"}`, `"outputSchema":{"type":"object","properties":{"a":{"pattern":"("}}}`, `"outputSchema":{"type":"object","$id":"x"}`,
		`"outputSchema":{"type":"object","minProperties":"x"}`, `"outputSchema":{"type":"object","anyOf":[{"enum":[]}]}`, `"outputSchema":{"type":"object","additionalProperties":7}`,
		`"outputSchema":{"type":"object","$defs":{"a":{"not":[]}}}`, `"outputSchema":{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, `"outputSchema":{"type":"object","properties":{"a":{"nullable":true}}}`,
		`"arguments":[{}]`, `"arguments":[{"name":"a","required":null}]`, `"size":null`, `"outputSchema":{"type":"object","required":[null]}`,
	} {
		s := newStage(t, desktop.Config{})
		s.join(map[string][]string{"fs": {`{"name":"a","inputSchema":{"type":"object"},` + bad + `}`}})
		s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if line := s.one(`"fs__a"`); strings.Contains(line, bad) {
			t.Errorf("%s is passed on", bad)
		}
	}
	s := newStage(t, desktop.Config{})
	const good = `"icons":[{"src":"x","mimeType":"image/png","sizes":["1x1"],"theme":"dark","more":null}],"annotations":{"title":"T","readOnlyHint":true,"audience":["user"],"priority":0.5,"lastModified":"2026-01-02T03:04:05Z","more":null},"outputSchema":` +
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":[],"properties":{"a":{"$ref":"#/$defs/A"},"b":{"type":["string","null"],"format":"uri","default":null},` +
		`"c":{"type":"array","items":{"anyOf":[{"const":1},{"enum":["x",null]},{"type":"integer","minimum":0},{"$ref":"#"}]}}},"additionalProperties":false,"$defs":{"A":{"x-more":7,"oneOf":[true,{}]}}}`
	s.join(map[string][]string{"fs": {`{"name":"a","inputSchema":{"type":"object","required":[null]}}`, `{"name":"b","inputSchema":{"type":"object"},` + good + `}`}})
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if line := s.one(good); strings.Contains(line, `"fs__a"`) {
		t.Error("a list of required properties with a null in it is passed on")
	}
}

// What a person would not see the model does not get either, and nobody makes
// whose tool it is read backwards.
func TestNothingHiddenInTitlesAndDescriptions(t *testing.T) {
	s := newStage(t, desktop.Config{})
	const bad = "\u202e\u2066\u200f\U000e0041\x1b\u0085"
	s.join(map[string][]string{"fs" + bad: {`{"name":"a","title":"a"` + "\n" + `,"description":"b\u202e\u2066\u200f\udb40\udc41\u001b\u0085\n\tc \ud83d\udc68\u200d\ud83d\udc67","inputSchema":{"type":"object"}}`}})
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	const shown = `\\u{202e}\\u{2066}\\u{200f}\\u{e0041}\\u{1b}\\u{85}`
	list := s.one(`"description":"b`+shown+`\n\tc 👨\\u{200d}👧 (via fs`+shown+`)"`, `"title":"a (fs`+shown+`)"`)
	s.call(2, "mcpx_peers", `{}`)
	text, _, _ := strings.Cut(s.one(`"text":"fs`+shown+`: a"`), "structuredContent")
	if strings.ContainsAny(list+text, bad) {
		t.Errorf("it stands in\n%s\n%s", list, text)
	}
}

// 300 tools over 12 peers with hostile names stay within 46 characters and
// route right.
func TestHostileNamesRouteRight(t *testing.T) {
	s := newStage(t, desktop.Config{})
	parts := []string{"a", "a_", "_a", "a__b", "b", "b__c", "a.b", "a-b", "a_b", "A", strings.Repeat("x", 64), strings.Repeat("y", 63) + "z"}
	tools := map[string][]string{}
	for _, peer := range parts {
		for i := range 25 {
			name := fmt.Sprintf("%s__%s%d", parts[i%len(parts)], strings.Repeat("é/ ", i), i/len(parts))
			tools[peer] = append(tools[peer], tool(name))
		}
	}
	s.join(tools)
	names := s.shown()
	if len(names) != 300 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != 300 {
		t.Fatalf("%d names are shown", len(names))
	}
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,46}$`)
	routed := map[string]bool{}
	for i, name := range names {
		if !valid.MatchString(name) {
			t.Errorf("%q is no name for everybody", name)
		}
		s.call(i, name, `{}`)
		a := s.open("tools/call")
		to := a.To + string(a.Params)
		if p := (desktop.Pair{Peer: a.To, Name: nameIn(t, a.Params)}); routed[to] || p.Export(46) != name {
			t.Errorf("%q goes to %s", name, to)
		}
		routed[to] = true
		s.answer(a, `{"content":[]}`)
	}
}

func TestUnknownNameIsNeverSplit(t *testing.T) { // O106
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"x": {tool("z")}})
	s.call(1, "x__y", `{}`)
	s.one(`"id":1`, `-32602`, `Unknown tool: x__y`)
	s.none("tools/call")
}

func TestTheLimitLeavesOutTheSameEachTime(t *testing.T) { // O104
	var first []string
	for range 3 {
		s := newStage(t, desktop.Config{Limit: 128})
		tools := map[string][]string{}
		for i := range 150 {
			peer := fmt.Sprintf("p%d", i%7)
			tools[peer] = append(tools[peer], tool(fmt.Sprintf("t%d", i)))
		}
		s.join(tools)
		names := s.shown()
		if len(names) != 124 {
			t.Fatalf("%d tools beside our four", len(names))
		}
		if first != nil && !slices.Equal(first, names) {
			t.Errorf("another choice: %q", names)
		}
		first = names
		if len(s.notes) != 1 || !strings.Contains(s.notes[0], "leaves out 26 tools: p") {
			t.Errorf("notes: %q", s.notes)
		}
	}
}

func TestIncludeAndExcludeHoldForEveryRoad(t *testing.T) {
	s := newStage(t, desktop.Config{Include: []string{"fs/*", "git/log"}, Exclude: []string{"*/rm*"}})
	s.join(map[string][]string{"fs": {tool("read"), tool("rm_all")}, "git": {tool("log"), tool("push")}})
	if names := s.shown(); !slices.Equal(names, []string{"fs__read", "git__log"}) {
		t.Errorf("shown: %q", names)
	}
	s.call(1, "fs__rm_all", `{}`)
	s.one(`-32602`)
	s.call(2, "mcpx_call", `{"peer":"git","tool":"push"}`)
	s.one(`"isError":true`, "is not shown here")
	s.line(`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"mcpx://git/file:///x"}}`)
	s.one(`-32602`)
	s.none("tools/call")
	s.none("resources/read")
}

func TestADepartedPeersToolsStayAWhile(t *testing.T) { // O105
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {tool("read")}})
	s.meet(`{}`)
	s.shown()
	s.step(desktop.Left{ID: "fs"})
	s.pass(29 * time.Second)
	s.silent()
	s.call(1, "fs__read", `{}`)
	s.one(`"isError":true`, "fs has left the topic", "not made", `"code":-31007`, `"executed":"no"`)
	s.pass(2 * time.Second)
	s.one("notifications/tools/list_changed")
	s.call(2, "fs__read", `{}`)
	s.one(`-32602`)
	if names := s.shown(); len(names) != 0 {
		t.Errorf("still shown: %q", names)
	}
	s.none("tools/call")
}

func TestWhoComesBackInTimeWasNeverAway(t *testing.T) { // O105
	s := newStage(t, desktop.Config{})
	tools := map[string][]string{"fs": {tool("read")}}
	s.join(tools)
	s.meet(`{}`)
	s.shown()
	s.step(desktop.Left{ID: "fs"})
	s.pass(20 * time.Second)
	s.step(desktop.Came{Peer: desktop.Peer{ID: "fs"}})
	s.serveLists(tools)
	s.pass(4 * time.Minute)
	s.silent()
}

func TestFiveHundredChangesAreFewRequestsAndOneNotification(t *testing.T) {
	s := newStage(t, desktop.Config{})
	tools := map[string][]string{"fs": {}}
	s.join(tools)
	s.meet(`{}`)
	s.shown()
	asked := 0
	for i := range 500 {
		tools["fs"] = append(tools["fs"], tool(fmt.Sprintf("t%d", i)))
		s.step(desktop.Noticed{From: "fs", Method: "notifications/tools/list_changed"})
		s.pass(time.Millisecond)
		asked += len(s.asks)
		s.serveLists(tools)
	}
	s.pass(time.Second)
	asked += len(s.asks)
	s.serveLists(tools)
	s.pass(time.Second)
	if asked > 4 {
		t.Errorf("the list was asked for %d times", asked)
	}
	if said := s.heard(); len(said) < 1 || len(said) > 2 {
		t.Errorf("%d notifications: %q", len(said), said)
	}
	if names := s.shown(); len(names) != 500 {
		t.Errorf("%d tools are shown", len(names))
	}
	s.step(desktop.Noticed{From: "fs", Method: "notifications/tools/list_changed"})
	s.pass(time.Second)
	s.serveLists(tools)
	s.pass(time.Second)
	s.silent() // the same list again is no change (O105)
}

func TestTheFirstListWaitsForThoseWhoAreThere(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.meet(`{}`)
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}, {ID: "mute", Mute: true}, {ID: "me"}}})
	s.pass(4 * time.Second)
	s.silent()
	s.call(2, "fs__read", `{}`) // a name that a client remembers waits as well
	s.serveLists(map[string][]string{"fs": {tool("read")}})
	s.one(`"id":1`, "fs__read")
	s.open("tools/call")
	if s.ready != 1 {
		t.Errorf("ready %d times", s.ready)
	}
}

func TestTheFirstListWaitsNoLongerThanFiveSeconds(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.meet(`{}`)
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "slow"}}})
	s.pass(4999 * time.Millisecond)
	s.silent()
	s.pass(time.Millisecond)
	s.one(`"id":1`, `mcpx_peers`)
	if s.ready != 1 {
		t.Errorf("ready %d times", s.ready)
	}
	s.answer(s.open("tools/list"), list(tool("late")))
	s.pass(time.Second)
	s.one("notifications/tools/list_changed")
}

func TestWithoutATopicThereIsAListAndNothingIsReady(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.meet(`{}`)
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.pass(5 * time.Second)
	s.one(`"id":1`, `mcpx_peers`)
	s.call(2, "mcpx_peers", `{}`)
	s.one(`"connected":false`, "not connected to the topic: it has not joined yet")
	if s.ready != 0 {
		t.Error("ready without a seat")
	}
	s.join(map[string][]string{"fs": {tool("read")}})
	s.pass(time.Second)
	s.one("notifications/tools/list_changed")
	if s.ready != 1 {
		t.Errorf("ready %d times", s.ready)
	}
}

func TestAClientThatIgnoresChangesCanStillCallWhoCame(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.join(nil)
	s.meet(`{}`)
	s.shown()
	for i := range 50 {
		id := fmt.Sprintf("p%d", i)
		s.step(desktop.Came{Peer: desktop.Peer{ID: id}})
		s.serveLists(map[string][]string{id: {tool("work")}})
		s.pass(time.Second)
		s.one("list_changed") // which it does not heed
	}
	s.call(1, "mcpx_call", `{"peer":"p7","tool":"work","arguments":{"n":1}}`)
	if a := s.open("tools/call"); a.To != "p7" || string(a.Params) != `{"name":"work","arguments":{"n":1}}` {
		t.Errorf("asked: %v", a)
	}
	s.call(2, "p8__work", `{}`) // by a name that it was never told
	s.call(3, "mcpx_peers", `{}`)
	s.one(`"peer":"p49"`)
}

func TestAPeerIsGreetedFirstWhereThatIsTheRule(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Greet: true, Peers: []desktop.Peer{{ID: "fs"}}})
	s.none("tools/list")
	s.answer(s.open("initialize"), `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"x","version":"1"}}`)
	if len(s.tells) != 1 || s.tells[0].Method != "notifications/initialized" {
		t.Errorf("told: %v", s.tells)
	}
	s.none("resources/list")
	s.answer(s.open("prompts/list"), `{"prompts":[{"name":"p.1","arguments":[{"name":"x"}]}]}`)
	s.answer(s.open("tools/list"), `{"tools":[`+tool("a")+`],"nextCursor":"more"}`)
	if a := s.open("tools/list"); string(a.Params) != `{"cursor":"more"}` {
		t.Errorf("the next page is asked for with %s", a.Params)
	}
	s.answer(s.open("tools/list"), `{"tools":[`+tool("b")+`],"nextCursor":"more"}`) // the same again: no endless list
	if names := s.shown(); !slices.Equal(names, []string{"fs__a", "fs__b"}) {
		t.Errorf("shown: %q", names)
	}
	s.line(`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`)
	name := desktop.Pair{Peer: "fs", Name: "p.1"}.Export(46)
	s.one(name, `"arguments":[{"name":"x"}]`)
	s.line(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":%q,"arguments":{"x":"1"}}}`, name)
	a := s.open("prompts/get")
	if string(a.Params) != `{"name":"p.1","arguments":{"x":"1"}}` {
		t.Errorf("asked: %s", a.Params)
	}
	s.answer(a, `{"messages":[ 1.0 ]}`)
	s.one(`"id":3,"result":{"messages":[ 1.0 ]}`)
}

func TestASilentPeerIsAskedAgainAFewTimes(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
	for try := range 4 {
		s.open("tools/list")
		s.pass(15 * time.Second)
		s.none("tools/list")
		s.pass(time.Duration(try+1) * 5 * time.Second)
	}
	s.none("tools/list")
}

func TestResourcesKeepTheirURIs(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
	s.answer(s.open("resources/list"), `{"resources":[{"uri":"file:///a/../b?q=%20#f","name":"b"}]}`)
	s.answer(s.open("resources/templates/list"), `{"resourceTemplates":[{"uriTemplate":"file:///{+path}","name":"any"}]}`)
	s.serveLists(nil)
	s.line(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
	s.one(`"uri":"mcpx://fs/file:///a/../b?q=%20#f"`, `"name":"b"`)
	s.line(`{"jsonrpc":"2.0","id":2,"method":"resources/templates/list"}`)
	s.one(`"uriTemplate":"mcpx://fs/file:///{+path}"`)
	s.line(`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"mcpx://fs/file:///a/../b?q=%%20#f"}}`)
	a := s.open("resources/read")
	if string(a.Params) != `{"uri":"file:///a/../b?q=%20#f"}` {
		t.Errorf("asked: %s", a.Params)
	}
	s.fault(a, `{"code":-32002,"message":"gone","data":{"x":1.0}}`)
	s.one(`"id":3,"error":{"code":-32002,"message":"gone","data":{"x":1.0}}`)
	for _, uri := range []string{"file:///a", "mcpx://other/file:///a", "mcpx://fs", "mcpx://fs/", "mcpx:///a", "mcpx://%66s/x"} {
		s.line(`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":%q}}`, uri)
		s.one(`-32602`)
	}
}
