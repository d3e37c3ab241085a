package approval

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func aDialog() *Dialog {
	return &Dialog{DelegateTo: []string{"carol"}, Edits: []Field{
		{Field: "target", Title: "Target", Type: "string", Enum: []string{`"production"`, `"staging"`, `""`}, Now: `"production"`},
		{Field: "note", Title: "Note", Type: "string", Now: `"old"`},
		{Field: "timeout", Title: "Timeout", Type: "number", Min: "1", Max: "300", Now: "30"},
		{Field: "size", Title: "Size", Type: "integer", Enum: []string{"1", "10"}},
		{Field: "dry", Title: "Dry run", Type: "boolean", Now: "true"},
		{Field: "force", Title: "Force", Type: "boolean"},
		{Field: "decision", Title: "A field that would be the choice", Type: "string"},
		{Field: "Reason", Title: "And one that would be its reason", Type: "string"},
		{Field: "edit1", Title: "Or another's", Type: "string"},
	}}
}

// A form of MCP is one object of primitives, in which text alone has an enum.
func TestADialogOffersEachFieldAsMCPKnowsForms(t *testing.T) {
	var form struct {
		Properties map[string]map[string]any
		Required   []string
	}
	if err := json.Unmarshal(aDialog().Schema(), &form); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"decision":   `{"enum":["allow","deny","delegate"],"enumNames":["Allow this call","Deny this call","Let somebody else decide"],"title":"Decision","type":"string"}`,
		"delegateTo": `{"enum":["carol"],"title":"Who decides instead","type":"string"}`,
		"target":     `{"description":"Now \"production\". Left empty, it stays as it is.","enum":["production","staging"],"title":"Target","type":"string"}`,
		"note":       `{"description":"Now \"old\". Left empty, it stays as it is.","title":"Note","type":"string"}`,
		"timeout":    `{"description":"Now 30. Left empty, it stays as it is.","maximum":300,"minimum":1,"title":"Timeout","type":"number"}`,
		"size":       `{"description":"Left empty, it stays as it is.","enum":["1","10"],"title":"Size","type":"string"}`,
		"dry":        `{"default":true,"description":"Now true. Left empty, it stays as it is.","title":"Dry run","type":"boolean"}`,
		"force":      `{"description":"Left empty, it stays as it is.","enum":["true","false"],"title":"Force","type":"string"}`,
		"edit7":      `{"description":"Left empty, it stays as it is.","title":"A field that would be the choice","type":"string"}`,
		"edit8":      `{"description":"Left empty, it stays as it is.","title":"And one that would be its reason","type":"string"}`,
		"edit9":      `{"description":"Left empty, it stays as it is.","title":"Or another's","type":"string"}`,
		"reason":     `{"maxLength":500,"title":"Reason","type":"string"}`,
	} {
		if got, _ := json.Marshal(form.Properties[key]); string(got) != want {
			t.Errorf("%s is %s", key, got)
		}
	}
	if len(form.Properties) != 12 || !reflect.DeepEqual(form.Required, []string{"decision"}) {
		t.Errorf("the form has %d fields and wants %q", len(form.Properties), form.Required)
	}
}

