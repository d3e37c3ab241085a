package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
)

// participant starts a command as bob on a stage with those present.
func participant(t *testing.T, d tongue, present []string, args ...string) (*stage, *sidecar) {
	t.Helper()
	g := openStage(t, d)
	g.me = "bob"
	g.side = launch{raw: true, flags: append(args, "--gateway", g.url, "--topic", "t1", "--id", "bob")}.start(t, g.url)
	g.accept()
	g.greet(present...)
	return g, g.side
}

// sees takes one request of a method to each of those, in any order, whose ids are
// then $method-to.
func (g *stage) sees(method string, to ...string) {
	g.t.Helper()
	for range to {
		frame := g.next()
		for strings.Contains(frame, `"reason":"no answer in time"`) { // of a handshake that nobody answers, on a busy machine
			frame = g.next()
		}
		i := slices.IndexFunc(to, func(id string) bool {
			return g.names.mismatch(fmt.Sprintf(`{"to":[%q],"payload":{"method":%q}}`, id, method), frame) == ""
		})
		if i < 0 {
			g.fail("%s is no %s to %q", cut(frame), method, to)
		}
		g.names.mismatch(fmt.Sprintf(`{"id":"$%s-%s"}`, method, to[i]), frame)
	}
}

// answers answers what sees saw.
func (g *stage) answers(from, method, result string) {
	g.t.Helper()
	id := g.names["$"+method+"-"+from]
	g.send(g.d.frame("re-"+strings.Trim(id, `"`), from, g.me, g.d.kind("response", method, ""), strings.Trim(id, `"`), `{"jsonrpc":"2.0","id":`+id+`,"result":`+result+`}`))
}

const echoTool = `{"tools":[{"name":"echo","description":"says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`

func cancels(to string) string {
	return fmt.Sprintf(`{"to":[%q],"payload":{"method":"notifications/cancelled"}}`, to)
}

// Most of those who do not say what tools they have never will: whoever proposed waited
// ten seconds for them, and took back at once what it proposed then (FINDINGS D7).
func TestAProposalDoesNotWaitForWhoIsSilent(t *testing.T) {
	t.Parallel()
	g, s := participant(t, mew4, []string{"fs", "alice", "carol"}, "propose", "echo", "text=x", "--timeout", "8s")
	g.sees("tools/list", "fs", "alice", "carol")
	g.answers("fs", "tools/list", echoTool)
	g.expectAll(cancels("alice"), cancels("carol"), mew4.proposalOf("", "mcp/proposal", ""))
	g.fulfil("fs", "s1", g.proposalID())
	g.respond("bob", "s1", echoed)
	s.exits(0)
}

// What is proposed when its own time is over can only be taken back (FINDINGS D7).
func TestNothingIsProposedAfterItsTime(t *testing.T) {
	t.Parallel()
	g, s := participant(t, mew4, []string{"fs", "alice"}, "propose", "echo", "text=x", "--timeout", "800ms")
	g.sees("tools/list", "fs", "alice")
	g.answers("fs", "tools/list", echoTool)
	g.expect(cancels("alice"))
	s.exits(9, "what arguments echo takes in time")
	if strings.Contains(s.stderr.text(), "proposed echo") {
		t.Error(s.stderr.text())
	}
}

// A table that is empty because nobody answered looked like a topic without tools
// (FINDINGS D20).
func TestToolsNamesWhoDidNotAnswer(t *testing.T) {
	t.Parallel()
	g, s := participant(t, mew4, []string{"fs", "alice", "carol", "dave"}, "tools")
	g.sees("tools/list", "fs", "alice", "carol", "dave")
	g.answers("fs", "tools/list", echoTool)
	id := strings.Trim(g.names["$tools/list-dave"], `"`)
	g.send(mew4.frame("no", "dave", "bob", "mcp/response", id, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"none here"}}`))
	s.exits(0, "alice and carol did not answer tools/list", "hint: mcpx-bridge tools PEER waits longer")
	if !strings.Contains(s.events.text(), "echo") || strings.Contains(s.stderr.text(), "dave") {
		t.Errorf("%s\n%s", s.events.text(), s.stderr.text())
	}

	_, s = participant(t, mew4, []string{"alice", "carol"}, "tools")
	s.exits(9, "alice and carol did not answer tools/list")
	_, s = participant(t, mew4, nil, "tools")
	s.exits(0)
}

// Two hundred pages of 16 MiB were taken from one participant, 863 MB of memory.
// They have some seconds to come, so no other test of ours runs beside this one.
func TestTheToolsOfOneParticipantFilledTheMemory(t *testing.T) {
	big := func(i int) string {
		return fmt.Sprintf(`{"tools":[{"name":"t%d","description":%q}],"nextCursor":"%d"}`, i, strings.Repeat("x", 900<<10), i)
	}
	for _, args := range [][]string{{"tools", "--json"}, {"tools", "fs", "--json"}} {
		g, s := participant(t, mew4, []string{"fs"}, args...)
		g.sees("tools/list", "fs")
		g.answers("fs", "tools/list", `{"tools":[],"nextCursor":"big"}`) // a first word, for which one is given a second
		delete(g.names, "$tools/list-fs")
		for i := range 5 {
			g.sees("tools/list", "fs")
			g.answers("fs", "tools/list", big(i))
			delete(g.names, "$tools/list-fs")
		}
		s.exits(0, "fs lists more than 512 tools, 4 MiB or 200 pages: what comes from \"t4\" on is left out")
		if n := len(s.events.text()); n < 3<<20 || n > 4<<20 {
			t.Errorf("%d bytes are listed", n)
		}
	}

	g, s := participant(t, mew4, []string{"fs"}, "call", "fs__last", "{}")
	g.sees("tools/list", "fs")
	var many []string
	for i := range 600 {
		many = append(many, fmt.Sprintf(`{"name":"t%d"}`, i))
	}
	g.answers("fs", "tools/list", `{"tools":[`+strings.Join(many, ",")+`],"nextCursor":"more"}`)
	s.exits(1, "what comes from \"t512\" on is left out")

	g, s = participant(t, mew4, []string{"fs"}, "tools", "fs")
	for i := range 5 {
		g.sees("tools/list", "fs")
		g.answers("fs", "tools/list", fmt.Sprintf(`{"tools":[],"nextCursor":"%d%s"}`, i, strings.Repeat("x", 900_000)))
		delete(g.names, "$tools/list-fs")
	}
	s.exits(0, "what comes from \"the next page\" on is left out")
}

// Native participants never answer a handshake: whoever called one waited for that
// until its time was over (FINDINGS D3).
func TestWhoNeverShakesHandsIsCalled(t *testing.T) {
	t.Parallel()
	for _, d := range []tongue{d0, d1} {
		g, s := participant(t, d, []string{"fs"}, "call", "fs", "echo", `{"text":"x"}`)
		g.sees("initialize", "fs")
		g.sees("tools/call", "fs")
		g.answers("fs", "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"late","version":"1"}}`)
		g.expect(`{"payload":{"method":"notifications/initialized"}}`)
		g.answers("fs", "tools/call", `{"content":[{"type":"text","text":"there"}]}`)
		s.exits(0)
		if strings.TrimSpace(s.events.text()) != "there" {
			t.Error(s.events.text())
		}
	}
	g, s := participant(t, d1, []string{"fs", "alice"}, "tools")
	g.sees("initialize", "fs", "alice")
	g.sees("tools/list", "fs", "alice")
	g.answers("fs", "tools/list", echoTool)
	s.exits(0, "alice did not answer")
}

