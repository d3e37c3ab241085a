package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// siblings are arguments of read_file that a lenient server reads in another way
// than a strict one, and how the refusal names the two keys.
var siblings = []struct{ arguments, keys string }{
	{`{"path":"/srv/docs/a.txt","PATH":"/srv/docs/.ssh/id_rsa"}`, `\"PATH\" beside \"path\"`},
	{`{"path":"/a","x":[{"y":{"amount":1,"Amount":99999}}]}`, `\"Amount\" beside \"amount\"`},
	{`{"path":"/a","ｐａｔｈ":"/b"}`, `\"\\uff50\\uff41\\uff54\\uff48\" beside \"path\"`},
	{"{\"path\":\"/a\",\"pas\":1,\"pa\u017f\":1}", `\"pa\\u017f\" beside \"pas\"`},
	{"{\"path\":\"/a\",\"key\":1,\"\u212aey\":1}", `\"\\u212aey\" beside \"key\"`},
	{`{"path":"/a","path\u0000x":"/b"}`, `\"path\\x00x\" beside \"path\"`},
}

// FINDINGS H1.
func TestASiblingKeyInAnotherCaseReachesNoServer(t *testing.T) {
	everyDialect(t, strings.ReplaceAll(asksAlice, "default: deny", "default: allow"), func(s *stage) {
		for i, c := range siblings {
			for _, tool := range []string{"read_file", "write_file"} { // allowed, and asked
				s.asksFor("bob", fmt.Sprint(tool, i), "7", tool, c.arguments, "")
				s.refused(-32602, c.keys, `"reason":"invalid_params"`)
			}
		}
		s.asksFor("bob", "meta", "7", "read_file", `{"path":"/a"}`, `"_meta":{"account":1,"Account":2},`)
		s.refused(-32602, `\"Account\" beside \"account\"`)
		s.asksFor("bob", "name", "7", "read_file", `{"path":"/a"}`, `"Name":"write_file",`)
		s.refused(-32602, `\"Name\" for \"name\"`)
		if s.noted(record.Asked, "") || len(s.shown) > 0 {
			s.t.Errorf("somebody was bothered: %+v", s.notes)
		}
		s.asksFor("bob", "good", "7", "read_file", `{"path":"/a"}`, "")
		s.crossed(`{"path":"/a"}`)
	})
}

// Every method whose parameters reach the server.
func TestASiblingKeyOfAnyMethodReachesNoServer(t *testing.T) {
	everyDialect(t, "version: 1\ndefault: allow\n", func(s *stage) {
		for method, params := range map[string]string{
			"resources/read":      `{"uri":"file:///a","ｕri":"file:///b"}`,
			"resources/subscribe": `{"uri":"file:///a","URI":"file:///b"}`,
			"prompts/get":         `{"name":"p","arguments":{"who":"me","WHO":"you"}}`,
			"completion/complete": `{"ref":{"type":"ref/prompt","name":"p","Name":"q"},"argument":{"name":"a","value":"b"}}`,
			"tasks/get":           `{"taskId":"a","taskid":"b"}`,
			"tasks/cancel":        `{"taskId":"a","TaskId":"b"}`,
			"acme/spin":           `{"x":{"speed":1,"Speed":2}}`,
		} {
			key := "p"
			if strings.HasPrefix(method, "resources/") {
				key = "file:///a"
			}
			s.says("bob", method, wire.Request, method, key, "", `{"jsonrpc":"2.0","id":3,"method":"`+method+`","params":`+params+`}`)
			s.refused(-32602, "can be read in two ways")
			if len(s.lines) > 0 {
				s.t.Fatalf("%s: %q", method, s.lines)
			}
		}
	})
}

func TestAProposalWithASiblingKeyIsInvalid(t *testing.T) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
		s := proposalStage(t, protocol, "fulfil: policy")
		for i, c := range siblings {
			s.proposes("bob", fmt.Sprint("p", i), "fs", "read_file", c.arguments, "")
			s.has(strings.Join(s.frames, ""), c.keys)
			s.rejected("invalid")
		}
		s.proposes("bob", "px", "fs", "read_file", path, `,"Targeting":{"preferred":["fs"]},"targeting":{}`)
		s.rejected("invalid")
		if s.asked() != 0 || len(s.shown) > 0 {
			t.Errorf("%s: it ran, or somebody was asked", protocol)
		}
	}
}

