package report_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

func toolOf(t *testing.T, raw string) report.Tool {
	t.Helper()
	one, err := readTool([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return one
}

func readTool(raw []byte) (report.Tool, error) {
	var said struct {
		Name, Description string
		InputSchema       json.RawMessage
	}
	err := json.Unmarshal(raw, &said)
	return report.Tool{Tool: policy.Tool{Name: said.Name, InputSchema: said.InputSchema, Hints: report.ReadHints(raw)}, Description: said.Description}, err
}

// listable is a name that a bridge serves; others it leaves out of its list.
var listable = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,128}$`)

// Whatever a server says of its tools, the draft is a policy that asks about
// all of them, and nothing of it is anywhere but in a comment or a pattern.
func checkDraft(t *testing.T, tools []report.Tool) {
	t.Helper()
	text := report.Draft("notes", tools)
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
	asJSON, err := policy.Load("draft", asJSONOf(t, tools))
	if err != nil || asJSON.Default != policy.Ask {
		t.Errorf("as JSON: %v", err)
	}
}

func asJSONOf(t *testing.T, tools []report.Tool) []byte {
	t.Helper()
	text, err := json.Marshal(report.DraftJSON(tools))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestADraftIsMadeOfAnyTools(t *testing.T) {
	checkDraft(t, nil)
	var all []report.Tool
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
		checkDraft(t, []report.Tool{one})
		all = append(all, one)
	}
	checkDraft(t, all)
}

// A server can list tools such that each name that comes to mind is taken by one
// more.
func TestAListThatTakesEveryName(t *testing.T) {
	for _, odd := range []string{"_", "ü"} {
		var tools []report.Tool
		for n := range 300 {
			tools = append(tools, report.Tool{Tool: policy.Tool{Name: strings.Repeat(odd, 13+n)}})
			if odd == "_" {
				tools[n].Name = "some_new_tool" + strings.Repeat(odd, n)
			}
		}
		if got, want := string(report.Draft("notes", tools)), "{call: {tool: some_new_tool"+strings.Repeat("_", len(tools))+"}"; !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
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
		one, err := readTool(raw)
		if err != nil {
			return
		}
		checkDraft(t, []report.Tool{one})
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
		`{"name":"a","Annotations":{"readOnlyHint":true}}`:                                                 "(?)", // another key, to bridge and policy
		`{"name":"a","annotations":{"readOnlyHint":true,"ReadOnlyHint":false}}`:                            "(?)", // a word to some readers, another to others
		`{"name":"a","annotations":{"readOnlyHint":"true","destructiveHint":null,"openWorldHint":[true]}}`: "(?)",
	} {
		got := string(report.Draft("notes", []report.Tool{toolOf(t, raw)}))
		if !strings.Contains(got, "\"a\"  # "+want+"\n") {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// Only so many past calls are held in memory, and those are the newest.
func TestOnlyTheNewestPastCallsAreCompared(t *testing.T) {
	var all report.Past
	const n = 2*report.MostPast + 7
	for i := range n {
		r := audit.Record{Seq: uint64(i + 1), Event: "decided", Method: "tools/call", Tool: string(rune('a' + i%2)), From: "bob"}
		if i == n-1 {
			r.From = "last"
		}
		all.Take(r)
	}
	calls := all.Calls()
	if len(calls) != report.MostPast || calls[len(calls)-1].From != "last" {
		t.Errorf("%d calls", len(calls))
	}
	now, err := policy.Flags(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if doubts := all.Doubts(now); len(doubts) != 1 || doubts[0] != fmt.Sprintf("%d past calls left out: there are too many", n-report.MostPast) {
		t.Errorf("%q", doubts)
	}
}
