package jsonrpc_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func parse(t *testing.T, text string) jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Parse([]byte(text), jsonrpc.Judged)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func TestFields(t *testing.T) {
	m := parse(t, ` { "jsonrpc" : "2.0" ,"id":7,"method":"tools/call","params":{"name":"n","uri":"u","ref":{"a":[]},
		"arguments":{"name":"other"},"_meta":{"progressToken":"p","x":1},"progressToken":3,"progress":0.5,"requestId":"r"},
		"result":null,"error":{"code":1}}`+"\n")
	for f, want := range map[jsonrpc.Field]string{
		jsonrpc.Version: `"2.0"`, jsonrpc.ID: `7`, jsonrpc.Method: `"tools/call"`, jsonrpc.Result: `null`, jsonrpc.Err: `{"code":1}`,
		jsonrpc.Name: `"n"`, jsonrpc.URI: `"u"`, jsonrpc.Ref: `{"a":[]}`, jsonrpc.Arguments: `{"name":"other"}`,
		jsonrpc.Meta: `{"progressToken":"p","x":1}`, jsonrpc.ProgressToken: `"p"`, jsonrpc.Token: `3`, jsonrpc.Progress: `0.5`, jsonrpc.RequestID: `"r"`,
	} {
		if got := string(m.Get(f)); got != want || !m.Has(f) {
			t.Errorf("field %d: %s, want %s", f, got, want)
		}
	}
	if !bytes.HasPrefix(m.Raw, []byte("{ ")) || !bytes.HasSuffix(m.Raw, []byte("}}")) {
		t.Errorf("Raw has white space around the object: %q", m.Raw)
	}
	if m.Text(jsonrpc.ID) != "" || m.Text(jsonrpc.Name) != "n" {
		t.Errorf("Text of id %q, of name %q", m.Text(jsonrpc.ID), m.Text(jsonrpc.Name))
	}
	if e := parse(t, `{}`); e.Has(jsonrpc.ID) || e.Get(jsonrpc.ID) != nil || e.Text(jsonrpc.ID) != "" {
		t.Error("an empty object has an id")
	}
}

// TestIDsKeepTheirText: ids differ as tokens do, and numbers keep theirs.
func TestIDsKeepTheirText(t *testing.T) {
	for _, id := range []string{`7`, `"7"`, `0`, `-1`, `1.0`, `9007199254740993`, `1e2`, `""`, `"\u0041"`, `"a b<>&"`, "\"\u2028\"", `null`} {
		m := parse(t, `{"id":`+id+`}`)
		if got := string(m.Get(jsonrpc.ID)); got != id {
			t.Errorf("id %s is read as %s", id, got)
		}
		if got, want := string(m.Append(nil, jsonrpc.Edit{Field: jsonrpc.Method, Value: []byte(`"m"`)})), `{"method":"m","id":`+id+`}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]jsonrpc.Reason{
		`{"id":true}`: jsonrpc.BadID, `{"id":{}}`: jsonrpc.BadID, `{"id":[1]}`: jsonrpc.BadID, `{"id":false}`: jsonrpc.BadID,
		`{"method":null}`: jsonrpc.BadMethod, `{"method":["tools/call"]}`: jsonrpc.BadMethod, `{"method":1,"id":{}}`: jsonrpc.BadMethod,
		`{"id":null}`: "", `{"id":"x","method":""}`: "",
	} {
		_, err := jsonrpc.Parse([]byte(text), jsonrpc.Judged)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		} else if e, ok := err.(*jsonrpc.Error); !ok || e.Reason != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestClass(t *testing.T) {
	for text, want := range map[string]jsonrpc.Class{
		`{"method":"m","id":1}`:                        jsonrpc.Request,
		`{"method":"m","id":"","params":{}}`:           jsonrpc.Request,
		`{"method":"m"}`:                               jsonrpc.Notification,
		`{"id":1,"result":{}}`:                         jsonrpc.Response,
		`{"id":1,"result":null}`:                       jsonrpc.Response,
		`{"id":1,"error":{"code":1,"message":""}}`:     jsonrpc.Response,
		`{"id":null,"error":{}}`:                       jsonrpc.Response,
		`{"result":{}}`:                                jsonrpc.Response,
		`{"id":1,"result":{},"error":null}`:            jsonrpc.Response,
		`{"id":1,"result":null,"error":{}}`:            jsonrpc.Response,
		`{}`:                                           jsonrpc.Malformed,
		`{"id":1}`:                                     jsonrpc.Malformed,
		`{"id":1,"error":null}`:                        jsonrpc.Malformed,
		`{"id":1,"result":{},"error":{}}`:              jsonrpc.Malformed,
		`{"id":1,"method":"m","result":{}}`:            jsonrpc.Malformed,
		`{"id":1,"method":"m","error":{}}`:             jsonrpc.Malformed,
		`{"id":null,"method":"m"}`:                     jsonrpc.Malformed,
		`{"jsonrpc":"2.0","params":{"method":"m"}}`:    jsonrpc.Malformed,
		`{"id":1,"method":"m","params":{"result":{}}}`: jsonrpc.Request,
	} {
		if m := parse(t, text); m.Class() != want {
			t.Errorf("%s: class %d, want %d", text, m.Class(), want)
		}
	}
}

// Servers of old say that there was no error; who asked whether there is one took that for one.
func TestANullErrorBesideAResultIsNone(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":1,"result":{},"error":null}`:   "",
		`{"error":null,"id":1,"result":null}`: "",
		`{"id":1,"error":null}`:               "null",
		`{"id":1,"result":{},"error":{}}`:     "{}",
		`{"id":1,"result":null,"error":{}}`:   "{}",
	} {
		m := parse(t, " "+text)
		if got := string(m.Get(jsonrpc.Err)); got != want || m.Has(jsonrpc.Err) != (want != "") || string(m.Raw) != text {
			t.Errorf("%s: the error is %q of %s, want %q", text, got, m.Raw, want)
		}
	}
}

