package bridge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
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
		if s.noted("asked", "") || len(s.shown) > 0 {
			t.Errorf("somebody was bothered: %+v", s.notes)
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
				t.Fatalf("%s: %q", method, s.lines)
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

// What is not for us is dropped as what cannot be read, and nobody answers it.
func TestAnAmbiguousRequestToSomebodyElseIsTheirs(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.arrive(`{"protocol":"mcpx/v0.1","id":"e1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["carol"],"kind":"mcp/request:tools/call","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"a":1,"A":2}}}}`)
	s.nothing("it is not for us")
	if !s.noted("dropped", "json_keys_alike") {
		t.Errorf("%+v", s.notes)
	}
}
