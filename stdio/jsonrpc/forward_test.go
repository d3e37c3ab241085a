package jsonrpc_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func TestACallIsBuiltAnewFromIDMethodAndParams(t *testing.T) {
	token := jsonrpc.Edit{Field: jsonrpc.ProgressToken, Value: []byte(`9`)}
	arguments := jsonrpc.Edit{Field: jsonrpc.Arguments, Value: []byte(`{"b":2}`)}
	whole := jsonrpc.Edit{Field: jsonrpc.Params, Value: []byte(`{"uri":"b"}`)}
	for _, c := range []struct {
		message, params string // what is left of it; "" none
		edits           []jsonrpc.Edit
	}{
		{`{"x":1,"method":"m","id":7,"result":null,"_meta":{"a":1}}`, ``, nil},
		{`{"method":"m", "params" : {"a" : [ 1e2 ] } ,"x":1}`, `{"a" : [ 1e2 ] }`, nil},
		{"{\"method\":\"m\",\"params\":{\"a\":1,\r\n\"b\":2}}", `{"a":1,  "b":2}`, nil},
		{`{"method":"m","params":null}`, `null`, nil},
		{`{"method":"m","params":[1]}`, `[1]`, []jsonrpc.Edit{token}},
		{`{"method":"m","params":null}`, `{"_meta":{"progressToken":9}}`, []jsonrpc.Edit{token}},
		{`{"method":"m"}`, `{"_meta":{"progressToken":9,"k":1}}`, []jsonrpc.Edit{token, jsonrpc.InsertMeta([]byte(`"k":1`))}},
		{`{"method":"m","params":{"_meta":{"progressToken":"x","k":2},"arguments":{"a":1},"task":{}},"task":{}}`,
			`{"_meta":{"progressToken":9,"k":2},"arguments":{"b":2},"task":{}}`, []jsonrpc.Edit{token, arguments}},
		{`{"method":"m","params":{"uri":"a"}}`, `{"uri":"b"}`, []jsonrpc.Edit{token, whole}},
		{`{"method":"m","params":{"_meta":{"a":1}}}`, `{}`, []jsonrpc.Edit{{Field: jsonrpc.Meta}}},
	} {
		want := `before{"jsonrpc":"2.0","id":"i","method":"tools/call"`
		if c.params != "" {
			want += `,"params":` + c.params
		}
		m := parse(t, c.message)
		if got := string(m.AppendCall([]byte("before"), []byte(`"i"`), "tools/call", c.edits...)); got != want+"}" {
			t.Errorf("%s\nbecomes %s\n   want %s}", c.message, got, want)
		}
	}
}
