package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const plainOne = `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"t","type":"object","properties":{
	"s":{"type":"string","description":"d"},"n":{"type":"number","default":1},"i":{"type":"integer"},"b":{"type":"boolean"},"o":{"type":"null"},
	"e":{"enum":["x"]},"a":{"type":"array"},"short":{"type":"string","maxLength":1}},"required":["s"]}`

func TestWhatIsSeenToFitAPlainSchema(t *testing.T) {
	for _, c := range []struct {
		arguments string
		fits      bool // for certain
	}{
		{`{"s":""}`, true},
		{`{ "s" : "a\"}" , "n" : -1.5 , "i":12,"b":true, "o": null }`, true},
		{`{"s":"x","b":false,"unnamed":"x","another":1}`, true},
		{`{}`, false},
		{`{"n":1}`, false},
		{`{"s":1}`, false},
		{`{"s":"x","i":1.0}`, false},
		{`{"s":"x","n":1e3}`, false},
		{`{"s":"x","n":1E3}`, false},
		{`{"s":"x","unnamed":1e3}`, false},
		{`{"s":"x","i":-` + strings.Repeat("9", MaxDigits-1) + `}`, true},
		{`{"s":"x","i":-` + strings.Repeat("9", MaxDigits) + `}`, false},
		{`{"s":"x","b":null}`, false},
		{`{"s":"x","e":"x"}`, false},
		{`{"s":"x","a":[]}`, false},
		{`{"s":"x","short":"x"}`, false},
		{`{"s":"x","unnamed":{}}`, false},
		{`{"\u0073":"x"}`, false},
	} {
		if got := readPlain([]byte(plainOne)).fits([]byte(c.arguments)); got != c.fits {
			t.Errorf("%s: %v", c.arguments, got)
		}
	}
	closed := readPlain([]byte(`{"type":"object","properties":{"s":{"type":"string"}},"additionalProperties":false}`))
	if !closed.fits([]byte(`{"s":""}`)) || closed.fits([]byte(`{"s":"","x":1}`)) {
		t.Error("a closed schema")
	}
	for _, more := range []string{`true`, `{}`, `{"type":["object"]}`, `{"type":"object","minProperties":1}`, `{"type":"object","additionalProperties":{}}`, `{"type":"object","$ref":"#"}`, `{"Type":"object"}`} {
		if readPlain([]byte(more)) != nil {
			t.Errorf("%s counts as plain", more)
		}
	}
}

// A schema that asks for very many members, and arguments that have very many
// others, took a minute, which everybody else waited.
func TestManyMembersThatAreAskedForAreNotLookedThroughForEach(t *testing.T) {
	var names, members []string
	for i := range 100_000 {
		names = append(names, fmt.Sprintf(`"%06x"`, i))
		members = append(members, fmt.Sprintf(`"%06x":1,"%06x":1`, i+1<<20, i+1<<21))
	}
	simple := readPlain([]byte(`{"type":"object","required":[` + strings.Join(names, ",") + `]}`))
	done := make(chan bool, 1)
	go func() { done <- simple.fits([]byte("{" + strings.Join(members, ",") + "}")) }()
	select {
	case fits := <-done:
		if fits {
			t.Error("they fit without what they must have")
		}
	case <-time.After(20 * time.Second):
		t.Error("they are still looked through")
	}
}

// What is seen to fit, the validator takes.
func FuzzPlain(f *testing.F) {
	for _, arguments := range []string{`{"s":"","n":1,"i":2,"b":true,"o":null}`, `{"s":"\\","i":-0}`, `{"s":"x","n":0.1,"x":"y"}`, `{"s":"x","i":999999999999999}`, `{"e":"x"}`} {
		f.Add([]byte(plainOne), []byte(arguments))
		f.Add([]byte(`{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer","x":1}},"required":["s","s"],"additionalProperties":false}`), []byte(arguments))
		f.Add([]byte(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"number"},"e":true}}`), []byte(arguments))
	}
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		if jsonrpc.Scan(schema, jsonrpc.Judged, nil, nil) != nil || jsonrpc.Scan(arguments, jsonrpc.Judged, nil, nil) != nil || len(arguments) == 0 {
			t.Skip()
		}
		p := readPlain(schema)
		if p == nil || !p.fits(arguments) {
			t.Skip()
		}
		if compiled := strictest(schema); compiled != nil {
			if err := compiled.Validate(Value(arguments)); err != nil {
				t.Errorf("%s\nis seen to fit\n%s\nbut: %v", arguments, schema, err)
			}
		}
	})
}
