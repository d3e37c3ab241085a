package jsonrpc_test

import (
	"bytes"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A request that is made of a message without reading its params again has every
// field where it would be found.
func FuzzARequestMadeOfAMessageReadsAsIfItWereReadAgain(f *testing.F) {
	for _, seed := range []string{
		`{"method":"tools/call","params":{"name":"a","arguments":{"b":[1,"\u00e9\n"]},"_meta":{"progressToken":"t"}}}`,
		`{"reason":"x","params": { "uri" :"a" , "ref":{}, "requestId":1,"progressToken":2,"progress":3 } ,"method":"resources/read"}`,
		"{\"id\":1,\"params\":{\n\"_meta\"\r:{\"progressToken\" :\n7}},\"jsonrpc\":\"2.0\",\"method\":\"x\"}",
		`{"params":{}}`, `{"params":[]}`, `{"params":null}`, `{"params":5}`, `{}`, `{"params":{"_meta":null,"name":{}}}`,
	} {
		f.Add([]byte(seed), "tools/call")
	}
	f.Add([]byte(`{"params":{"name":1}}`), "a\"\n\u2028\xff")
	f.Fuzz(func(t *testing.T, data []byte, method string) {
		m, err := jsonrpc.Parse(data, jsonrpc.Called)
		if err != nil {
			return
		}
		got, err := m.Request([]byte("0"), method)
		if err != nil {
			t.Fatal(err)
		}
		raw := jsonrpc.AppendRequest(nil, []byte("0"), method, m.Get(jsonrpc.Params))
		want, err := jsonrpc.Parse(raw, jsonrpc.Called)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if !bytes.Equal(got.Raw, want.Raw) {
			t.Fatalf("%s, and %s if it is read again", got.Raw, want.Raw)
		}
		for field := range jsonrpc.Fields {
			if !bytes.Equal(got.Get(field), want.Get(field)) || got.Has(field) != want.Has(field) {
				t.Errorf("%s: field %d is %s, and %s if it is read again", data, field, got.Get(field), want.Get(field))
			}
		}
		// An edit goes by where the keys stand, too.
		edits := []jsonrpc.Edit{{Field: jsonrpc.Meta}, {Field: jsonrpc.Name, Value: []byte("1")}}
		if a, b := got.Append(nil, edits...), want.Append(nil, edits...); !bytes.Equal(a, b) {
			t.Errorf("%s edited, and %s if it is read again", a, b)
		}
	})
}

// A string ends where a byte-by-byte reader says, however its quotes are written and
// wherever the looks at single bytes give way to searches.
func FuzzStringEnd(f *testing.F) {
	f.Add([]byte(`a\"b\\\"cdefghijklmnopqrstuvwxyz\\`), 3)
	f.Add([]byte(`\"0123456789abcde\"0123456789abcdef\"0123456789abcdefg\\`), 1)
	f.Add([]byte(`\\\\\\\\\\\\\\\\\\\\\\\\\\\\\"\\\\\\`), 2)
	f.Fuzz(func(t *testing.T, inner []byte, times int) {
		text := append(append([]byte(` "`), bytes.Repeat(inner, max(1, times%5))...), "\" \"x\""...)
		want := 2
		for want < len(text) && text[want] != '"' {
			if text[want] == '\\' {
				want++
			}
			want++
		}
		if want >= len(text)-4 {
			return // it is no string of its own
		}
		if got := jsonrpc.StringEnd(text, 1); got != want+1 {
			t.Errorf("%s ends at %d, want %d", text, got, want+1)
		}
	})
}
