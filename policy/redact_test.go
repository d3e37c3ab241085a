package policy_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func TestRedact(t *testing.T) {
	keys := load(t, `{default: ask, redact: ["*token*", "Secret"]}`)
	paths := load(t, `{default: ask, redact: ["/auth/*/key", "/list/*/pin", "/plain", "/0~1"]}`)
	none := load(t, `{default: ask, redact: []}`)
	usual := policy.Default()
	for _, c := range []struct {
		p           *policy.Policy
		given, want string
	}{
		{keys, `{"a":1}`, `{"a":1}`},
		{keys, `{"api_token":"x","b":{"SECRET":{"deep":1}, "c":[{"TokenId" : 7}]}}`, `{"api_token":"[redacted]","b":{"SECRET":"[redacted]", "c":[{"TokenId" : "[redacted]"}]}}`},
		{keys, `{"to\u006ben":1.50,"n":1.50}`, `{"to\u006ben":"[redacted]","n":1.50}`},
		{keys, `{"secrets":1}`, `{"secrets":1}`},
		{keys, ``, ``},
		{keys, `{"a":`, `{"redacted":"the arguments cannot be read"}`},
		{keys, `["token"]`, `{"redacted":"the arguments cannot be read"}`},
		{paths, `{"auth":{"x":{"key":1,"k":2}},"plain":[1],"other":{"plain":1}}`, `{"auth":{"x":{"key":"[redacted]","k":2}},"plain":"[redacted]","other":{"plain":1}}`},
		{paths, `{"list":[{"pin":1},{"pin":2,"x":3}],"0/":4}`, `{"list":[{"pin":"[redacted]"},{"pin":"[redacted]","x":3}],"0/":"[redacted]"}`},
		{paths, `{"key":1,"auth":{"key":2}}`, `{"key":1,"auth":{"key":2}}`},
		{none, `{"password":1`, `{"password":1`},
		{usual, `{"password":1,"secret_x":2,"x":"token"}`, `{"password":"[redacted]","secret_x":"[redacted]","x":"token"}`},
	} {
		if got := string(c.p.Redact([]byte(c.given))); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.given, got, c.want)
		}
	}
}

// No reason tells what the file hides, whichever rule looked at it.
func TestReasonsHideWhatIsRedacted(t *testing.T) {
	p := load(t, `
default: ask
redact: ["*password*", "/auth/*"]
rules:
- {deny: t, args: {password: {is: good}}}
- {deny: t, args: {/auth/x/y: {regex: "z+"}}}
- {deny: t, args: {other: {is: 5}}}
- {deny: t, args: {/*/x: {is: 5}}}
- {deny: t, when: 'int(args.password) == 5 || args[args.password] == 1'}
- {allow: t, limit: {sum: {arg: password, max: 5}, count: 1/day}}
`)
	d := p.Decide(call(`{"password":"hunter2","auth":{"x":{"y":"hunter2"}},"other":"shown"}`), nil)
	if text := policy.Explain(d, ""); strings.Contains(text, "hunter2") || !strings.Contains(text, "[redacted]") || !strings.Contains(text, "shown") {
		t.Error(text)
	}
}

// A pattern of names fits the numbers of a list's items too, wherever Redact is asked.
func TestItemsOfAListThatAreHiddenByTheirNumberAreOnNoRecord(t *testing.T) {
	for pattern, hides := range map[string]bool{"0": true, "?": true, "1*": false, "*0*": true, "a0": false, "*token*": false} {
		p := load(t, `{default: ask, redact: ["`+pattern+`"]}`)
		args := []byte(`{"list":["hunter2","public"]}`)
		want, got := p.Redact(args), p.RedactScanned(args)
		if string(got) != string(want) || bytes.Contains(got, []byte("hunter2")) == hides {
			t.Errorf("%s: on record is %s, and shown is %s", pattern, got, want)
		}
	}
}
