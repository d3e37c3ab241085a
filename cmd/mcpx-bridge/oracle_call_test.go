package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// open lets everything through that these cases call, so that what they show is
// not the policy's doing.
var openRules = []string{"--allow", "read_*", "--deny", "delete_*",
	"--allow", "slow", "--allow", "wait", "--allow", "raw", "--allow", "crash", "--allow", "fail", "--allow", "rpcerror",
	"--allow", "progress", "--allow", "notify", "--allow", "echo", "--allow", "ask", "--allow", "exotic", "--allow", "big", "--allow", "grow"}

// A play is one stage and one sidecar on which the cases of a dialect are
// played one after the other.
type play struct {
	*stage
	s *sidecar
}

// case plays one oracle.
func (p play) oracle(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		outer := p.stage.t
		p.stage.t, p.s.t = t, t
		defer func() { p.stage.t, p.s.t = outer, outer }()
		p.stage.names = names{}
		f(t)
		p.quiet()
	})
}

// lastGiven is the line with which the server got its latest call.
func (p play) lastGiven() string {
	p.stage.t.Helper()
	p.reached(1)
	lines := p.s.given("tools/call")
	return lines[len(lines)-1]
}

// reached waits until everything the stage has sent is at the server.
func (p play) reached(atLeast int) {
	p.stage.t.Helper()
	p.quiet()
	if n := p.s.ran(); n < atLeast {
		p.fail("the server was given %d calls", n)
	}
}

// known is how the server knows a call: its id and progress token there.
type known struct {
	ID     json.RawMessage
	Params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
}

func knownAs(t *testing.T, line string) known {
	t.Helper()
	var k known
	if err := json.Unmarshal([]byte(line), &k); err != nil {
		t.Fatal(err)
	}
	return k
}

// says makes the server write lines, by a call of dave's to the tool raw.
func (p play) says(env string, lines ...string) {
	p.stage.t.Helper()
	lines = append(lines, `{"jsonrpc":"2.0","id":$ID,"result":{}}`, "")
	p.request(env, "dave", call("1", "raw", fmt.Sprintf(`{"text":%s}`, quoted(strings.Join(lines, "\n")))))
}

// said is the pattern of dave's answer to says.
func (p play) said(env string) string {
	return p.d.reply("dave", env, "tools/call", "raw", `{"id":1,"result":{}}`)
}

func TestOraclesOfCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, s := perform(t, d, launch{rules: openRules})
		p := play{g, s}
		p.oracle(t, "O18 a call crosses and its answer comes back", p.o18)
		p.oracle(t, "O19 ids keep their type and their digits", p.o19)
		p.oracle(t, "O20 two callers may use the same id", p.o20)
		p.oracle(t, "O21 requests to others, to everybody and to several are let pass", p.o21)
		p.oracle(t, "O22 an echo of our own id runs nothing", p.o22)
		p.oracle(t, "O29 the server is initialised once, whoever asks", p.o29)
		p.oracle(t, "O30 a ping is answered here", p.o30)
		p.oracle(t, "O31 a frame that comes twice runs once", p.o31)
		p.oracle(t, "O32 what cannot work is refused before it is judged", p.o32)
		p.oracle(t, "O33 what is denied never reaches the server", p.o33)
		p.oracle(t, "O34 the server's own errors pass unchanged", p.o34)
		p.oracle(t, "O35 only the caller can take a call back", p.o35)
		p.oracle(t, "O36 a changed list is told to everybody", p.o36)
		p.oracle(t, "O37 progress goes to the owner of the token", p.o37)
		// Last, because the server has to come back after it.
		p.oracle(t, "O34 a crash in the middle of a call leaves its outcome unknown", p.crash)
	})
}

func (p play) o18(t *testing.T) {
	before := p.s.ran()
	p.request("e18", "bob", call("42", "read_file", `{"path":"/a"}`))
	p.expect(p.d.reply("bob", "e18", "tools/call", "read_file",
		`{"jsonrpc":"2.0","id":42,"result":{"content":[{"type":"text","text":"contents of /a"}]}}`))
	p.quiet()
	given := p.s.given("tools/call")[before:]
	if len(given) != 1 {
		t.Fatalf("the server was given %q", given)
	}
	if why := (names{}).mismatch(`{"jsonrpc":"2.0","id":"*","method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"}}}`, given[0]); why != "" {
		t.Error(why)
	}
	if string(knownAs(t, given[0]).ID) == "42" {
		t.Error("the caller's id reached the server")
	}
}

