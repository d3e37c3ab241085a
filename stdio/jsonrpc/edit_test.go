package jsonrpc_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// places says of each field what its key is and what its object stands in.
var places = []struct {
	field       jsonrpc.Field
	key         string
	open, close string
}{
	{jsonrpc.Version, "jsonrpc", `{`, `}`},
	{jsonrpc.ID, "id", `{`, `}`},
	{jsonrpc.Method, "method", `{`, `}`},
	{jsonrpc.Params, "params", `{`, `}`},
	{jsonrpc.Result, "result", `{`, `}`},
	{jsonrpc.Err, "error", `{`, `}`},
	{jsonrpc.Name, "name", `{"x":0,"params":{`, `}}`},
	{jsonrpc.URI, "uri", `{"params":{`, `}}`},
	{jsonrpc.Ref, "ref", `{"params":{`, `},"x":0}`},
	{jsonrpc.Arguments, "arguments", `{"params":{`, `}}`},
	{jsonrpc.Meta, "_meta", `{"params":{`, `}}`},
	{jsonrpc.ProgressToken, "progressToken", `{"params":{"_meta":{`, `}}}`},
	{jsonrpc.Token, "progressToken", `{"params":{`, `}}`},
	{jsonrpc.Progress, "progress", `{"params":{`, `}}`},
	{jsonrpc.RequestID, "requestId", `{"params":{`, `}}`},
	{jsonrpc.IsError, "isError", `{"result":{`, `}}`},
}

func edit(t *testing.T, text string, edits ...jsonrpc.Edit) string {
	t.Helper()
	m := parse(t, text)
	got := m.Append([]byte("before"), edits...)
	if string(m.Raw) != strings.TrimSpace(text) {
		t.Errorf("Append changed the message to %s", m.Raw)
	}
	rest, ok := bytes.CutPrefix(got, []byte("before"))
	if !ok {
		t.Errorf("Append changed what it was to append to: %s", got)
	}
	return string(rest)
}

// TestEditEach replaces, removes and inserts every field, wherever it stands
// among other members.
func TestEditEach(t *testing.T) {
	if len(places) != int(jsonrpc.Fields) {
		t.Fatalf("%d fields tested of %d", len(places), jsonrpc.Fields)
	}
	for _, p := range places {
		object := func(members ...string) string { return p.open + strings.Join(members, ",") + p.close }
		member := func(value string) string { return `"` + p.key + `":` + value }
		check := func(text, value, want string) {
			t.Helper()
			if got := edit(t, text, jsonrpc.Edit{Field: p.field, Value: []byte(value)}); got != want {
				t.Errorf("%s with %q: %s, want %s", text, value, got, want)
			}
		}
		old := `"old"`
		for _, around := range [][]string{{}, {`"a":1`}, {`"a":1`, `"b":{"id":2}`}, {`"a":1`, `"b":[3]`, `"c":"}"`}} {
			for at := range len(around) + 1 {
				with := func(value string) string { return object(slices.Insert(slices.Clone(around), at, member(value))...) }
				check(with(old), `{"new":9007199254740993}`, with(`{"new":9007199254740993}`))
				if p.field != jsonrpc.Method { // which must be a string
					check(with("null"), `"<>&`+"\u2028"+`"`, with(`"<>&`+"\u2028"+`"`))
				}
				check(with(old), "", object(around...))
			}
			check(object(around...), "", object(around...))
			check(object(around...), "1.0", object(slices.Insert(slices.Clone(around), 0, member("1.0"))...))
		}
	}
}

