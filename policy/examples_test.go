package policy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func examples(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../examples/policies/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		if all[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestExamples(t *testing.T) {
	for name, data := range examples(t) {
		p, err := policy.Load(name, data)
		if err != nil {
			t.Fatal(err)
		}
		results := p.Test()
		if len(results) < 10 {
			t.Errorf("%s has %d tests", name, len(results))
		}
		for _, r := range results {
			if !r.Passed {
				t.Errorf("%s:%d wants %s by %q:\n%s", name, r.Line, r.Want, r.By, policy.Explain(r.Decision, ""))
			}
		}
		for _, w := range p.Warnings(nil) {
			t.Errorf("%s: %s", name, w)
		}
	}
}

// How many must agree to a merge hung on an argument that the caller chose and the
// server did not read.
func TestTheCallerDidNotChooseHowManyMustAgree(t *testing.T) {
	p, err := policy.Load("git-hosting.yaml", examples(t)["git-hosting.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"", `,"base":"main"`, `,"base":"release/2.0"`, `,"head":"x"`} {
		c := policy.Call{From: "dev-agent", Via: "request", Method: "tools/call", Tool: "merge_pull_request",
			Args: []byte(`{"owner":"acme","repo":"engine","pullNumber":7` + more + `}`), Now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
		if d := p.Decide(c, nil); d.Verdict != policy.Ask || d.Ask.Need != 2 {
			t.Errorf("with %s: %s", more, d)
		}
	}
}

// The schema takes what Load takes and refuses what it refuses, as far as a
// schema can.
func TestSchema(t *testing.T) {
	schema := compiled(t)
	for name, data := range examples(t) {
		if err := schema.Validate(instance(t, data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := schema.Validate(instance(t, []byte(designed))); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		`{}`, `[]`, `{"default":"alow"}`, `{"default":"deny","rulez":[]}`, `{"version":2,"default":"deny"}`,
		`{"default":"ask","approvers":{}}`, `{"default":"ask","approvers":{"ops":["*"]}}`, `{"default":"ask","approvers":{"local":["a"]}}`,
		`{"default":"ask","asks":{"default":{"of":[]}}}`, `{"default":"ask","asks":{"default":{"within":"0"}}}`, `{"default":"ask","asks":{"default":{"within":"0s"}}}`,
		`{"default":"ask","asks":{"default":{"within":300}}}`, `{"default":"ask","asks":{"x":{"need":2}}}`, `{"default":"ask","asks":{"default":{"on_timeout":"allow"}}}`,
		`{"default":"ask","asks":{"default":{"edit":{"approve":{"arg":"/x"}}}}}`, `{"default":"ask","asks":{"default":{"delegate":{"depth":1}}}}`,
		`{"default":"deny","rules":[{}]}`, `{"default":"deny","rules":[{"ask":"a","as":{}}]}`, `{"default":"deny","rules":[{"allow":["a"],"deny":["b"]}]}`, `{"default":"deny","rules":[{"allow":["re:("]}]}`,
		`{"default":"deny","rules":[{"allow":[]}]}`, `{"default":"deny","rules":[{"tool":"a","action":"allow"}]}`, `{"default":"deny","rules":[{"allow":"a","except":{}}]}`,
		`{"default":"deny","rules":[{"allow":"a","args":{"x":5}}]}`, `{"default":"deny","rules":[{"allow":"a","args":{"x":{"max":"5"}}}]}`,
		`{"default":"deny","rules":[{"allow":"a","limit":{"count":10}}]}`, `{"default":"deny","rules":[{"allow":"a","limit":{"per":"all"}}]}`,
		`{"default":"deny","rules":[{"allow":"a","hours":"8-18"}]}`, `{"default":"deny","redact":["a/b"]}`, `{"default":"deny","tests":[{"want":"deny"}]}`,
		`{"default":"deny","server":{"pin":false}}`, `{"default":"deny","proposals":{"broadcast":"yes"}}`,
	} {
		if err := schema.Validate(instance(t, []byte(bad))); err == nil {
			t.Errorf("the schema takes %s", bad)
		}
		if _, err := policy.Load("x", []byte(bad)); err == nil {
			t.Errorf("Load takes %s", bad)
		}
	}
	for _, good := range []string{
		`{"default":"deny"}`, `{"version":1,"default":"ask","rules":[],"redact":[]}`,
		`{"default":"ask","asks":{"default":{"within":"1h30m"},"x":{"extends":"default","within":"2h"},"y":{"of":"host","mode":"sequential"}}}`,
		`{"default":"deny","rules":[{"allow":"a","until":"2026-12-31","via":"request","args":{"/a/*":{"type":["integer","absent"],"in":[1,null]},"b":{"has":"x","not":[true]}},
			"except":[{"tools":"x"},{"hints":{"readOnly":true}}],"limit":{"sum":{"arg":"n","max":5,"window":"30m"},"over":"deny"}}]}`,
		`{"default":"deny","rules":[{"ask":"a","as":{"need":1,"remember":"session"}}]}`,
		`{"default":"deny","rules":[{"ask":"a","as":{"of":["local"],"need":1,"remember":"always","edit":{"n":{"arg":"@timeout","max":5}}}}]}`,
	} {
		if err := schema.Validate(instance(t, []byte(good))); err != nil {
			t.Errorf("%s: %v", good, err)
		}
		load(t, good)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(policy.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("policy.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func instance(t *testing.T, data []byte) any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Every key that Load knows is in the schema, and the other way round.
func TestSchemaKnowsEveryKey(t *testing.T) {
	var s struct {
		Properties map[string]json.RawMessage
		Defs       map[string]struct {
			Properties map[string]json.RawMessage
		} `json:"$defs"`
	}
	if err := json.Unmarshal(policy.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		keys map[string]json.RawMessage
	}{
		{"zzzzzzzz: 1\ndefault: deny", s.Properties},
		{"default: deny\nrules: [{zzzzzzzz: 1}]", s.Defs["rule"].Properties},
		{"default: deny\nrules: [{allow: x, except: {zzzzzzzz: 1}}]", s.Defs["except"].Properties},
		{arg("x: {zzzzzzzz: 1}"), s.Defs["argTests"].Properties},
		{"default: deny\nasks: {default: {zzzzzzzz: 1}}", s.Defs["terms"].Properties},
		{"default: deny\nrules: [{allow: x, hints: {zzzzzzzz: 1}}]", s.Defs["hints"].Properties},
		{"default: deny\ntests: [{zzzzzzzz: 1}]", s.Defs["test"].Properties},
		{"default: deny\nnotify: {x: {zzzzzzzz: 1}}", s.Defs["channel"].Properties},
	} {
		_, err := policy.Load("x", []byte(c.text))
		if err == nil {
			t.Fatalf("%s loads", c.text)
		}
		var all strings.Builder
		all.WriteString(err.Error())
		for _, more := range err.(*policy.LoadError).More {
			all.WriteString(more.Error())
		}
		_, known, _ := strings.Cut(all.String(), "known are ")
		known, _, _ = strings.Cut(known, ")")
		names := strings.Split(known, ", ")
		if len(names) != len(c.keys) {
			t.Errorf("%s: Load knows %d keys, the schema %d", c.text, len(names), len(c.keys))
		}
		for _, name := range names {
			if _, ok := c.keys[name]; !ok {
				t.Errorf("%s: the schema does not know %s", c.text, name)
			}
		}
	}
}
