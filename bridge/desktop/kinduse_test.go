package desktop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// What holds for a call holds for a prompt and a resource too, save that an error is one and
// no result that a model reads (FINDINGS T5).
var uses = map[string]struct{ method, params string }{
	"prompts":   {"prompts/get", `"name":"fs__ask"`},
	"resources": {"resources/read", `"uri":"mcpx://fs/a:b"`},
	"templates": {"resources/read", `"uri":"mcpx://fs/a:filled-in"`},
}

// use has the client ask for what fs offers of a kind.
func (s *stage) use(kind string, id int, meta string) {
	s.t.Helper()
	s.line(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, id, uses[kind].method, uses[kind].params, meta)
}

func everyUse(t *testing.T, test func(t *testing.T, method string, fresh func(desktop.Config) *stage, use func(s *stage, id int, meta string))) {
	for kind, u := range uses {
		t.Run(kind, func(t *testing.T) {
			fresh := func(c desktop.Config) *stage {
				s := stageOf(t, c, ofKinds[kind])
				s.answer(s.open(ofKinds[kind].list), ofKinds[kind].full)
				return s
			}
			test(t, u.method, fresh, func(s *stage, id int, meta string) { s.use(kind, id, meta) })
		})
	}
}

func TestWhatAPeerAnswersPassesByteForByteWhateverWasAsked(t *testing.T) {
	everyUse(t, func(t *testing.T, method string, fresh func(desktop.Config) *stage, use func(*stage, int, string)) {
		s := fresh(desktop.Config{})
		for _, result := range []string{`{ "messages":[{"x":9007199254740993}],"contents":[],"<&>":"\u2028" }`, `{}`, `{"isError":true}`} {
			use(s, 1, "")
			s.answer(s.open(method), result)
			s.one(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
		}
		for _, fault := range []string{`{"code":-32002,"message":"m","data":{ "a":1.0 },"more":1}`, `{"code":-31004,"message":"no","data":{"reason":"policy_denied"}}`} {
			use(s, 2, "")
			s.fault(s.open(method), fault)
			s.one(`{"jsonrpc":"2.0","id":2,"error":` + fault + `}`)
		}
	})
}

// Nobody asks the client for anything by way of an answer.
func TestNoPeerAsksTheClientByWayOfAPromptOrResource(t *testing.T) {
	everyUse(t, func(t *testing.T, method string, fresh func(desktop.Config) *stage, use func(*stage, int, string)) {
		for _, meta := range []string{"", "," + modernMeta} {
			for _, result := range []string{`{"resultType":"input_required","inputRequests":{"x":{"method":"sampling/createMessage","params":{}}},"requestState":"s"}`,
				`{"resultType":"task"}`, `{"resultType":7}`, `{"resultType":"complete","resultType":"task"}`, `7`, `"text"`, `null`, `[]`} {
				s := fresh(desktop.Config{})
				use(s, 1, meta)
				s.answer(s.open(method), result)
				if line := s.one(`"id":1,"error":{"code":-31008`); strings.Contains(line, "sampling") {
					t.Errorf("%s comes through: %s", result, line)
				}
			}
			s := fresh(desktop.Config{})
			use(s, 1, meta)
			s.fault(s.open(method), `{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","url":"https://example.com/"}]}}`)
			if line := s.one(`"id":1,"error":{"code":-31008`); strings.Contains(line, "example.com") {
				t.Errorf("it comes through: %s", line)
			}
		}
	})
}

func TestAPeerLeavesWhateverItIsAskedFor(t *testing.T) {
	everyUse(t, func(t *testing.T, method string, fresh func(desktop.Config) *stage, use func(*stage, int, string)) {
		s := fresh(desktop.Config{})
		use(s, 1, "")
		s.step(desktop.Left{ID: "fs"})
		s.pass(4 * time.Second)
		s.silent() // it may come back
		s.pass(time.Second)
		s.one(`"id":1,"error":{"code":-31008,"message":"fs left before it answered"`, `"executed":"unknown"`)
		use(s, 2, "")
		s.one(`"id":2,"error":{"code":-31007,"message":"fs has left the topic"`, `"executed":"no"`)
		s.pass(time.Minute)
		s.heard()
		use(s, 3, "")
		s.one(`"id":3,"error":{"code":-32602`)
		s.none(method)
	})
}

func TestALostLinkWhateverIsAskedFor(t *testing.T) {
	everyUse(t, func(t *testing.T, method string, fresh func(desktop.Config) *stage, use func(*stage, int, string)) {
		s := fresh(desktop.Config{})
		use(s, 1, "")
		a := s.open(method)
		s.step(desktop.Unseated{Why: "it broke"})
		use(s, 2, "")
		s.one(`"id":2,"error":{"code":-31007,"message":"not connected to the topic: it broke"`)
		s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
		s.answer(a, `{"n":1}`)
		s.one(`"id":1,"result":{"n":1}`)
	})
}

// An answer that went with the link is not waited for for ever.
func TestAnAnswerLostWithTheLinkIsGivenUpWhateverWasAsked(t *testing.T) {
	everyUse(t, func(t *testing.T, method string, fresh func(desktop.Config) *stage, use func(*stage, int, string)) {
		s := fresh(desktop.Config{})
		use(s, 1, "")
		s.step(desktop.Unseated{Why: "it broke"})
		s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
		s.lists("", "")
		s.pass(3 * time.Minute)
		if line := strings.Join(s.heard(), "\n"); !strings.Contains(line, `"id":1,"error":{"code":-31008`) {
			t.Errorf("said: %s", line)
		}
	})
}

func TestProgressAndCancellationWhateverIsAskedFor(t *testing.T) {
	everyUse(t, func(t *testing.T, method string, fresh func(desktop.Config) *stage, use func(*stage, int, string)) {
		s := fresh(desktop.Config{})
		use(s, 1, `,"_meta":{"progressToken":"p"}`)
		a := s.open(method)
		if !a.Progress {
			t.Error("progress is not asked for")
		}
		for _, n := range []int{1, 2, 2, 1, 3} { // MCP: it goes forward
			s.step(desktop.Progressed{Ref: a.Ref, Params: fmt.Appendf(nil, `{"progressToken":"ours","progress":%d,"x":1.0}`, n)})
		}
		var want []string
		for _, n := range []int{1, 2, 3} {
			want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":%d,"x":1.0}}`, n))
		}
		if said := s.heard(); !slices.Equal(said, want) {
			t.Errorf("progress: %q", said)
		}
		s.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if len(s.cancels) != 1 || s.cancels[0].Ref != a.Ref {
			t.Errorf("cancelled: %v", s.cancels)
		}
		s.silent()
		use(s, 2, "")
		if s.open(method).Progress {
			t.Error("progress is asked for by nobody")
		}
		s.step(desktop.Hangup{})
		if s.none(method); s.proxy.Busy() {
			t.Error("it still waits for something")
		}
	})
}

func TestIncludeAndExcludeHoldForEveryKind(t *testing.T) {
	everyUse(t, func(t *testing.T, method string, fresh func(desktop.Config) *stage, use func(*stage, int, string)) {
		for _, c := range []desktop.Config{{Include: []string{"git/*"}}, {Exclude: []string{"fs/a*"}}} {
			s := fresh(c)
			for name, k := range ofKinds {
				if line := s.listOf(k); name != "tools" && strings.Contains(line, "fs") {
					t.Errorf("%s: %s", name, line)
				}
			}
			use(s, 1, "")
			s.one(`"id":1,"error":{"code":-32602`)
			s.none(method)
		}
	})
}