// theIDs are JSON-RPC ids that lesser bridges change.
var theIDs = []string{`7`, `"7"`, `0`, `-1`, `1.0`, `9007199254740993`, `"42"`, `""`, `1e2`, `"é\u2028<&>"`}

func (p play) o19(*testing.T) {
	for i, id := range theIDs {
		env := fmt.Sprintf("e19-%d", i)
		p.request(env, "bob", call(id, "read_file", `{"path":"/a"}`))
		frame := p.expect(p.d.reply("bob", env, "tools/call", "read_file", `{"id":`+id+`,"result":"*"}`))
		if !strings.Contains(frame, `"id":`+id+`,`) && !strings.Contains(frame, `"id":`+id+`}`) {
			p.fail("the id was %s and came back spelled otherwise: %s", id, frame)
		}
	}
}

func (p play) o20(t *testing.T) {
	before := p.s.ran()
	p.request("e20-b", "bob", call("1", "slow", `{"ms":60}`))
	p.request("e20-c", "carol", call("1", "slow", `{"ms":30}`))
	p.expectAll(
		p.d.reply("bob", "e20-b", "tools/call", "slow", `{"id":1,"result":"*"}`),
		p.d.reply("carol", "e20-c", "tools/call", "slow", `{"id":1,"result":"*"}`))
	given := p.s.given("tools/call")[before:]
	if len(given) != 2 || string(knownAs(t, given[0]).ID) == string(knownAs(t, given[1]).ID) {
		t.Errorf("the server was given %q", given)
	}
}

func (p play) o21(t *testing.T) {
	before := p.s.ran()
	read := call("1", "read_file", `{"path":"/a"}`)
	p.send(p.d.request("e21-a", "bob", "other", read))
	p.send(p.d.request("e21-b", "bob", "", read))
	p.send(strings.Replace(p.d.request("e21-c", "bob", "fs", read), `"to":["fs"]`, `"to":[]`, 1))
	p.send(strings.Replace(p.d.request("e21-d", "bob", "fs", read), `"to":["fs"]`, `"to":["fs","other"]`, 1))
	p.quiet()
	p.s.dropped("request_not_addressed")
	if n := p.s.ran(); n != before {
		t.Errorf("the server was given %d calls", n-before)
	}
}

func (p play) o22(t *testing.T) {
	before := p.s.ran()
	p.request("e22", "fs", call("1", "read_file", `{"path":"/a"}`))
	p.quiet()
	p.s.dropped("from_self")
	if n := p.s.ran(); n != before {
		t.Errorf("the server was given %d calls", n-before)
	}
}

