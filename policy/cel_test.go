package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// An expression that cannot be evaluated is unclear, and the reason says why
// without a value of the call.
func TestWhen(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	long := `{"s":"` + strings.Repeat("x", 4<<20) + `"}`
	for _, c := range []struct{ when, args, want, why string }{
		{`args.target == "production"`, `{"target":"production"}`, "yes", `when args.target == "production": yes`},
		{`args.target == "production"`, `{"target":"x"}`, "no", ": no"},
		{`args.target == "production"`, `{}`, "unclear", "cannot be told, there is no target"},
		{`args.target.startsWith("p")`, `{"target":5}`, "unclear", "no such overload"},
		{`has(args.target) && args.target == "x"`, `{}`, "no", ""},
		{`args.?target.orValue("x") == "x"`, `{}`, "yes", ""},
		{`!(args.target == "x")`, `{}`, "unclear", "there is no target"},
		{`args[args.key] == 1`, `{"key":"private words"}`, "unclear", "cannot be told, no such key"},
		{`args.flag`, `{"flag":true}`, "yes", ""},
		{`args.flag`, `{"flag":"true"}`, "unclear", "it gives no true or false"},
		{`args.n == 9007199254740993`, `{"n":9007199254740993}`, "yes", ""},
		{`args.n == 9007199254740993`, `{"n":9007199254740992}`, "no", ""},
		{`args.n > 18446744073709551614u`, `{"n":18446744073709551615}`, "yes", ""},
		{`args.n > 1`, `{"n":18446744073709551616}`, "yes", ""},
		{`args.n > 1`, `{"n":18446744073709551617}`, "unclear", "an argument is a number that CEL would round"},
		{`args.n > 0.0`, `{"n":0.1}`, "yes", ""},
		{`args.n > 0.0`, `{"n":0.10000000000000000000000001}`, "unclear", "would round"},
		{`args.n > 1`, `{"n":1e399}`, "unclear", "would round"},
		{`args.n > 1`, `{"n":1e9999}`, "unclear", "too long to compare"},
		{`args.n == 5`, `{"n":5.0}`, "yes", ""},
		{`args.n / args.d == 1`, `{"n":5,"d":0}`, "unclear", "division by zero"},
		{`args.n + 1 > 0`, `{"n":9223372036854775807}`, "unclear", "overflow"},
		{`args.l[5] == 1`, `{"l":[1]}`, "unclear", "index out of bounds"},
		{`int(args.s) == 1`, `{"s":"private words"}`, "unclear", "type conversion error"},
		{`timestamp(args.s) > now`, `{"s":"private words"}`, "unclear", ""},
		{`args.l.exists(x, x == {"a": null}) && args.b && args.l[2] == [1.5]`, `{"l":[1,{"a":null},[1.5]],"b":true}`, "yes", ""},
		{`args.l.all(i, args.l.all(j, args.l.all(k, args.l.all(l, i + j + k + l > 0))))`, `{"l":[` + strings.Repeat("1,", 100) + `1]}`, "unclear", "cost limit exceeded"},
		{`args.s.matches("x*")`, long, "unclear", "too long to be looked at"},
		{`args.x == 1`, `{"x":1}{`, "unclear", "the arguments are no JSON"},
		{`args.x == 1 && args.l == [1, 2]`, `{"x":1,"l":[1,1e9999]}`, "unclear", "too long to compare"},
		{`caller == "agent" && tool == "t" && via == "request"`, ``, "yes", ""},
		{`caller.lowerAscii().split("-")[0] == "agent"`, ``, "yes", ""},
		{`args.s.replace("x", "y") == "y" && [args.s].join("-") == "x" && "%s".format([args.s]) == "x" && matches(args.s, "x")`, `{"s":"x"}`, "yes", ""},
		{`now < timestamp("2026-12-31T00:00:00Z")`, ``, "yes", ""},
		{`now.getDayOfWeek("Europe/Berlin") == 1`, ``, "yes", ""},
		{`hints.destructive && !hints.readOnly && !hints.idempotent && hints.openWorld`, ``, "yes", ""},
		{`args.x == "` + strings.Repeat("y", 300) + `"`, `{}`, "unclear", strings.Repeat("y", 189) + "…: cannot be told, there is no x"},
		{`hints.nice`, ``, "unclear", "there is no nice"},
	} {
		t.Run(c.when, func(t *testing.T) {
			request := call(c.args)
			request.Now = now
			condition := "when: '" + strings.ReplaceAll(c.when, "'", "''") + "'"
			expect(t, condition, request, c.want)
			loosening, _ := judged(t, condition, request)
			if !strings.Contains(loosening.Why, c.why) || strings.Contains(loosening.Why, "private words") {
				t.Errorf("why: %s", loosening.Why)
			}
		})
	}
	expect(t, `when: 'now > timestamp("2026-01-01T00:00:00Z")'`, call(``), "unclear")
}

// The time that one expression may take is bounded, whatever the arguments.
func BenchmarkWhenAtTheCostLimit(b *testing.B) {
	p := load(b, "default: deny\nrules:\n- {allow: t, when: 'args.l.all(i, args.l.all(j, args.l.all(k, i + j + k > 0)))'}\n")
	c := call(`{"l":[` + strings.Repeat("1,", 100) + `1]}`)
	for b.Loop() {
		p.Decide(c, nil)
	}
}

func benchmarkDecide(b *testing.B, p *policy.Policy) {
	c := policy.Call{From: "x-agent", Via: "request", Method: "tools/call", Tool: "read_file", Args: []byte(`{"path":"/srv/docs/a.txt"}`)}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(c, nil)
	}
}

func BenchmarkDecideByFlags(b *testing.B) {
	p, _ := policy.Flags([]string{"read_*"}, []string{"delete_*"})
	benchmarkDecide(b, policy.Default().With(p))
}

func BenchmarkDecideByFile(b *testing.B) { benchmarkDecide(b, load(b, designed)) }