// Seed 2508: whoever gave a reason too ended the bridge.
func TestAnAmbiguousProposalOrRequestForOneMaySayWhy(t *testing.T) {
	const two = `{"name":"read_file","Name":"write_file","arguments":{"path":"/a"},"_meta":{"mcpx/justification":"because"}}`
	s := proposalStage(t, "mcpx/v0.1", "fulfil: policy")
	s.says("bob", "p1", wire.Proposal, "tools/call", "read_file", "", `{"method":"tools/call","params":`+two+`}`)
	s.rejected("invalid")
	s.proposes("bob", "p2", "carol", "read_file", path, "")
	s.frames = nil
	s.says("bob", "r1", wire.Request, "tools/call", "read_file", "p2", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+two+`}`)
	s.refused(-32602, `\"Name\" for \"name\"`)
}

// What is not for us is dropped as what cannot be read, and nobody answers it.
func TestAnAmbiguousRequestToSomebodyElseIsTheirs(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.arrive(`{"protocol":"mcpx/v0.1","id":"e1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["carol"],"kind":"mcp/request:tools/call","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"a":1,"A":2}}}}`)
	s.nothing("it is not for us")
	if !s.noted(record.Dropped, "json_keys_alike") {
		t.Errorf("%+v", s.notes)
	}
}

// FINDINGS H5: an edit is judged like what arrived, and folding comes first.
func TestAnEditThatMakesASiblingDoesNotRun(t *testing.T) {
	lenient := strings.Replace(asksAlice, "arg: /target,", "arg: /where,", 1)
	everyDialect(t, lenient, func(s *stage) {
		s.asksFor("bob", "e7", "7", "deploy", `{"target":"staging","WHERE":"staging"}`, "")
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"production"}}`)
		s.refused(-31001, `"reason":"invalid_modification"`)
	})
	everyDialect(t, lenient, func(s *stage) { // by whom it was passed on to, too
		s.asksFor("bob", "e7", "7", "deploy", `{"target":"staging","ｗhere":"staging"}`, "")
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"delegate","delegateTo":"carol"}}`)
		s.answers("carol", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"production"}}`)
		s.refused(-31001, `"reason":"invalid_modification"`)
	})
	everyDialect(t, lenient, func(s *stage) { // left alone, it runs as it came
		s.asksFor("bob", "e7", "7", "deploy", `{"target":"staging","WHERE":"staging"}`, "")
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve"}}`)
		s.crossed(`{"target":"staging","WHERE":"staging"}`)
	})
}