func TestWhatIsFilledIntoADialogChangesTheCall(t *testing.T) {
	for content, want := range map[string]string{
		`{"decision":"allow"}`: ``,
		`{"decision":"allow","target":"","note":"","timeout":"","dry":true,"target":"","reason":"r"}`:           `!`, // a key twice
		`{"decision":"allow","target":"","note":"","timeout":"","dry":true,"force":"","reason":"r"}`:            ``,  // nothing filled in
		`{"decision":"allow","target":"production","timeout":3e1}`:                                              ``,  // left at what it is
		`{"decision":"allow","target":"staging","timeout":5,"size":"10","dry":false,"force":"true","note":"n"}`: `target="staging" note="n" timeout=5 size=10 dry=false force=true`,
		`{"decision":"allow","size":10,"force":true}`:                                                           `size=10 force=true`,
		`{"decision":"allow","edit7":"deny","edit8":"x","edit9":"y"}`:                                           `decision="deny" Reason="x" edit1="y"`,
		`{"decision":"allow","target":"moon"}`:                                                                  `!`,
		`{"decision":"allow","timeout":0}`:                                                                      `!`,
		`{"decision":"allow","timeout":"30"}`:                                                                   `!`,
		`{"decision":"allow","timeout":null}`:                                                                   `!`,
		`{"decision":"allow","size":"7"}`:                                                                       `!`,
		`{"decision":"allow","size":"1.5"}`:                                                                     `!`,
		`{"decision":"allow","note":7}`:                                                                         `!`,
		`{"decision":"allow","note":["staging"]}`:                                                               `!`,
		`{"decision":"allow","note":{"a":1}}`:                                                                   `!`,
		`{"decision":"allow","dry":"true"}`:                                                                     `!`,
		`{"decision":"allow","force":"yes"}`:                                                                    `!`,
		`{"decision":"allow","Target":"staging"}`:                                                               `!`,
		`{"decision":"allow","path":"/etc"}`:                                                                    `!`, // was not offered
		`{"decision":"allow","approve":true}`:                                                                   `!`,
		`{"decision":"allow","arguments":{"target":"staging"}}`:                                                 `!`,
		`{"decision":"allow","edit1":"staging"}`:                                                                `!`,
		`{"decision":"deny","target":"staging"}`:                                                                `no`,
		`{"decision":"delegate","delegateTo":"carol","target":"staging"}`:                                       `to carol`,
		`{"decision":"delegate","delegateTo":"eve"}`:                                                            `!`,
		`{"decision":"delegate"}`:                                                                               `!`,
		`{"target":"staging"}`:                                                                                  `!`,
		`{"decision":"","target":"staging"}`:                                                                    `!`,
		`{"edit7":"allow"}`:                                                                                     `!`,
		`["allow"]`:                                                                                             `!`,
	} {
		r, problem := aDialog().Read([]byte(`{"action":"accept","content":` + content + `}`))
		got := ""
		for _, e := range r.Fields {
			got += " " + e.Field + "=" + string(e.Raw)
		}
		switch got = strings.TrimSpace(got); {
		case problem != "":
			got = "!"
		case r.To != "":
			got += "to " + r.To
		case !r.Allow:
			got += "no"
		}
		if got != want || r.Dismiss {
			t.Errorf("%s: %s (%s)", content, got, problem)
		}
		if r.Allow && problem != "" {
			t.Errorf("%s is a yes with a problem", content)
		}
	}
}

// What stands beside a no, or without its accept, changes and decides nothing.
func TestADialogIsDecidedByAnAcceptAlone(t *testing.T) {
	for _, result := range []string{
		`{"action":"decline","content":{"decision":"allow","target":"staging"}}`, `{"action":"cancel","content":{"decision":"allow"}}`,
		`{"action":"ACCEPT","content":{"decision":"allow"}}`, `{"content":{"decision":"allow"}}`, `{"decision":"allow"}`, `{}`, `[]`, `"allow"`, ``, `{`, ` `,
		`{"action":"accept","content":{"decision":"deny","Decision":"allow"}}`, `{"action":"accept","action":"accept","content":{"decision":"allow"}}`,
	} {
		if r, _ := aDialog().Read([]byte(result)); r.Allow || r.To != "" || len(r.Fields) > 0 {
			t.Errorf("%s decides: %v", result, r)
		}
	}
}

// A stranger's question names fields of its own: what cannot be seen, or bounds that are
// none, does not get into the client's form.
func TestAStrangersFieldsAreNoTrapInADialog(t *testing.T) {
	d := &Dialog{Edits: []Field{
		{Field: "a", Title: "A", Type: "string", Enum: []string{`"x"`, "\"x\u200b\""}},
		{Field: "b\u202e", Title: "B", Type: "string", Min: `{"type":"object"}`, Max: `"x"`},
		{Field: "c", Title: "C", Type: "string", Enum: []string{`{"a":1}`}},
		{Field: "__proto__", Title: "D", Type: "integer", Min: "1e999999999", Max: "7"},
		{Field: "edit4", Title: "E", Type: "string", Enum: []string{`""`}},
	}}
	got := string(d.Schema())
	const want = `{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["allow","deny"],"enumNames":["Allow this call","Deny this call"]},` +
		`"edit2":{"type":"string","title":"B","description":"Left empty, it stays as it is."},` +
		`"edit4":{"type":"integer","title":"D","description":"Left empty, it stays as it is.","maximum":7},` +
		`"reason":{"type":"string","title":"Reason","maxLength":500}},"required":["decision"]}`
	if got != want {
		t.Errorf("the form is\n%s", got)
	}
	if r, problem := d.Read([]byte(`{"action":"accept","content":{"decision":"allow","edit2":"v"}}`)); problem != "" || len(r.Fields) != 1 || r.Fields[0].Field != "b\u202e" {
		t.Errorf("%v %s", r, problem)
	}
}
