package catalog

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// FuzzValue holds value against encoding/json for every text that the strict
// scan lets through.
func FuzzValue(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":[]}`, ` { "a" : [ 1 , -2.50e+3 , "x\"\\" , null , true , false , {"b":{}} ] , "\u0063" : "é\ud83d\ude00" } `,
		`{"a":"\\","b":"\\\"","c":"\\\\"}`, `{"n":9007199254740993,"m":1.0}`, `{"n":[1e999,{"m":-2E-401}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if jsonrpc.Scan(text, jsonrpc.Judged, nil, nil) != nil {
			t.Skip()
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := asJSON(Value(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %#v\nwant %#v", text, got, want)
		}
	})
}

// asJSON is v with the numbers that are too large to be looked into as numbers.
func asJSON(v any) any {
	switch v := v.(type) {
	case VastNumber:
		return json.Number(v)
	case []any:
		for i := range v {
			v[i] = asJSON(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = asJSON(v[k])
		}
	}
	return v
}

// What a schema says of arguments must not hang on whether their strings are
// left out where it is deaf to them.
func FuzzDeaf(f *testing.F) {
	for _, c := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"integer"}},"required":["a"],"additionalProperties":false}`, `{"a":"x","n":"1"}`},
		{`{"properties":{"a":{"enum":["x"]}}}`, `{"a":"x"}`},
		{`{"properties":{"a":{"\u0065num":["x"]}}}`, `{"a":"x"}`},
		{`{"properties":{"a":{"const":{"b":["x"]}}}}`, `{"a":{"b":["x"]}}`},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":["x","y"]}`},
		{`{"properties":{"a":{"minLength":1}}}`, `{"a":"x"}`},
		{`{"properties":{"a":{"pattern":"^x"}}}`, `{"a":"x"}`},
		{`{"patternProperties":{"^x":{"type":"string"}},"propertyNames":{"maxLength":2}}`, `{"x":1,"long":2}`},
		{`{"properties":{"a":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`, `{"a":{"type":"string"}}`},
		{`{"properties":{"a":{"$dynamicRef":"https://json-schema.org/draft/2020-12/schema"}}}`, `{"a":{"type":"string"}}`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"format":"ipv4"}},"not":{"required":["b"]}}`, `{"a":"127.0.0.1"}`},
		{`{"properties":{"a":{"contentMediaType":"application/json"}},"dependentRequired":{"b":["a"]}}`, `{"a":"1"}`},
		{`{"if":{"properties":{"a":{"type":"string"}}},"then":{"required":["b"]},"else":false}`, `{"a":"x","b":""}`},
	} {
		f.Add([]byte(c[0]), []byte(c[1]))
	}
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		if jsonrpc.Scan(schema, jsonrpc.Judged, nil, nil) != nil || jsonrpc.Scan(arguments, jsonrpc.Judged, nil, nil) != nil || !deaf(schema) {
			t.Skip()
		}
		compiled := strictest(schema)
		if compiled == nil {
			t.Skip()
		}
		whole, mute := compiled.Validate(Value(arguments)), compiled.Validate(values{text: arguments, mute: true}.value())
		if (whole == nil) != (mute == nil) {
			t.Errorf("%s\nwith strings: %v\nwithout: %v", arguments, whole, mute)
		}
	})
}

// strictest is a schema that has its every word obeyed, nil if it cannot be used.
func strictest(schema []byte) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenientRegexp)
	c.AssertFormat()
	c.AssertContent()
	if c.AddResource("tool:schema", Value(schema)) != nil {
		return nil
	}
	compiled, err := c.Compile("tool:schema")
	if err != nil {
		return nil
	}
	return compiled
}