// FINDINGS H1: a schema says nothing of the member that a lenient server reads.
func TestAKeyThatTheSchemaNamesOtherwiseIsRefused(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i, c := range []struct{ schema, arguments, key string }{
		{`{"type":"object","properties":{"amount":{"type":"integer"}}}`, `{"Amount":99999}`, `\"Amount\" for \"amount\"`},
		{`{"type":"object","properties":{"amount":{"type":"integer","maximum":9}}}`, `{"ａmount":99999}`, `\"\\uff41mount\" for \"amount\"`},
		{`{"type":"object","properties":{"x":{"type":"string"}},"required":["path"]}`, `{"x":"a","path":"b","X\u0000":"c"}`, ``},
		{`{"type":"object","properties":{"to":{"type":"object","properties":{"env":{"const":"x"}}}}}`, `{"to":{"ENV":"y"}}`, `\"ENV\" for \"env\"`},
		{`{"type":"object","properties":{"all":{"type":"array","items":{"$ref":"#/$defs/one"}}},"$defs":{"one":{"properties":{"env":{}}}}}`, `{"all":[{},{"Env":1}]}`, `\"Env\" for \"env\"`},
		{`{"allOf":[{"properties":{"a":{}}},{"anyOf":[{"properties":{"path":{}}}]}]}`, `{"PATH":1}`, `\"PATH\" for \"path\"`},
		{`{"type":"object","additionalProperties":{"properties":{"path":{}}}}`, `{"free":{"Path":1}}`, `\"Path\" for \"path\"`},
	} {
		s.relists(`{"tools":[{"name":"read_file","inputSchema":` + c.schema + `}]}`)
		s.frames, s.lines = nil, nil
		s.call("bob", fmt.Sprint("e", i), "7", "read_file", c.arguments)
		if frame := s.only(); c.key == "" {
			s.has(frame, `-32602`)
		} else {
			s.has(frame, `-32602`, `invalid_arguments`, c.key)
		}
	}
	for _, c := range []struct{ schema, arguments string }{
		{`{"type":"object","properties":{"path":{},"Path":{}}}`, `{"Path":1}`},
		{`{"type":"object","properties":{"title":{},"properties":{"type":"object"}}}`, `{"properties":{"Title":{}}}`},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":"x","b":"y"}`},
		{`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":{"b":1}}}`},
		{`{"type":"object","required":["Id"],"properties":{"id":{}}}`, `{"Id":1}`},
	} {
		check, err := catalog.CompileSchema([]byte(c.schema))
		if err == nil {
			err = check([]byte(c.arguments))
		}
		if err != nil {
			t.Errorf("%s by %s: %v", c.arguments, c.schema, err)
		}
	}
}

// FINDINGS L6: Node's readline ends a line at U+2028.
func TestALineSeparatorReachesTheServerAsAnEscape(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.asksFor("bob", "e1", "7", "read_file", "{\"path\":\"a\u2028b\u2029’\"}", "")
		s.crossed(`{"path":"a\u2028b\u2029’"}`)
		s.frames, s.lines = nil, nil
		s.asksFor("bob", "e2", "8", "write_file", "{\"path\":\"/a\",\"text\":\"\u2028\"}", "")
		s.answers("alice", s.question(), true, yes)
		s.crossed(`{"path":"/a","text":"\u2028"}`)
	})
}

// What our own members of _meta stand beside is not left out of this.
func TestASiblingOfWhatWeAddReachesNoServer(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.do(ServerUp{Hello{PID: 1, Revision: "2026-07-28", Modern: true, Meta: []byte(`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`), Result: []byte(`{}`),
		Capabilities: []byte(`{"tools":{}}`)}})
	s.answerListing(tools)
	s.frames, s.lines = nil, nil
	s.asksFor("bob", "e1", "7", "read_file", path, `"_meta":{"io.modelcontextprotocol/ProtocolVersion":"1"},`)
	s.refused(-32602, `\"io.modelcontextprotocol/ProtocolVersion\" beside`)
}

func TestAMethodThatIsAnotherToACarelessServerIsUnknown(t *testing.T) {
	everyDialect(t, "version: 1\ndefault: allow\nrules:\n - {name: never, deny: ['*'], methods: [tools/call, resources/read]}\n", func(s *stage) {
		for i, method := range []string{"Tools/Call", "resources/READ", "resources/read\u00a0", "ｔools/call", "tools/call\x00"} {
			quoted := string(jsonrpc.AppendQuote(nil, method))
			head := `{"protocol":"` + s.dialect.Protocol + `","id":"` + fmt.Sprint("e", i) + `","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":`
			kind := map[bool]string{true: `"mcp"`, false: `"mcp/request"`}[s.dialect.Protocol == "mcp-x/v0"]
			if s.dialect.Protocol == "mcpx/v0.1" {
				kind = `"mcp/request:` + quoted[1:]
			}
			s.arrive(head + kind + `,"payload":{"jsonrpc":"2.0","id":1,"method":` + quoted + `,"params":{"name":"read_file","arguments":{}}}}`)
			if len(s.lines) > 0 {
				s.t.Fatalf("%+q reached the server: %q", method, s.lines)
			}
		}
	})
}