// TestEmbedded reads a message as part of a larger text.
func TestEmbedded(t *testing.T) {
	const payload = 3 // slots before those of the message
	shape := jsonrpc.Shape{
		{Name: "from", Slot: 0},
		{Name: "payload", Slot: 1, Inside: jsonrpc.MessageShape.Shift(payload)},
		{Name: "unused", Slot: -1},
	}
	text := []byte(`{"unused":{},"from":"a","payload": {"id":{"x":1},"method":"m","params":{"name":"n"}} ,"id":"outer"}`)
	var slots [payload + int(jsonrpc.Fields)]jsonrpc.Span
	if err := jsonrpc.Scan(text, jsonrpc.Judged, shape, slots[:]); err != nil {
		t.Fatal(err)
	}
	s := slots[1]
	m := jsonrpc.At(text[s.Start:s.End], slots[payload:], s.Start)
	if got := string(m.Get(jsonrpc.Name)); got != `"n"` || m.Has(jsonrpc.Result) {
		t.Errorf("name %s", got)
	}
	if m.Check() == nil || m.Class() != jsonrpc.Malformed {
		t.Error("an object as id was let through")
	}
	want := strings.Replace(string(text[s.Start:s.End]), `{"x":1}`, `5`, 1)
	if got := string(m.Append(nil, jsonrpc.Edit{Field: jsonrpc.ID, Value: []byte("5")})); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if jsonrpc.MessageShape[1].Slot != int(jsonrpc.ID) || jsonrpc.Shape(nil).Shift(1) != nil {
		t.Error("Shift changed its receiver, or made something of nothing")
	}
	for text, want := range map[string]jsonrpc.Reason{
		`{"payload":{"id":1,"ID":2}}`:                jsonrpc.KeyCase,
		`{"payload":{"params":{"name":1,"naMe":2}}}`: jsonrpc.KeyCase,
		`{"Payload":{}}`:                             jsonrpc.KeyCase,
		`{"UNUSED":{}}`:                              jsonrpc.KeyCase,
		`{"payload":{"params":{"name":1,"name":2}}}`: jsonrpc.DuplicateKey,
	} {
		if e, ok := jsonrpc.Scan([]byte(text), jsonrpc.Judged, shape, slots[:]).(*jsonrpc.Error); !ok || e.Reason != want {
			t.Errorf("%s: %v, want %s", text, e, want)
		}
	}
}

func TestUnquote(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", `"a"`: "a", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u0041\u00e9"`: "Aé", `"\ud83d\ude00!"`: "😀!", `"é\u2028"`: "é\u2028",
	} {
		if got, ok := jsonrpc.Unquote([]byte(raw)); !ok || got != want {
			t.Errorf("%s: %q, %v, want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `"`, `a`, `1`, `null`, `"a`, `"a" `, ` "a"`, `"a"b"`, `"\ud83d"`, "\"\xff\"", "\"\n\"", `{"a":"b"}`} {
		if got, ok := jsonrpc.Unquote([]byte(raw)); ok || got != "" {
			t.Errorf("%q: %q, %v, want refusal", raw, got, ok)
		}
	}
}

func TestAppendQuote(t *testing.T) {
	for s, want := range map[string]string{
		"": `""`, "a<b>&'\u2028é😀\x7f": "\"a<b>&'\u2028é😀\x7f\"", "\"\\\n\r\t\x00\x1f": `"\"\\\n\r\t\u0000\u001f"`,
		"\xffa\xe2\x82": "\"\ufffda\ufffd\ufffd\"", "\ufffd": "\"\ufffd\"",
	} {
		if got := string(jsonrpc.AppendQuote([]byte("x"), s)); got != "x"+want {
			t.Errorf("%q: %s, want x%s", s, got, want)
		}
	}
}

func TestBuild(t *testing.T) {
	raw := func(s string) []byte { return []byte(s) }
	for _, c := range []struct{ got, want string }{
		{string(jsonrpc.AppendRequest(raw("x"), raw("7"), "a\"b", raw("{\n}"))), `x{"jsonrpc":"2.0","id":7,"method":"a\"b","params":{ }}`},
		{string(jsonrpc.AppendRequest(nil, raw(`"7"`), "m", nil)), `{"jsonrpc":"2.0","id":"7","method":"m"}`},
		{string(jsonrpc.AppendNotification(raw("\n"), "m", raw("{}"))), "\n" + `{"jsonrpc":"2.0","method":"m","params":{}}`},
		{string(jsonrpc.AppendNotification(nil, "m", nil)), `{"jsonrpc":"2.0","method":"m"}`},
		{string(jsonrpc.AppendResult(nil, raw("1.0"), raw("[\r\n]"))), `{"jsonrpc":"2.0","id":1.0,"result":[  ]}`},
		{string(jsonrpc.AppendResult(nil, nil, nil)), `{"jsonrpc":"2.0","result":{}}`},
		{string(jsonrpc.AppendError(nil, raw("1"), -32600, "no <b>\n", raw(`{"reason":"x"}`))), `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no <b>\n","data":{"reason":"x"}}}`},
		{string(jsonrpc.AppendError(nil, nil, 1, "m", nil)), `{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}`},
		{string(jsonrpc.AppendError(nil, raw("null"), 1, "m", nil)), `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`},
	} {
		if c.got != c.want {
			t.Errorf("got %s\nwant %s", c.got, c.want)
		}
	}
}