// A tool that ran and gave back a number had failed, or printed nothing (FINDINGS D9, D17).
func TestCallShowsABareValueAsText(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`8`: "8\n", `"hello"`: "hello\n", `{"a":1}`: "{\"a\":1}\n", `[1,2]`: "[1,2]\n", `true`: "true\n",
		`{"content":"hello"}`: "{\"content\":\"hello\"}\n", `{"content":["a"]}`: "{\"content\":[\"a\"]}\n", "\"\u202e\\u001b[2J\"": "\\u{202e}\\u{1b}[2J\n",
		`{}`: "", `null`: "", `""`: "",
	} {
		g, s := participant(t, mew4, []string{"fs"}, "call", "fs", "echo", `{"text":"x"}`)
		g.sees("tools/call", "fs")
		g.answers("fs", "tools/call", value)
		said := "fs answered echo with a bare value, which is shown as text"
		if want == "" {
			said = "fs answered echo without a value"
		}
		s.exits(0, said)
		if got := strings.TrimSpace(s.events.text()); got != strings.TrimSpace(want) {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
	g, s := participant(t, mew4, []string{"fs"}, "propose", "fs", "echo", `{"text":"x"}`)
	g.expect(`{"id":"$p","kind":"mcp/proposal"}`)
	g.fulfil("fs", "s1", g.proposalID())
	g.respond("bob", "s1", `{}`)
	s.exits(0, "fs answered echo without a value")
	for result, code := range map[string]int{`{"content":[]}`: 0, `{"isError":true}`: 1, `{"structuredContent":{"a":1}}`: 0} {
		r, bare := client.ReadResult([]byte(result))
		if bare || r.IsError != (code == 1) {
			t.Errorf("%s: bare %v, failed %v", result, bare, r.IsError)
		}
	}
}

// Whatever else it holds, an answer says of itself that the tool failed, or that it is no result yet.
func TestCallFailsWhereTheAnswerIsNoResult(t *testing.T) {
	t.Parallel()
	for answer, said := range map[string]string{
		`{"isError":true,"content":"boom"}`:                "fs says that echo failed",
		`{"isError":true,"content":[{"type":7}]}`:          "fs says that echo failed",
		`{"isError":true,"content":[],"_meta":{}}`:         "fs says that echo failed",
		`{"resultType":"input_required","content":[]}`:     "fs answers echo with input_required, which is no result",
		`{"resultType":"task","task":{"taskId":"t"}}`:      "fs answers echo with task, which is no result",
		`{"resultType":7,"content":"boom"}`:                "fs answers echo with 7, which is no result",
		`{"resultType":"complete","content":[]}`:           "",
		`{"resultType":null,"content":[]}`:                 "",
		`{"content":[{"type":"text","text":""}],"x":null}`: "",
	} {
		g, s := participant(t, mew4, []string{"fs"}, "call", "fs", "echo", `{"text":"x"}`)
		g.sees("tools/call", "fs")
		g.answers("fs", "tools/call", answer)
		s.exits(map[bool]int{true: 1}[said != ""], said)
	}
	g, s := participant(t, mew4, []string{"fs"}, "propose", "fs", "echo", `{"text":"x"}`)
	g.expect(`{"id":"$p","kind":"mcp/proposal"}`)
	g.fulfil("fs", "s1", g.proposalID())
	g.respond("bob", "s1", `{"jsonrpc":"2.0","id":7,"result":{"resultType":"input_required"}}`)
	s.exits(1, "fs answers echo with input_required, which is no result")
}
