package policy_test

import (
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// usage is what was used, whatever the rule.
type usage struct {
	count int
	sum   int64
}

func (u usage) Used(string, string, time.Duration, time.Time) (int, *big.Rat) {
	return u.count, big.NewRat(u.sum, 1)
}

func TestLimits(t *testing.T) {
	p := load(t, `
default: deny
rules:
- {allow: c, limit: {count: 3/hour}}
- {allow: s, limit: {sum: {arg: /amount, max: 100, window: day}, over: ask}}
- {allow: b, limit: {count: 3/10m, sum: {arg: "/items/*/price", max: 100, window: week}, per: all}}
- {ask: a, limit: {count: 3/day, over: deny}, as: {of: ann}}
- {allow: x, name: with, limit: {count: 3/day, over: ask}, as: {of: bob}}
`)
	for _, c := range []struct {
		tool, args string
		used       usage
		want       string
		why        string
	}{
		{"c", `{}`, usage{2, 0}, "allow", ""},
		{"c", `{}`, usage{3, 0}, "deny", "limit: 3 of 3 calls used within an hour"},
		{"s", `{"amount":100}`, usage{}, "allow", ""},
		{"s", `{"amount":0.1}`, usage{0, 100}, "ask", "limit: with this call the sum of args/amount would be over 100 within a day"},
		{"s", `{"amount":1e2}`, usage{99, 0}, "allow", ""},
		{"s", `{"amount":-5}`, usage{}, "ask", "limit: args/amount cannot be summed, it is negative"},
		{"s", `{"amount":"5"}`, usage{}, "ask", "limit: args/amount cannot be summed, it is a string"},
		{"s", `{"amount":1e999}`, usage{}, "ask", "limit: args/amount cannot be summed, its number is too long to compare"},
		{"s", `{"amount":1e72}`, usage{}, "ask", "would be over 100"},
		{"s", `{"amount":1e73}`, usage{}, "ask", "its number is too long to compare"},
		{"s", `{"amount":1e-72}`, usage{}, "allow", ""},
		{"s", `{"amount":1e-73}`, usage{}, "ask", "its number is too long to compare"},
		{"s", `{"amount":100.0}`, usage{}, "allow", ""},
		{"s", `{"amount":1e-9}`, usage{0, 100}, "ask", "would be over 100"},
		{"s", `{}`, usage{}, "ask", "limit: args/amount cannot be summed, it is absent"},
		{"s", `{`, usage{}, "ask", "cannot be summed, the arguments are no JSON"},
		{"b", `{"items":[{"price":60},{"price":40}]}`, usage{}, "allow", ""},
		{"b", `{"items":[{"price":60},{"price":40.01}]}`, usage{}, "deny", "would be over 100"},
		{"b", `{"items":[{"price":60},{}]}`, usage{}, "deny", "it is absent"},
		{"b", `{"items":7}`, usage{}, "deny", "its parent has no members"},
		{"b", `{"items":[{"price":1}]}`, usage{3, 0}, "deny", "3 of 3 calls used within 10m"},
		{"a", `{}`, usage{2, 0}, "ask", ""},
		{"a", `{}`, usage{3, 0}, "deny", "3 of 3"},
		{"x", `{}`, usage{3, 0}, "ask", "3 of 3"},
	} {
		c2 := call(c.args)
		c2.Tool = c.tool
		d := p.Decide(c2, c.used)
		if d.Verdict.String() != c.want || !strings.Contains(policy.Explain(d, ""), c.why) {
			t.Errorf("%s %s: %s", c.tool, c.args, policy.Explain(d, ""))
		}
		if (d.Limits == nil) != (d.Verdict == policy.Deny) {
			t.Errorf("%s: %s reserves %v", c.tool, d, d.Limits)
		}
	}
	over := p.Decide(policy.Call{From: "agent", Method: "tools/call", Tool: "x"}, usage{count: 5})
	if !slices.Equal(over.Ask.Of, []string{"bob"}) || !reflect.DeepEqual(over.Limits, []policy.Reservation{{Rule: "with", Caller: "agent", Window: 24 * time.Hour}}) {
		t.Errorf("%+v %+v", over.Ask, over.Limits)
	}
}