func (p play) o29(t *testing.T) {
	for _, who := range []string{"bob", "carol"} {
		for _, revision := range []string{"2024-11-05", "2025-06-18"} {
			env := "e29-" + who + revision
			p.request(env, who, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, revision))
			p.expect(p.d.reply(who, env, "initialize", "",
				fmt.Sprintf(`{"id":1,"result":{"protocolVersion":%q,"capabilities":{"tools":"*","resources":"*","prompts":"*"},"serverInfo":{"name":"stdiotest","version":"1"}}}`, revision)))
		}
		p.request("e29-n-"+who, who, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	p.quiet()
	if a, b := len(p.s.given("initialize")), len(p.s.given("notifications/initialized")); a != 1 || b != 1 {
		t.Errorf("the server was initialised %d times and told so %d times", a, b)
	}
}

func (p play) o30(t *testing.T) {
	p.request("e30", "bob", `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	frame := p.expect(p.d.reply("bob", "e30", "ping", "", `{"jsonrpc":"2.0","id":"p","result":{}}`))
	if !strings.Contains(frame, `"result":{}`) {
		t.Errorf("the result is not empty: %s", frame)
	}
	if n := len(p.s.given("ping")); n != 0 {
		t.Errorf("the server was pinged %d times", n)
	}
}

func (p play) o31(t *testing.T) {
	before := p.s.ran()
	p.request("e31", "bob", call("1", "read_file", `{"path":"/a"}`))
	p.request("e31", "bob", call("1", "read_file", `{"path":"/a"}`))
	p.expect(p.d.reply("bob", "e31", "tools/call", "read_file", `{"id":1,"result":"*"}`))
	p.quiet()
	p.s.dropped("duplicate_envelope")
	p.request("e31", "bob", call("1", "read_file", `{"path":"/b"}`))
	p.quiet()
	p.s.dropped("duplicate_id_different_body")
	p.request("e31", "carol", call("1", "read_file", `{"path":"/c"}`)) // another's id is another id
	p.expect(p.d.reply("carol", "e31", "tools/call", "read_file", `{"id":1,"result":"*"}`))
	if n := p.s.ran() - before; n != 2 {
		t.Errorf("the server was given %d calls", n)
	}
}

func (p play) o32(t *testing.T) {
	before := p.s.ran()
	for i, c := range []struct{ tool, arguments, reason string }{
		{"nope", `{}`, "unknown_tool"},
		{"read_file", `{}`, "invalid_arguments"},
		{"read_file", `{"path":7}`, "invalid_arguments"},
		{"read_file", `"/a"`, "invalid_arguments"},
		{"deploy", `{"target":"mars"}`, "invalid_arguments"}, // nobody allowed it; the schema comes first
	} {
		env := fmt.Sprintf("e32-%d", i)
		p.request(env, "bob", call("1", c.tool, c.arguments))
		p.expect(p.d.reply("bob", env, "tools/call", c.tool,
			fmt.Sprintf(`{"id":1,"!result":0,"error":{"code":-32602,"message":"*","data":{"reason":%q,"executed":"no","retryable":false}}}`, c.reason)))
	}
	p.quiet()
	if n := p.s.ran(); n != before {
		t.Errorf("the server was given %d calls", n-before)
	}
}

func (p play) o33(t *testing.T) {
	before := p.s.ran()
	for i, c := range []struct{ tool, arguments, rule string }{
		{"delete_file", `{"path":"/a"}`, `"rule":"--deny delete_*"`},
		{"delete_all", `{}`, `"rule":"--deny delete_*"`},
		{"write_file", `{"path":"/a","text":"x"}`, `"!rule":0`}, // no rule names it
	} {
		env := fmt.Sprintf("e33-%d", i)
		p.request(env, "bob", call("1", c.tool, c.arguments))
		p.expect(p.d.reply("bob", env, "tools/call", c.tool,
			`{"id":1,"!result":0,"error":{"code":-31004,"message":"*","data":{"reason":"policy_denied","executed":"no","retryable":false,`+c.rule+`}}}`))
	}
	p.quiet()
	if n := p.s.ran(); n != before {
		t.Errorf("the server was given %d calls", n-before)
	}
}

func (p play) o34(*testing.T) {
	p.request("e34-a", "bob", call("1", "rpcerror", `{"code":-32050,"message":"x","data":{}}`))
	p.expect(p.d.reply("bob", "e34-a", "tools/call", "rpcerror", `{"id":1,"!result":0,"error":{"code":-32050,"message":"x","data":{}}}`))
	p.request("e34-b", "bob", call("1", "fail", `{"text":"it "}`))
	p.expect(p.d.reply("bob", "e34-b", "tools/call", "fail", `{"id":1,"result":{"content":[{"type":"text","text":"it failed"}],"isError":true}}`))
}

func (p play) crash(t *testing.T) {
	before := p.s.ran()
	p.request("e34-c", "bob", call("1", "crash", `{"code":3}`))
	p.expect(p.d.reply("bob", "e34-c", "tools/call", "crash",
		`{"id":1,"!result":0,"error":{"code":-31008,"message":"*","data":{"reason":"outcome_unknown","executed":"unknown","retryable":false}}}`))
	p.s.await(`{"event":"server_exit","exit":3}`)
	p.s.await(`{"event":"server_up","server_pid":"*"}`)
	p.settle() // whoever has an old list is told
	if n := p.s.ran() - before; n != 1 {
		t.Errorf("the call was given to a server %d times", n)
	}
	p.serves("e34-d")
}

func (p play) o35(t *testing.T) {
	p.request("e35", "bob", call("42", "wait", `{}`))
	id := knownAs(t, p.lastGiven()).ID
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":42,"reason":"changed my mind"}}`
	p.request("e35-m", "mallory", cancel)
	p.quiet()
	p.s.dropped("cancel_not_caller")
	if n := len(p.s.given("notifications/cancelled")); n != 0 {
		t.Fatalf("the server was given %q", p.s.given("notifications/cancelled"))
	}
	p.request("e35-c", "bob", cancel)
	p.quiet()
	given := p.s.given("notifications/cancelled")
	if len(given) != 1 || (names{}).mismatch(fmt.Sprintf(`{"!id":0,"params":{"requestId":%s}}`, id), given[0]) != "" {
		t.Fatalf("the server was given %q; the call is its %s", given, id)
	}
	p.says("e35-r", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"late":true}}`, id))
	p.expect(p.said("e35-r")) // the late answer would have come before it
	p.s.await(`{"event":"late"}`)
}

func (p play) o36(*testing.T) {
	for _, what := range []string{"tools", "resources", "prompts"} {
		env, method := "e36-"+what, "notifications/"+what+"/list_changed"
		p.request(env, "bob", call("1", "notify", fmt.Sprintf(`{"kind":%q}`, method)))
		p.expectAll(p.d.toAll(method), p.d.reply("bob", env, "tools/call", "notify", `{"id":1,"result":"*"}`))
	}
}

func (p play) o37(t *testing.T) {
	with := func(id, token string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"wait","arguments":{},"_meta":{"progressToken":%s}}}`, id, token)
	}
	p.request("e37-b", "bob", with("1", `"p"`))
	first := knownAs(t, p.lastGiven())
	p.request("e37-c", "carol", with("1", `"p"`))
	second := knownAs(t, p.lastGiven())
	if string(first.Params.Meta.Token) == string(second.Params.Meta.Token) {
		t.Errorf("the server knows both by the token %s", first.Params.Meta.Token)
	}
	p.says("e37-p", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":0.5,"total":1.0,"message":"half"}}`, first.Params.Meta.Token))
	p.expect(fmt.Sprintf(`{"to":["bob"],"kind":%q,"!correlation_id":0,"payload":{"!id":0,"method":"notifications/progress","params":{"progressToken":"p","progress":0.5,"total":1.0,"message":"half"}}}`,
		p.d.kind("request", "notifications/progress", "")))
	p.expect(p.said("e37-p"))
	answers := make([]string, 0, 2)
	for _, k := range []known{first, second} {
		answers = append(answers, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, k.ID))
	}
	p.says("e37-r", answers...)
	p.expect(p.d.reply("bob", "e37-b", "tools/call", "wait", `{"id":1,"result":{}}`))
	p.expect(p.d.reply("carol", "e37-c", "tools/call", "wait", `{"id":1,"result":{}}`))
	p.expect(p.said("e37-r"))
}

