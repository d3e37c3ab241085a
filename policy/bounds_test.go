package policy_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Each bound on what a file may say, at both its ends and beside them (FINDINGS T3).
func TestWhatAFileMaySayAtItsBounds(t *testing.T) {
	const ask, rule = "default: ask\n", "default: deny\nrules:\n- "
	words := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("w%d", i)
		}
		return strings.Join(all, ", ")
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		what, text  string // text has a %s for each of the following
		fits, fails []string
	}{
		{"how long a question waits, in every unit", ask + "asks: {default: {within: %s}}",
			[]string{"1ns", "1us", "1ms", "1s", "23h59m59s", "24h", "1440m", "86400s", "1d", "+1d"},
			[]string{"0s", "0d", "-1ns", "-1d", "24h0m0.000000001s", "86401s", "1441m", "25h", "2d", "1000d", "1001d", "99999999999999999999d", "1.5d", "d", "1d12h", "1D", "1w", "24", "1 d", "0x1d"}},
		{"the window of a limit", rule + "{allow: a, limit: {count: 1/%s}}",
			[]string{"1ns", "366d", "8784h", "second", "minute", "hour", "day", "week"}, []string{"0s", "0d", "367d", "8785h", "8784h1s", "1001d", "days"}},
		{"how many within it", rule + "{allow: a, limit: {count: %s/day}}", []string{"1", "9", "10", "999999999"}, []string{"0", "-1", "+1", "01", "1000000000", "1e3", "1.0"}},
		{"the sum", rule + "{allow: a, limit: {sum: {arg: /n, max: %s, window: day}}}", []string{"0", "0.01", "500"}, []string{"-0.01", "-1"}},
		{"how many have to agree", ask + "asks: {default: {of: [" + words(100) + "], need: %s}}", []string{"1", "2", "99", "100"}, []string{"0", "-1", "101", "1.0", "01", "+1", "'1'"}},
		{"how far they may pass it on", ask + "asks: {default: {of: ann, delegate: {to: [bob], depth: %s}}}", []string{"1", "2", "3"}, []string{"0", "4", "-1"}},
		{"how long a text is", rule + "{allow: a, args: {x: {maxlen: %s}}}", []string{"0", "1", "1073741823", "1073741824"}, []string{"-1", "1073741825"}},
		{"what is said", rule + "{deny: a, say: %s}", []string{long(499), long(500)}, []string{long(501)}},
		{"what a server is for", ask + "provides: [%s]", []string{words(1), words(31), words(32), long(64), "a:b/c-d.e_f"}, []string{words(33), long(65), "'a b'", "a@b", "'a;b'", "é"}},
		{"who calls, as a pattern", rule + "{deny: a, from: ['%s']}", []string{"*", "?", "sys*", "*system", "?ystem", long(64) + "*", "*" + long(32) + "*" + long(32) + "*", strings.Repeat("?", 64)}, []string{"system*", "system?", "system", long(65) + "*", "*" + long(32) + "*" + long(33), strings.Repeat("?", 65), "a*:"}},
		{"an id", rule + "{allow: a, from: [%s]}", []string{"x", long(63), long(64), "sys", "a.b_c-9"}, []string{long(65), "system", "systemd", "'a b'", "a/b", "'a:b'", "é"}},
		{"an approver", ask + "asks: {default: {of: [%s]}}", []string{long(64), "A-Z_a.z09"}, []string{long(65), "system", "a@b", "'a[b'", "'a`b'", "'a{b'"}},
		{"a field to be edited", rule + "{ask: a, as: {of: ann, edit: {%s: {arg: /x}}}}", []string{"a", "z", "A", "Z", "a_9", long(63), long(64)}, []string{long(65), "_a", "9a", "'a-b'", "'@a'", "'[a'", "'`a'", "'{a'", "'a:'", "'a/'"}},
		{"the range of a field", rule + "{ask: a, as: {of: ann, edit: {n: {arg: /n, %s}}}}", []string{"min: 1, max: 1", "min: 1, max: 2", "min: -1"}, []string{"min: 2, max: 1", "min: 1.01, max: 1"}},
		{"the hours of a day", rule + "{allow: a, hours: '%s UTC'}",
			[]string{"00:00-00:01", "00:00-23:59", "00:00-24:00", "23:59-24:00", "23:59-00:00", "sun 08:00-09:00", "mon-sat 08:00-09:00"},
			[]string{"24:00-00:00", "24:00-08:00", "00:00-24:01", "00:00-25:00", "29:59-08:00", "08:60-09:00", "08:00-08:00", "8:00-9:00", "30:00-08:00", "mon-xyz 08:00-09:00", "xyz-mon 08:00-09:00", "xyz 08:00-09:00", "mon- 08:00-09:00", "mon,,tue 08:00-09:00"}},
		{"how often args is spoken of", rule + "{allow: a, when: '%s'}", []string{strings.Repeat("args.a || ", 99) + "args.a"}, []string{strings.Repeat("args.a || ", 100) + "args.a"}},
		{"what costs much to look for", rule + `{allow: a, when: 'args.a.matches("%s")'}`, []string{long(1023), long(1024)}, []string{long(1025)}},
		{"the size of a file", ask + "# %s", []string{long(policy.MaxFile - len(ask) - 2)}, []string{long(policy.MaxFile - len(ask) - 1)}},
	} {
		for _, each := range []struct {
			values []string
			fits   bool
		}{{c.fits, true}, {c.fails, false}} {
			for _, value := range each.values {
				if _, err := policy.Load("p.yaml", []byte(strings.Replace(c.text, "%s", value, 1))); (err == nil) != each.fits {
					t.Errorf("%s: %.40s of %d bytes: %v", c.what, value, len(value), err)
				}
			}
		}
	}
	for n, deep := range map[int]bool{199: false, 200: false, 201: true} {
		if _, err := policy.Load("p.yaml", []byte("default: "+strings.Repeat("[", n))); strings.Contains(err.Error(), "nested too deeply") != deep {
			t.Errorf("%d deep: %v", n, err)
		}
	}
}

