package main

import (
	"strings"
	"testing"
)

func TestEveryLineGetsItsAnswer(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`, `{"jsonrpc":"2.0","id":0,"result":` + hello + `}`},
		{`{"jsonrpc":"2.0","id":"7","method":"tools/list"}`, `{"jsonrpc":"2.0","id":"7","result":` + tools + `}`},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
		{`not a message`, ``},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"echo takes a text"}}`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"echo takes a text"}}`},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"echo","arguments":{"text":"<&>\u2028"}}}`,
			`{"jsonrpc":"2.0","id":9007199254740993,"result":{"content":[{"type":"text","text":"<&>\u2028"}]}}`},
	} {
		var out strings.Builder
		if err := serve(strings.NewReader(c.in+"\n"), &out); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestALineLongerThanTheBuffer(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	var out strings.Builder
	in := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"}}}` + "\n"
	if err := serve(strings.NewReader(in+in), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), text); n != 2 {
		t.Errorf("%d answers with the whole text", n)
	}
}
