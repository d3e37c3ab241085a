package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func toolOf(t *testing.T, raw string) tool {
	t.Helper()
	one := tool{Raw: json.RawMessage(raw)}
	if err := json.Unmarshal([]byte(raw), &one); err != nil {
		t.Fatal(err)
	}
	return one
}

// listable is a name that a bridge serves; others it leaves out of its list.
var listable = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,128}$`)

// Whatever a server says of its tools, the draft is a policy that asks about
// all of them, and nothing of it is anywhere but in a comment or a pattern.
func checkDraft(t *testing.T, tools []tool) {
	t.Helper()
	text := draft("notes", tools)
	p, err := policy.Load("draft", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if p.Default != policy.Ask || strings.Contains(string(text), "\n    allow:") || strings.ContainsAny(string(text), "\r\x1b\u2028\u0085\u202e") {
		t.Errorf("not only asks, or not only plain text:\n%s", text)
	}
	yes := true
	for _, one := range tools {
		d := p.Decide(policy.Call{From: "bob", Via: "request", Method: "tools/call", Tool: one.Name,
			Hints: policy.Hints{ReadOnly: &yes}}, nil)
		if d.Verdict != policy.Ask || listable.MatchString(one.Name) && d.Rule == "" {
			t.Errorf("%q comes to %s\n%s", one.Name, d, text)
		}
	}
	for _, r := range p.Test() {
		if !r.Passed {
			t.Errorf("its own test %s fails: %s", r.Name, r.Decision)
		}
	}
	asJSON, err := policy.Load("draft", jsonLine(newDrafted(tools)))
	if err != nil || asJSON.Default != policy.Ask {
		t.Errorf("as JSON: %v", err)
	}
}

func TestADraftIsMadeOfAnyTools(t *testing.T) {
	checkDraft(t, nil)
	var all []tool
	for _, raw := range []string{
		`{"name":"plain"}`, `{"name":"re:x"}`, `{"name":"re:(a|b)*"}`, `{"name":"[a-z]"}`, `{"name":"re:"}`,
		`{"name":"yes","annotations":{"readOnlyHint":true,"destructiveHint":true}}`,
		`{"name":"123"}`, `{"name":"null"}`, `{"name":"*"}`, `{"name":"delete_*"}`,
		`{"name":"a\"b"}`, `{"name":"a\nallow: [\"*\"]"}`, `{"name":"a # b: c"}`, `{"name":"ünïcode"}`, `{"name":"\u202egpj"}`,
		`{"name":"talks","description":"a\n- {name: evil, allow: [\"*\"]}\u2028b\u0085c\r\nd \u001b[31m \u202e"}`,
		`{"name":"argues","inputSchema":{"type":"object","properties":{"a\n- x":{},"# y":{}},"required":["q\u2028r"]}}`,
		`{"name":"some_new_tool"}`, `{"name":"ünïcödé tøøls"}`, `{"name":"some_new_tool_"}`,
		`{"name":"odd","inputSchema":[],"annotations":[1]}`,
		`{"name":"odder","annotations":{"readOnlyHint":"yes","destructiveHint":1}}`,
		`{"name":"` + strings.Repeat("long", 40) + `","description":"` + strings.Repeat("word ", 100) + `"}`,
	} {
		one := toolOf(t, raw)
		checkDraft(t, []tool{one})
		all = append(all, one)
	}
	checkDraft(t, all)
}

// A server can list tools such that each name that comes to mind is taken by one
// more.
func TestAListThatTakesEveryName(t *testing.T) {
	for _, odd := range []string{"_", "ü"} {
		var tools []tool
		for n := range 300 {
			tools = append(tools, tool{Name: strings.Repeat(odd, 13+n)})
			if odd == "_" {
				tools[n].Name = "some_new_tool" + strings.Repeat(odd, n)
			}
		}
		if got, want := unlisted(tools), "some_new_tool"+strings.Repeat("_", len(tools)); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func FuzzDraft(f *testing.F) {
	f.Add("read_file", "Read a file. And more", `{"properties":{"path":{}},"required":["path"]}`, `{"readOnlyHint":true}`)
	f.Add("a: b\n- c", "x\u2028# y\n", `{"required":["\n"]}`, `{"destructiveHint":false,"openWorldHint":true}`)
	f.Fuzz(func(t *testing.T, name, description, schema, annotations string) {
		if name == "" {
			return // not listed
		}
		raw, _ := json.Marshal(map[string]any{"name": name, "description": description})
		if json.Valid([]byte(schema)) && json.Valid([]byte(annotations)) {
			raw = []byte(strings.TrimSuffix(string(raw), "}") + `,"inputSchema":` + schema + `,"annotations":` + annotations + "}")
		}
		one := tool{Raw: raw}
		if json.Unmarshal(raw, &one) != nil {
			return
		}
		checkDraft(t, []tool{one})
	})
}

// What the server says of a tool is in the comment behind it.
func TestHintsAreCommentsOnly(t *testing.T) {
	for raw, want := range map[string]string{
		`{"name":"a"}`: "(?)",
		`{"name":"a","description":"Does it. And more."}`:                                                  "(?) Does it",
		`{"name":"a","annotations":{"readOnlyHint":true,"destructiveHint":true,"idempotentHint":true}}`:    "(?) only reads",
		`{"name":"a","annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}}`:  "(?) writes, destroys nothing, stays within its own data",
		`{"name":"a","description":"D","annotations":{"destructiveHint":true,"idempotentHint":true}}`:      "(?) D; may destroy, twice is like once",
		`{"name":"a","inputSchema":{"properties":{"x":{},"y":{}},"required":["y"]}}`:                       "(y [x])",
		`{"name":"a","annotations":{"readOnlyHint":"true","destructiveHint":null,"openWorldHint":[true]}}`: "(?)",
	} {
		one := toolOf(t, raw)
		if got := inShort(one); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// Only so many past calls are held in memory, and those are the newest.
func TestOnlyTheNewestPastCallsAreCompared(t *testing.T) {
	all := &past{seen: map[string]bool{}}
	const n = 2*mostPast + 7
	for i := range n {
		all.add(audit.Record{Method: "tools/call", Tool: string(rune('a' + i%2)), From: "bob"})
	}
	all.calls[len(all.calls)-1].From = "last"
	all.forget()
	if len(all.calls) != mostPast || all.older != n-mostPast || all.calls[mostPast-1].From != "last" {
		t.Errorf("%d calls, %d older", len(all.calls), all.older)
	}
}
