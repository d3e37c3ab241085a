package bridge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A number that no exact fraction can be made of crashed the validator, and
// with it the bridge; any participant could send it. A large one only took
// seconds, which everybody else waited.
func TestNumbersTooLargeToBeCheckedAreRefused(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i, mode := range []string{"1e9999999", "-1E+99999999999999999999", "1e999999", "1e-401", strings.Repeat("9", 2000)} {
		s.call("bob", fmt.Sprint("e", i), "1", "write_file", `{"path":"a","mode":`+mode+`}`)
		s.has(s.only(), `"code":-32602`, `at '/mode': a number too large to be checked`, `"executed":"no"`)
	}
	s.call("bob", "f", "1", "read_file", `{"path":"a","nobody":1e9999999}`)
	if s.asked() != 1 {
		t.Error("a number that no schema looks at is passed on as it is")
	}
}

// The same in a schema: it checks nothing then, as any schema that is none.
func TestNumbersTooLargeInASchema(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 7}})
	s.answerListing(`{"tools":[{"name":"read_x","inputSchema":{"properties":{"n":{"multipleOf":1e9999999}}}}]}`)
	s.call("bob", "e", "1", "read_x", `{"n":5}`)
	if s.asked() != 1 {
		t.Error("the call did not reach the server")
	}
}

// The validator is not ours. Whatever it does, a call is refused and the
// bridge lives.
func TestAValidatorThatFallsOverRefuses(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.engine.server.tools.tools["read_file"].check = func([]byte) error { panic("index out of range") }
	s.call("bob", "e", "1", "read_file", `{"path":"a"}`)
	s.has(s.only(), `"code":-32602`, `"executed":"no"`)
}

// What does not fit is named in one order, though the validator goes through
// maps: the same events must give the same effects.
func TestTheFirstOfManyFaultsIsNamed(t *testing.T) {
	for range 50 {
		s := newStage(t, "mcpx/v0.1")
		s.call("bob", "e1", "1", "write_file", `{"mode":"x","path":5}`)
		s.has(s.only(), `at '/mode'`)
		s.call("bob", "e2", "1", "write_file", `{"path":"a","z":1,"y":1,"x":1,"w":1}`)
		s.has(s.only(), `'w', 'x', 'y', 'z'`)
	}
}

// A refusal does not repeat all that was wrong: quoted it could be too large
// for any frame, and the caller would hear nothing.
func TestARefusalIsShortWhateverTheRequest(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	long := strings.Repeat("\u200b", 1<<20)
	s.call("bob", "e1", "1", long, `{}`)
	s.call("bob", "e2", "2", "write_file", `{"path":"a","`+long+`":1}`)
	s.call("bob", "e2", "2", long, `{}`)
	for i, f := range s.frames {
		if len(f) > 4096 {
			t.Errorf("refusal %d has %d bytes", i, len(f))
		}
	}
	for _, n := range s.notes {
		if text := n.JSON(); len(text) > 4096 {
			t.Errorf("record %.60s has %d bytes", text, len(text))
		}
	}
}

// What is remembered of a request that the server takes its time for is small,
// however large its frame.
func TestWhatIsRememberedOfARequestIsBounded(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	ask := func(env, method, params string) {
		t.Helper()
		s.arrive(`{"protocol":"mcpx/v0.1","id":"` + env + `","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:` + method +
			`","payload":{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}}`)
	}
	long := strings.Repeat("a", 1<<20)
	ask("e1", "resources/read", `{"uri":"`+long+`"}`)
	for _, c := range s.engine.calls.byNumber {
		if len(c.key) > keyMax {
			t.Errorf("%d bytes of the uri are kept", len(c.key))
		}
	}
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
	s.has(s.only(), `"kind":"mcp/response:resources/read"`)
	ask("e2", "resources/subscribe", `{"uri":"`+long+`"}`)
	s.has(s.only(), `"code":-32602`, "uri")
	ask("e3", "tools/list", `{"_meta":{"progressToken":"`+long+`"}}`)
	s.has(s.only(), `"code":-32602`, "progress token")
}

// An answer that just fits, to a request whose kind is all escapes, still
// fits: what does not is never heard of.
func TestTheLargestAnswerFitsWithTheLargestKind(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	uri := strings.Repeat(`\u0001`, 4000)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"` + strings.Repeat(`\\`, 256) + `","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:resources/read","payload":` +
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `"}}}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":"` + strings.Repeat("a", jsonrpc.MaxSize-6000) + `"}`)
	if f := s.only(); len(f) > jsonrpc.MaxSize {
		t.Errorf("the frame has %d bytes", len(f))
	}
}
