package bridge

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

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
		if got := asJSON(value(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %#v\nwant %#v", text, got, want)
		}
	})
}

// asJSON is v with the numbers that are too large to be looked into as numbers.
func asJSON(v any) any {
	switch v := v.(type) {
	case vastNumber:
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