// Cases about kinds that name the method: mcpx/v0.1 alone.
func TestOraclesOfKinds(t *testing.T) {
	g, s := perform(t, d1, launch{rules: append(openMethods(t), openRules...)})
	p := play{g, s}
	p.oracle(t, "O23 a kind that names another tool than the call is not believed", func(*testing.T) {
		g.send(d1.frame("e23", "bob", "fs", "mcp/request:tools/call:read_file", "", call("1", "delete_file", `{"path":"/a"}`)))
		g.quiet()
		s.dropped("kind_payload_mismatch")
	})
	p.oracle(t, "O24 a kind that names another method than the call is not believed", func(*testing.T) {
		g.send(d1.frame("e24", "bob", "fs", "mcp/request:tools/list", "", call("1", "read_file", `{"path":"/a"}`)))
		g.quiet()
		s.dropped("kind_payload_mismatch")
	})
	p.oracle(t, "O25 the context of a kind may hold colons", func(*testing.T) {
		g.request("e25", "bob", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a:b.txt"}}`)
		g.expect(d1.reply("bob", "e25", "resources/read", "file:///a:b.txt", `{"id":1,"result":{"contents":[{"uri":"file:///a:b.txt"}]}}`))
	})
	p.oracle(t, "O26 a kind without context is answered with one", func(*testing.T) {
		g.send(d1.frame("e26", "bob", "fs", "mcp/request:tools/call", "", call("1", "read_file", `{"path":"/a"}`)))
		g.expect(d1.reply("bob", "e26", "tools/call", "read_file", `{"id":1,"result":"*"}`))
	})
	p.oracle(t, "O28 a response that is a request is not believed", func(*testing.T) {
		g.send(d1.frame("e28", "bob", "fs", "mcp/response:tools/call", "e1", call("1", "read_file", `{"path":"/a"}`)))
		g.quiet()
		s.dropped("kind_payload_mismatch")
	})
	if n := s.ran(); n != 1 {
		t.Errorf("the server was given %d calls, the only good one is O26's", n)
	}
	t.Run("O27 without leave for the context the kind goes without it", func(t *testing.T) {
		g, s := arrive(t, d1, launch{})
		g.send(d1.presence("p", "join", "fs"))
		g.send(d1.welcome("fs", `["mcp/response:tools/call","chat"]`, "bob"))
		s.ready()
		g.request("e27", "bob", call("1", "read_file", `{"path":"/a"}`))
		g.expect(`{"to":["bob"],"kind":"mcp/response:tools/call","correlation_id":"e27","payload":{"id":1,"result":"*"}}`)
	})
}