// What is no number of days was said to be over before anybody could answer.
func TestADurationThatIsNoneIsCalledSo(t *testing.T) {
	for _, text := range []string{"1.5d", "d", "xd", "1d1d", "99999999999999999999d"} {
		_, err := policy.Load("p.yaml", []byte("default: ask\nasks: {default: {within: "+text+"}}"))
		if err == nil || !strings.Contains(err.Error(), "within is a duration, not") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A rule for a caller whose id nobody can have stood there and denied nothing (FINDINGS T3, as L4).
func TestARuleForAnIDThatNobodyCanHaveIsRefused(t *testing.T) {
	for _, id := range []string{"system", "systemd", "system*", strings.Repeat("x", 65)} {
		_, err := policy.Load("p.yaml", []byte("default: allow\nrules:\n- {deny: '*', from: ["+id+"]}"))
		if err == nil || !strings.Contains(err.Error(), "fits no participant id") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// A block of IPv4 addresses, written as IPv6 writes them, fitted no address at all, so that a deny of it
// denied nothing.
func TestABlockOfIPv4AsIPv6WritesIt(t *testing.T) {
	for _, c := range []struct{ block, address, want string }{
		{"::ffff:10.0.0.0/104", "9.255.255.255", "no"},
		{"::ffff:10.0.0.0/104", "10.0.0.0", "yes"},
		{"::ffff:10.0.0.0/104", "[::ffff:10.255.255.255]", "yes"},
		{"::ffff:10.0.0.0/104", "11.0.0.0", "no"},
		{"::ffff:0:0/96", "255.255.255.255", "yes"},
		{"::ffff:10.0.0.1/128", "10.0.0.1", "yes"},
		{"::ffff:10.0.0.1/128", "10.0.0.2", "no"},
	} {
		t.Run(c.block+" "+c.address, func(t *testing.T) {
			expect(t, "args: {u: {host: '"+c.block+"'}}", call(`{"u":"http://`+c.address+`/"}`), c.want)
		})
	}
	if _, err := policy.Load("p.yaml", []byte(arg("x: {host: '::ffff:10.0.0.0/95'}"))); err == nil || !strings.Contains(err.Error(), "a host is a name") {
		t.Errorf("a block of such addresses and of others: %v", err)
	}
}

// Every byte of a pattern of names: what stands in no name is refused.
func TestEveryByteOfAPatternOfNames(t *testing.T) {
	const names = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-*?"
	for c := range 256 {
		pattern, _ := json.Marshal("x" + string(rune(c)))
		_, err := policy.Load("p.yaml", fmt.Appendf(nil, "default: ask\nrules:\n- {deny: [%s]}", pattern))
		if want := strings.ContainsRune(names, rune(c)); (err == nil) != want {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// Each bound on what of a call is looked at; beyond it, it is unclear.
func TestWhatIsLookedAtAtItsBounds(t *testing.T) {
	text := func(n int) string { return `{"x":"` + strings.Repeat("a", n) + `"}` }
	number := func(n string) string { return `{"x":` + n + `}` }
	ones := func(n int) string { return strings.Repeat("1", n) }
	nested := func(n int) string { return `{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for _, c := range []struct {
		what, condition string
		args            map[string]string // what becomes of each
	}{
		{"paths", "args: {x: {glob: 'a*'}}", map[string]string{text(32<<10 - 1): "yes", text(32 << 10): "yes", text(32<<10 + 1): "unclear"}},
		{"folders", "args: {x: {under: /srv}}", map[string]string{`{"x":"/srv/` + strings.Repeat("a", 32<<10-5) + `"}`: "yes", `{"x":"/srv/` + strings.Repeat("a", 32<<10-4) + `"}`: "unclear"}},
		{"regular expressions", "args: {x: {regex: 'a*'}}", map[string]string{text(256<<10 - 1): "yes", text(256 << 10): "yes", text(256<<10 + 1): "unclear"}},
		{"expressions", `when: 'args.x.startsWith("a")'`, map[string]string{text(64<<10 - 1): "yes", text(64 << 10): "yes", text(64<<10 + 1): "unclear"}},
		{"digits", "args: {x: {min: 1}}", map[string]string{number(ones(399)): "yes", number(ones(400)): "yes", number(ones(401)): "unclear"}},
		{"exponents", "args: {x: {min: 0}}", map[string]string{number("1e400"): "yes", number("1e401"): "unclear", number("1e-400"): "yes", number("1e-401"): "unclear", number("1E+400"): "yes"}},
		{"digits and zeros of an exponent", "args: {x: {min: 0}}", map[string]string{number("1e" + strings.Repeat("0", 796) + "1"): "yes", number("1e" + strings.Repeat("0", 797) + "1"): "yes", number("1e" + strings.Repeat("0", 798) + "1"): "unclear"}},
		{"characters", "args: {x: {maxlen: 4}}", map[string]string{
			`{"x":"abc"}`: "yes", `{"x":"abcd"}`: "yes", `{"x":"abcde"}`: "no", `{"x":"éééé"}`: "yes", `{"x":"ééééé"}`: "no",
			`{"x":"😀😀😀😀"}`: "yes", `{"x":"😀😀😀😀a"}`: "no", `{"x":"😀😀😀😀😀"}`: "no", `{"x":"😀😀😀aaaaa"}`: "no", `{"x":[1,2,3,4]}`: "yes", `{"x":[1,2,3,4,5]}`: "no", `{"x":{"a":1,"b":2,"c":3,"d":4,"e":5}}`: "no",
		}},
	} {
		for args, want := range c.args {
			t.Run(fmt.Sprintf("%s, %.12s… of %d bytes", c.what, args, len(args)), func(t *testing.T) { expect(t, c.condition, call(args), want) })
		}
	}
	for n, want := range map[int]string{63: "yes", 64: "yes", 65: "unclear"} {
		t.Run(fmt.Sprint(n, " levels"), func(t *testing.T) { expect(t, "args: {x: {maxlen: 1}}", call(nested(n)), want) })
	}
	for n, want := range map[int]string{49_997: "yes", 49_998: "yes", 49_999: "unclear"} { // and the list and the object around them
		t.Run(fmt.Sprint(n, " values"), func(t *testing.T) {
			expect(t, "args: {x: {maxlen: 50000}}", call(`{"x":[`+times("0", n)+`]}`), want)
		})
	}
}

// A name is held against patterns up to a length, and only * fits what is longer.
func TestHowLongANameIsLookedAt(t *testing.T) {
	for n, fits := range map[int]policy.Match{1023: policy.Yes, 1024: policy.Yes, 1025: policy.Unclear} {
		c := call(`{}`)
		c.Tool = strings.Repeat("t", n)
		for condition, want := range map[string]policy.Match{"deny: 't*'": fits, "deny: '*'": policy.Yes, `deny: "*", when: 'tool != "x"'`: fits} {
			d := load(t, "default: ask\nrules:\n- {"+condition+"}\n").Decide(c, nil)
			if d.Verdict != policy.Deny || d.Reasons[0].Match != want {
				t.Errorf("%s, a name of %d: %s, %+v", condition, n, d.Verdict, d.Reasons[0])
			}
		}
		args := `{"` + strings.Repeat("k", n) + `":"shown"}`
		if got := string(load(t, "default: ask\nredact: [pin]\n").Redact([]byte(args))); (got == args) != (n <= 1024) {
			t.Errorf("a key of %d: %.60s", n, got)
		}
	}
}

// A number in a sum has 240 bits above and below the line at most.
func TestHowLongAnAmountMayBe(t *testing.T) {
	p := load(t, "default: deny\nrules:\n- {allow: t, limit: {sum: {arg: /n, max: 1e80, window: day}}}\n")
	most := new(big.Int).Lsh(big.NewInt(1), 240)
	for n, want := range map[string]policy.Verdict{new(big.Int).Sub(most, big.NewInt(1)).String(): policy.Allow, most.String(): policy.Deny, "0": policy.Allow, "-0": policy.Allow, "-1e-9": policy.Deny} {
		if d := p.Decide(call(`{"n":`+n+`}`), usage{}); d.Verdict != want {
			t.Errorf("%s: %s", n, policy.Explain(d, ""))
		}
	}
}

// Every byte of every escape in the arguments is read as encoding/json reads it, and each end of the
// halves of pairs; what it refuses, or would mend, is no JSON here.
func TestEveryByteOfAnEscapeInArguments(t *testing.T) {
	p := load(t, "default: deny\nrules:\n- {allow: t, args: {x: {maxlen: 9}}}\n")
	try := func(inside string, mended bool) {
		args := `{"x":"` + inside + `"}`
		d := p.Decide(call(args), nil)
		if want := json.Valid([]byte(args)) && !mended; (d.Verdict == policy.Allow) != want {
			t.Errorf("%s: %s, want read %v", args, d.Verdict, want)
		}
	}
	for c := range 0x80 {
		for _, form := range []string{`%s`, `\%s`, `\u%s041`, `\u0%s41`, `\u00%s1`, `\u004%s`} {
			if c != '"' && !(c == '\\' && form == `%s`) {
				try(fmt.Sprintf(form, string(rune(c))), false)
			}
		}
	}
	for _, whole := range []string{`\ud7ff`, `\ue000`, `\ud800\udc00`, `\udbff\udfff`, `\ud800\udfff`, `\udbff\udc00`, `\uffff`, `\u0000`, `\u007f\u0080`} {
		try(whole, false)
	}
	for _, half := range []string{`\ud800`, `\udbff`, `\udc00`, `\udfff`, `\ud800\ud800`, `\ud800\udbff`, `\ud800\ue000`, `\udc00\udc00`, `\udfff\ud800`, `\ud800x`, `\ud800\n`} {
		try(half, true)
	}
	for _, bare := range []string{`/`, `:`, `0:`, `1/`, `-`, `-/`, `-:`, `1.:`, `1e/`, `01`, `+1`, `.1`} { // beside the digits
		if d := p.Decide(call(`{"x":[`+bare+`]}`), nil); d.Verdict != policy.Deny {
			t.Errorf("%s: %s", bare, d.Verdict)
		}
	}
	for _, cut := range []string{`{"x":"\`, `{"x":"\u`, `{"x":"\u004`, `{"x":"\u0041`, `{"x":"\ud800\u`} {
		if d := p.Decide(call(cut), nil); d.Verdict != policy.Deny {
			t.Errorf("%s: %s", cut, d.Verdict)
		}
	}
}

// What of the protocol's own passes unshown has a length at most.
func TestHowLongWhatPassesUnshownMayBe(t *testing.T) {
	const own = "io.modelcontextprotocol/"
	long := func(n int) string { return strings.Repeat("a", n) }
	info := func(n int) string { // n bytes in all, of texts of 256 at most
		var b strings.Builder
		b.WriteString(`{"name":"` + long(256) + `"`)
		b.WriteString(strings.Repeat(" ", n-b.Len()-1) + "}")
		return b.String()
	}
	types := func(n int, one string) string {
		return `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[` + times(`"`+one+`"`, n) + `]}}}`
	}
	for _, c := range []struct {
		key         string
		fits, fails []string
	}{
		{"progressToken", []string{`"` + long(254) + `"`, strings.Repeat("7", 64), `-0`, `0.5`, `1e9`, `1E+0`, `9`}, []string{`"` + long(255) + `"`, strings.Repeat("7", 65), `-`, `00`, `1.`, `1e`, `1e+`, `/`, `:`, `1:`, `1/`, `.5`, `1.:`, `1e:`}},
		{"traceparent", []string{`"09-` + strings.Repeat("09af", 8) + `-09af09af09af09af-af"`}, []string{`"0/-` + strings.Repeat("09af", 8) + `-09af09af09af09af-af"`, `"0:-` + strings.Repeat("09af", 8) + `-09af09af09af09af-af"`, `"0g-` + strings.Repeat("09af", 8) + `-09af09af09af09af-af"`, "\"0`-" + strings.Repeat("09af", 8) + `-09af09af09af09af-af"`}},
		{"tracestate", []string{`"a=` + long(510) + `"`, `"a=!+-<>~"`, `"09az=x"`}, []string{`"a=` + long(511) + `"`, `"a=b c"`, `"a=b=c"`, "\"a=\x7f\"", `"A=b"`, "\"`=b\"", `"{=b"`}},
		{"baggage", []string{`"k=` + long(1022) + `"`, `"k=!#+-[]~"`}, []string{`"k=` + long(1023) + `"`, `"k=a b"`, `"k=\\"`, "\"k=\x7f\""}},
		{own + "protocolVersion", []string{`"2026-07-28"`}, []string{`"2026-07-29"`, `"2026-07-27"`, `"2026-07-280"`}},
		{own + "clientInfo", []string{`{"name":"` + long(256) + `"}`, info(4095), info(4096)}, []string{`{"name":"` + long(257) + `"}`, info(4097)}},
		{own + "clientCapabilities",
			[]string{`{"roots":{"` + long(64) + `":true}}`, `{"roots":{"` + long(4096-len(`{"roots":{"":{}}}`)-4032) + `":{}}}`, `{"roots":{}` + strings.Repeat(" ", 4096-12) + `}`, types(8, "text/html"), types(1, "text/"+long(64)), types(1, "text/html;"+long(16)+"="+long(32))},
			[]string{`{"roots":{"` + long(65) + `":true}}`, `{"roots":{}` + strings.Repeat(" ", 4096-11) + `}`, types(9, "text/html"), types(1, "text/"+long(65)), types(1, "text/html;"+long(17)+"=a"), types(1, "text/html;a="+long(33)), types(1, "text/")}},
	} {
		for _, value := range c.fits {
			if !policy.OfProtocol([]byte(c.key), []byte(value), "2026-07-28") {
				t.Errorf("%s: %.80s of %d bytes is the protocol's own", c.key, value, len(value))
			}
		}
		for _, value := range c.fails {
			if policy.OfProtocol([]byte(c.key), []byte(value), "2026-07-28") {
				t.Errorf("%s: %.80s of %d bytes passes unshown", c.key, value, len(value))
			}
		}
	}
}

// What makes an answer easier to get, by one step, and by none.
func TestWhatIsLooserByOneStep(t *testing.T) {
	file := func(need, depth int, within string) *policy.Policy {
		return load(t, fmt.Sprintf("default: ask\nasks: {default: {of: [ann, bob, cem], need: %d, within: %s, delegate: {to: [eve], depth: %d}}}\n", need, within, depth))
	}
	before := file(2, 2, "5m")
	for _, c := range []struct {
		after *policy.Policy
		words string
	}{
		{file(2, 2, "5m"), ""}, {file(3, 1, "4m59s"), ""},
		{file(1, 2, "5m"), "to agree"}, {file(2, 3, "5m"), "pass it on to more"}, {file(2, 2, "5m1s"), "for 5m1s"},
	} {
		all := strings.Join(policy.Looser(before, c.after), "\n")
		if c.words == "" && all != "" || !strings.Contains(all, c.words) {
			t.Errorf("%q, want %q", all, c.words)
		}
	}
}
