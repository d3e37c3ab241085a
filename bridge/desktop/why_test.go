package desktop_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

const why = `"_meta":{"x":1,"mcpx/justification":"the \"build\" is red\u202e"}`

// Why a client asks for something is passed on, whatever it asks for, and nothing else of its _meta.
func TestWhyAClientCallsIsPassedOn(t *testing.T) {
	const passed = `,"_meta":{"mcpx/justification":"the \"build\" is red` + "\u202e" + `"}}`
	s := joined(t, `{}`)
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs__read","arguments":{"a":1},%s}}`, why)
	ask := s.open("tools/call")
	if want := `{"name":"read","arguments":{"a":1}` + passed; string(ask.Params) != want {
		t.Errorf("asked with %s instead of %s", ask.Params, want)
	}
	s.answer(ask, `{"content":[]}`)
	s.one(`"id":1,"result":{"content":[]}`)

	for said, want := range map[string]string{"": passed, `,"why":"a better one"`: `,"_meta":{"mcpx/justification":"a better one"}}`} {
		s.line(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"mcpx_call","arguments":{"peer":"fs","tool":"read"%s},%s}}`, said, why)
		ask = s.open("tools/call")
		if !strings.HasSuffix(string(ask.Params), want) {
			t.Errorf("asked with %s, not %s", ask.Params, want)
		}
		s.answer(ask, `{"content":[]}`)
		s.one(`"id":2,"result":{"content":[]}`)
	}
	everyUse(t, func(t *testing.T, method string, fresh func(desktop.Config) *stage, use func(*stage, int, string)) {
		s := fresh(desktop.Config{})
		use(s, 1, ","+why)
		if ask := s.open(method); !strings.HasSuffix(string(ask.Params), passed) {
			t.Errorf("asked with %s", ask.Params)
		}
	})
}

func TestWhatIsNoReasonIsNotPassedOn(t *testing.T) {
	s := joined(t, `{}`)
	for _, wrong := range []string{`7`, `""`, `null`, `{}`} {
		s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs__read","_meta":{"mcpx/justification":%s}}}`, wrong)
		s.one(`"id":1,"error":{"code":-32602,"message":"_meta[\"mcpx/justification\"] must be a text"`)
		s.none("tools/call")
	}
}