func TestEditTable(t *testing.T) {
	e := func(f jsonrpc.Field, value string) jsonrpc.Edit { return jsonrpc.Edit{Field: f, Value: []byte(value)} }
	meta := func(members string) jsonrpc.Edit { return jsonrpc.InsertMeta([]byte(members)) }
	for _, c := range []struct {
		name, text string
		edits      []jsonrpc.Edit
		want       string
	}{
		{"nothing", `{ "id" : 1 }`, nil, `{ "id" : 1 }`},
		{"all else stays", `{"z" :1e5, "id":7 ,"a":"\u0041\/" , "n":1.10}`, []jsonrpc.Edit{e(jsonrpc.ID, `"x"`)}, `{"z" :1e5, "id":"x" ,"a":"\u0041\/" , "n":1.10}`},
		{"escaped key", `{"\u0069d":7}`, []jsonrpc.Edit{e(jsonrpc.ID, "8")}, `{"\u0069d":8}`},
		{"last edit counts", `{"id":7}`, []jsonrpc.Edit{e(jsonrpc.ID, "8"), e(jsonrpc.ID, "9")}, `{"id":9}`},
		{"put in, then taken out", `{}`, []jsonrpc.Edit{e(jsonrpc.ID, "8"), e(jsonrpc.ID, "")}, `{}`},

		{"remove neighbours at the front", `{"id":1,"method":"m","x":1}`, []jsonrpc.Edit{e(jsonrpc.ID, ""), e(jsonrpc.Method, "")}, `{"x":1}`},
		{"remove neighbours in the middle", `{"x":1,"method":"m","id":1,"y":1}`, []jsonrpc.Edit{e(jsonrpc.ID, ""), e(jsonrpc.Method, "")}, `{"x":1,"y":1}`},
		{"remove neighbours at the end", `{"x":1,"method":"m","id":1}`, []jsonrpc.Edit{e(jsonrpc.ID, ""), e(jsonrpc.Method, "")}, `{"x":1}`},
		{"remove on both sides", `{"id":1,"x":1,"method":"m"}`, []jsonrpc.Edit{e(jsonrpc.ID, ""), e(jsonrpc.Method, "")}, `{"x":1}`},
		{"remove all", `{"id":1 , "method":"m"}`, []jsonrpc.Edit{e(jsonrpc.ID, ""), e(jsonrpc.Method, "")}, `{}`},
		{"remove all, put in", `{"id":1,"method":"m"}`, []jsonrpc.Edit{e(jsonrpc.ID, ""), e(jsonrpc.Method, ""), e(jsonrpc.Result, "{}")}, `{"result":{}}`},
		{"remove first, put in", `{"id":1,"method":"m"}`, []jsonrpc.Edit{e(jsonrpc.ID, ""), e(jsonrpc.Result, "{}")}, `{"result":{},"method":"m"}`},
		{"remove last, put in", `{"method":"m","id":1}`, []jsonrpc.Edit{e(jsonrpc.ID, ""), e(jsonrpc.Result, "{}")}, `{"result":{},"method":"m"}`},
		{"remove in all objects", `{"id":1,"params":{"name":"n","_meta":{"progressToken":1},"uri":"u"}}`,
			[]jsonrpc.Edit{e(jsonrpc.ID, ""), e(jsonrpc.Name, ""), e(jsonrpc.URI, ""), e(jsonrpc.ProgressToken, "")}, `{"params":{"_meta":{}}}`},
		{"remove with white space", "{ \"x\" : 1 ,\n \"id\" : 1 ,\n \"y\" : 1 }", []jsonrpc.Edit{e(jsonrpc.ID, "")}, `{ "x" : 1 ,    "y" : 1 }`},
		{"remove last with white space", "{ \"x\" : 1 , \"id\" : 1 }", []jsonrpc.Edit{e(jsonrpc.ID, "")}, `{ "x" : 1  }`},

		{"params made", `{"id":1}`, []jsonrpc.Edit{e(jsonrpc.Name, `"n"`)}, `{"params":{"name":"n"},"id":1}`},
		{"params and _meta made", `{}`, []jsonrpc.Edit{e(jsonrpc.ProgressToken, "5")}, `{"params":{"_meta":{"progressToken":5}}}`},
		{"_meta made", `{"params":{"name":"n"}}`, []jsonrpc.Edit{e(jsonrpc.ProgressToken, "5")}, `{"params":{"_meta":{"progressToken":5},"name":"n"}}`},
		{"null params", `{"params":null,"id":1}`, []jsonrpc.Edit{e(jsonrpc.Name, `"n"`)}, `{"params":{"name":"n"},"id":1}`},
		{"null params, neighbour out", `{"params":null,"id":1}`, []jsonrpc.Edit{e(jsonrpc.ProgressToken, `1`), e(jsonrpc.ID, "")}, `{"params":{"_meta":{"progressToken":1}}}`},
		{"null _meta", `{"params":{"_meta":null}}`, []jsonrpc.Edit{meta(`"a":1`)}, `{"params":{"_meta":{"a":1}}}`},
		{"null stays", `{"params":null}`, []jsonrpc.Edit{e(jsonrpc.Name, "")}, `{"params":null}`},
		{"array stays", `{"params":[1]}`, []jsonrpc.Edit{e(jsonrpc.Name, `"n"`), meta(`"a":1`)}, `{"params":[1]}`},

		{"meta members", `{"params":{"_meta":{"x":1}}}`, []jsonrpc.Edit{meta(`"a":1,"b":2`)}, `{"params":{"_meta":{"a":1,"b":2,"x":1}}}`},
		{"meta members, empty _meta", `{"params":{"_meta":{ }}}`, []jsonrpc.Edit{meta(`"a":1`)}, `{"params":{"_meta":{"a":1 }}}`},
		{"meta members twice and a token", `{}`, []jsonrpc.Edit{meta(`"a":1`), e(jsonrpc.ProgressToken, "5"), meta(`"b":1`)}, `{"params":{"_meta":{"progressToken":5,"a":1,"b":1}}}`},
		{"meta members for a token", `{"params":{"_meta":{"progressToken":5}}}`, []jsonrpc.Edit{meta(`"a":1`), e(jsonrpc.ProgressToken, "")}, `{"params":{"_meta":{"a":1}}}`},
		{"no meta members", `{}`, []jsonrpc.Edit{meta("")}, `{}`},

		{"outer wins over inner", `{"params":{"name":"n"}}`, []jsonrpc.Edit{e(jsonrpc.Name, `"x"`), e(jsonrpc.Params, "[]"), meta(`"a":1`)}, `{"params":[]}`},
		{"outer out wins over inner", `{"params":{"name":"n"},"id":1}`, []jsonrpc.Edit{e(jsonrpc.Params, ""), meta(`"a":1`)}, `{"id":1}`},
		{"absent outer put in wins", `{"id":1}`, []jsonrpc.Edit{e(jsonrpc.Params, "{}"), e(jsonrpc.Name, `"x"`)}, `{"params":{},"id":1}`},

		{"one line", "{\r\n  \"id\": 1,\n  \"params\": {\n    \"name\": \"a\\nb\"\n  }\n}\n", []jsonrpc.Edit{e(jsonrpc.ID, "2"), e(jsonrpc.Arguments, "{\n}")},
			`{    "id": 2,   "params": {"arguments":{ },     "name": "a\nb"   } }`},
		{"kept as it came", `{"id":1,"params":{"name":"<>&` + "\u2028" + `é\u00e9"}}`, []jsonrpc.Edit{e(jsonrpc.ID, `"1"`)}, `{"id":"1","params":{"name":"<>&` + "\u2028" + `é\u00e9"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := edit(t, c.text, c.edits...)
			if got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
			}
			parse(t, got)
		})
	}
}

// TestEditLarge has values that must come through as one piece.
func TestEditLarge(t *testing.T) {
	big := strings.Repeat("0123456789abcde\u2028", 8<<20/18)
	text := `{"id":1,"params":{"arguments":{"a":"` + big + `"}}}`
	if got := edit(t, text, jsonrpc.Edit{Field: jsonrpc.ID, Value: []byte("22")}); got != strings.Replace(text, "1", "22", 1) {
		t.Error("8 MiB did not arrive unchanged")
	}
}
