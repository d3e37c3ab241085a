package policy_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Load never panics, and says where the trouble is; what it takes can decide,
// explain and test.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(designed))
	for _, data := range examples(f) {
		f.Add(data)
	}
	for _, text := range []string{"", "{}", "- a", "a: |\n b", "default: deny\nrules:\n- {allow: x, args: {x: {is: 010}}}", "? a\n: b", "&a a: *a", "%YAML 1.2\n---\na: b", "a: \"\\u00e9\"", "a: !!str b", "default: ask\n...\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := policy.Load("f", data)
		if (p == nil) == (err == nil) {
			t.Fatal("neither a policy nor an error, or both")
		}
		if err != nil {
			if e := err.(*policy.LoadError); e.Message == "" || e.File != "f" {
				t.Errorf("%+v", e)
			}
			return
		}
		p.Test()
		p.Warnings(nil)
		policy.Explain(p.Decide(call(`{"path":"/x","n":5}`), nil), "")
	})
}

// Decide is total: it has an answer for everything, the same each time, with a
// reason for every rule.
func FuzzDecide(f *testing.F) {
	f.Add("dev-agent", "request", "tools/call", "deploy", []byte(`{"target":"production"}`), int64(1))
	f.Add("", "", "", "", []byte(nil), int64(0))
	f.Add("x", "proposal", "prompts/get", "a\x00b", []byte(`{"path":"\u0000/..%2f\\..","amount":1e400,"content":{}}`), int64(-1))
	f.Add("\x1b[2J", "request", "tools/call", "create_refund", []byte(`{"amount":1}`), int64(1))
	f.Add("x", "request", "resources/read", "\x1b[2J\x85", []byte(nil), int64(1))
	f.Add("x", "request", "tools/call", "create_refund", []byte(`{"amount":-0.1}`), int64(1<<60))
	f.Add("x", "request", "tools/call", "read_multiple_files", []byte(`{"paths":["/srv/docs",1,[{}]],"url":"https://a@b"}`), int64(1<<40))
	policies := []*policy.Policy{load(f, designed), policy.Default(), {}}
	for _, data := range examples(f) {
		policies = append(policies, load(f, string(data)))
	}
	policies = append(policies, load(f, `
default: allow
rules:
- {deny: "*", args: {path: {under: [/srv, docs, "~/x", "C:/x"], glob: ["**/a", "b/*", "/c/**"]}, "/*/x": {type: integer}}}
- {deny: "*", args: {url: {host: [a.com, "*.b.com:80", 10.0.0.0/8]}, n: {max: 5, min: -5, not: 3}, s: {regex: "a.*", has: b, lacks: c, maxlen: 3}}}
- {ask: "*", when: "args.exists(k, args[k] == caller) || now.getHours() > 5", except: {when: "args.n > 3"}}
`))
	f.Fuzz(func(t *testing.T, from, via, method, tool string, args []byte, now int64) {
		c := policy.Call{From: from, Via: via, Method: method, Tool: tool, Args: args, Now: time.Unix(now%(1<<36), 0)}
		for _, p := range policies {
			d := p.Decide(c, nil)
			for _, r := range d.Reasons {
				if r.Why == "" || r.Rule == "" {
					t.Fatalf("a rule without a reason: %+v", r)
				}
			}
			text := policy.Explain(d, "")
			if text != policy.Explain(p.Decide(c, nil), "") {
				t.Fatal("two decisions about one call")
			}
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
				t.Fatalf("not to be shown: %q", text)
			}
		}
	})
}

// What is left of arguments after hiding is JSON still, and hides what it should.
func FuzzRedact(f *testing.F) {
	p := load(f, `{default: ask, redact: ["*token*", "/a/*/b"]}`)
	keys := load(f, `{default: ask, redact: ["*token*", "pin"]}`)
	numbers := load(f, `{default: ask, redact: ["*1"]}`)
	f.Add([]byte(`{"pi\u006e":"\\\"","a" : {"PIN" : [{"pin\\":1}]},"b":"pin\"","c":":"}`))
	f.Add([]byte(`{"token":"x","a":[{"b":1}],"c":{"my_token":[{}]}}`))
	f.Add([]byte(`{"a":[0,[1,2]],"b1":[]}`))
	f.Add([]byte(`{"a":{"x":{"b":"\ud83d\ude00"}}}`))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Add([]byte(`{"a":"\ud800\udc00\udbff\udfff\ud7ff\ue000","token":"\udc00"}`))
	f.Add([]byte(`{"\u00/0":1,"token":"\u00:0","b":"\u00Gf"}`))
	f.Add([]byte(`{"a":1:,"token":-/}`))
	f.Fuzz(func(t *testing.T, args []byte) {
		out := p.Redact(args)
		if len(args) == 0 {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q gives %q", args, out)
		}
		for _, p := range []*policy.Policy{keys, numbers} {
			if json.Valid(args) && !bytes.Equal(p.RedactScanned(args), p.Redact(args)) && !bytes.HasPrefix(p.Redact(args), []byte(`{"redacted":`)) {
				t.Fatalf("%q is redacted in two ways: %q and %q", args, p.RedactScanned(args), p.Redact(args))
			}
		}
		if again := p.Redact(out); !bytes.Equal(again, out) {
			t.Fatalf("%q gives %q, then %q", args, out, again)
		}
	})
}
