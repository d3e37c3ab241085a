package report_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

// What people are shown of a key is a file that loads, passes its own tests, and has that key.
func TestTheExampleOfEachKeyLoads(t *testing.T) {
	for _, k := range report.Keys() {
		p, err := policy.Load(k.Key, []byte(k.File()))
		if err != nil {
			t.Errorf("%v\n%s", err, k.File())
			continue
		}
		for _, r := range p.Test() {
			if !r.Passed {
				t.Errorf("%s: its own test fails: %s", k.Key, r.Decision)
			}
		}
		if !strings.Contains(k.Example, k.Key+": ") || strings.Contains(k.Example, "\n") || len(k.Example) > 110 {
			t.Errorf("%s, %s: the example is no line with it: %s", k.Key, k.In, k.Example)
		}
	}
}

// The page has what the schema says. UPDATE=1 writes it anew.
func TestThePageHasEveryKey(t *testing.T) {
	const page, mark = "../../docs/policy.md", "UPDATE=1 go test ./policy/report -->\n\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), mark)
	want := head + mark + report.KeyReference(report.Keys())
	if os.Getenv("UPDATE") != "" && found {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is not what policy/schema.json says: UPDATE=1 go test ./policy/report writes it", page)
	}
}

// No key of the schema is left out of the reference, and none has no description of its own.
func TestEveryKeyOfTheSchemaIsDescribed(t *testing.T) {
	var schema any
	if err := json.Unmarshal(policy.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	var walk func(node any)
	walk = func(node any) {
		object, _ := node.(map[string]any)
		if list, is := node.([]any); is {
			for _, v := range list {
				walk(v)
			}
		}
		properties, _ := object["properties"].(map[string]any)
		for name, about := range properties {
			if ref, _ := about.(map[string]any)["$ref"].(string); !strings.HasPrefix(ref, "#/$defs/rule/") {
				want[name]++
			}
		}
		for _, v := range object {
			walk(v)
		}
	}
	walk(schema)
	got := map[string]int{}
	for _, k := range report.Keys() {
		got[k.Key]++
		if k.Example == "" || !strings.HasSuffix(k.About, ".") && !strings.HasSuffix(k.About, "}.") {
			t.Errorf("%s, %s: %q, for example %q", k.Key, k.In, k.About, k.Example)
		}
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s is in the schema %d times, and described %d times", name, n, got[name])
		}
	}
	if len(got) != len(want) || len(got) < 60 {
		t.Errorf("%d keys are described of %d", len(got), len(want))
	}
}
