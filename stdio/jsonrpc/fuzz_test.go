package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// everywhere is Judged for a Shape without keys: plain strict JSON.
func everywhere(data []byte) error {
	return jsonrpc.Scan(data, jsonrpc.Rules{Depth: 1000, Size: 1 << 20, EveryLevel: true}, nil, nil)
}

// FuzzScan holds Scan against jsontext, which is as strict, and what it accepts
// against encoding/json, which must read the same.
func FuzzScan(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := everywhere(data)
		isObject := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
		if want := isObject && jsontext.Value(data).IsValid(); (err == nil) != want && !tooDeep(err) {
			t.Fatalf("Scan says %v, jsontext says valid = %v", err, want)
		}
		m, err := jsonrpc.Parse(data, jsonrpc.Judged)
		if err != nil {
			return
		}
		var std map[string]json.RawMessage
		if err := json.Unmarshal(data, &std); err != nil {
			t.Fatalf("accepted, but encoding/json says: %v", err)
		}
		if nullError(data) {
			delete(std, "error")
		}
		agree(t, &m, std, "jsonrpc", "id", "method", "params", "result", "error")
		agreeInside(t, &m, std["params"])
	})
}

// nullError reports whether an error is null beside a result, which counts as absent.
func nullError(message []byte) bool {
	var is map[string]json.RawMessage
	return json.Unmarshal(message, &is) == nil && is["result"] != nil && string(is["error"]) == "null"
}

func tooDeep(err error) bool {
	e, ok := err.(*jsonrpc.Error)
	return ok && e.Reason == jsonrpc.TooDeep
}

var top = map[string]jsonrpc.Field{
	"jsonrpc": jsonrpc.Version, "id": jsonrpc.ID, "method": jsonrpc.Method, "params": jsonrpc.Params, "result": jsonrpc.Result, "error": jsonrpc.Err,
}

// agree compares the fields of the outermost object.
func agree(t *testing.T, m *jsonrpc.Message, std map[string]json.RawMessage, keys ...string) {
	for _, key := range keys {
		f := top[key]
		if want, ok := std[key]; ok != m.Has(f) || !bytes.Equal(want, m.Get(f)) {
			t.Fatalf("%s is %q, encoding/json says %q", key, m.Get(f), want)
		}
		var text string
		if raw := m.Get(f); len(raw) > 0 && raw[0] == '"' {
			if err := json.Unmarshal(raw, &text); err != nil || text != m.Text(f) {
				t.Fatalf("%s reads %q, encoding/json says %q (%v)", key, m.Text(f), text, err)
			}
		}
	}
}

// agreeInside compares the fields of params with what a struct reads, which
// encoding/json matches without regard to case.
func agreeInside(t *testing.T, m *jsonrpc.Message, raw json.RawMessage) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	var params struct {
		Name      json.RawMessage `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		t.Fatal(err)
	}
	for f, want := range map[jsonrpc.Field][]byte{jsonrpc.Name: params.Name, jsonrpc.Arguments: params.Arguments, jsonrpc.Meta: params.Meta} {
		if !bytes.Equal(m.Get(f), want) {
			t.Fatalf("field %d is %q, encoding/json says %q", f, m.Get(f), want)
		}
	}
}

// FuzzEdit edits one or two fields of whatever is accepted, and at times puts a
// mark into _meta. The result must be
// a message on one line with the edited fields as wanted and all others equal.
func FuzzEdit(f *testing.F) {
	for i, seed := range seeds {
		f.Add([]byte(seed), byte(i), byte(i/3), i%2 == 0, i%3 == 0)
		f.Add([]byte(seed), byte(i+128), byte(i+5), i%3 == 0, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, a, b byte, removeA, removeB bool) {
		m, err := jsonrpc.Parse(data, jsonrpc.Judged)
		if err != nil {
			return
		}
		want := map[jsonrpc.Field]string{}
		var edits []jsonrpc.Edit
		for i, remove := range []bool{removeA, removeB} {
			e := jsonrpc.Edit{Field: jsonrpc.Field([]byte{a, b}[i]) % jsonrpc.Fields}
			if !remove {
				e.Value = []byte(`{"<new>":[1.0,"\u2028"]}`)
			}
			if e.Field == jsonrpc.Method || e.Field == jsonrpc.ID {
				e.Value = bytes.Replace(e.Value, []byte(`{"<new>":[1.0,"\u2028"]}`), []byte(`"new"`), 1)
			}
			edits = append(edits, e)
			want[e.Field] = string(e.Value)
		}
		if _, ok := want[jsonrpc.Err]; ok && nullError(data) {
			return // it cannot be edited
		}
		mark := a >= 128
		if mark && bytes.Contains(data, []byte("mark~")) {
			return
		} else if mark {
			edits = append(edits, jsonrpc.InsertMeta([]byte(`"mark~":1`)))
		}
		line := m.Append(nil, edits...)
		if bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("more than one line: %q", line)
		}
		got, err := jsonrpc.Parse(line, jsonrpc.Rules{Depth: jsonrpc.MaxDepth + 4, Size: jsonrpc.MaxSize, EveryLevel: true})
		if err != nil {
			t.Fatalf("%q became %q: %v", data, line, err)
		}
		for field := range jsonrpc.Fields {
			if !mark || field != jsonrpc.Params && field != jsonrpc.Meta {
				compare(t, &m, &got, field, want)
			}
		}
		was, is := others(t, m.Raw, want), others(t, line, want)
		if mark && !strings.Contains(is, "mark~=1;") && takesMeta(&m, want) {
			t.Fatalf("nothing put into _meta: %s", line)
		}
		if is = strings.Replace(is, "mark~=1;", "", 1); is != was {
			t.Fatalf("other members were\n%s\nand are\n%s", was, is)
		}
	})
}

func compare(t *testing.T, was, is *jsonrpc.Message, f jsonrpc.Field, want map[jsonrpc.Field]string) {
	if _, ok := want[outer(f)]; ok && outer(f) != f {
		return
	}
	if _, ok := want[jsonrpc.Meta]; ok && f == jsonrpc.ProgressToken {
		return
	}
	value, edited := want[f]
	if f == jsonrpc.Err && nullError(was.Raw) != nullError(is.Raw) {
		return // it counts while there is no result
	}
	switch raw := was.Get(outer(f)); {
	case edited && outer(f) != f && len(raw) > 0 && raw[0] != '{' && raw[0] != 'n':
		return // nothing can be put there
	case edited && f == jsonrpc.ProgressToken:
		if meta := was.Get(jsonrpc.Meta); len(meta) > 0 && meta[0] != '{' && meta[0] != 'n' {
			return
		}
	case !edited && touched(f, want):
		return // a parent of what was edited
	case !edited:
		value = strings.NewReplacer("\n", " ", "\r", " ").Replace(string(was.Get(f)))
	}
	if string(is.Get(f)) != value {
		t.Fatalf("field %d is %q, want %q", f, is.Get(f), value)
	}
}

// outer returns params or result for what stands in it, and everything else
// itself.
func outer(f jsonrpc.Field) jsonrpc.Field {
	if f == jsonrpc.IsError {
		return jsonrpc.Result
	}
	if f > jsonrpc.Err {
		return jsonrpc.Params
	}
	return f
}

// touched reports whether an edit reaches into the value of f.
func touched(f jsonrpc.Field, want map[jsonrpc.Field]string) bool {
	for edited := range want {
		if f != edited && outer(edited) == f || f == jsonrpc.Meta && edited == jsonrpc.ProgressToken {
			return true
		}
	}
	return false
}

// takesMeta reports whether members can be put into the message's _meta.
func takesMeta(m *jsonrpc.Message, want map[jsonrpc.Field]string) bool {
	for _, f := range []jsonrpc.Field{jsonrpc.Params, jsonrpc.Meta} {
		_, edited := want[f]
		if raw := m.Get(f); edited || len(raw) > 0 && raw[0] != '{' && raw[0] != 'n' {
			return false
		}
	}
	return true
}

// others returns the members that are no fields, in order, in all objects that
// hold fields and are not themselves replaced.
func others(t *testing.T, raw []byte, want map[jsonrpc.Field]string) string {
	var out strings.Builder
	members := list(t, &out, raw, " jsonrpc id method params result error ")
	if _, ok := want[jsonrpc.Params]; !ok {
		members = list(t, &out, members["params"], " name uri ref arguments _meta progressToken progress requestId ")
		if _, ok := want[jsonrpc.Meta]; !ok {
			list(t, &out, members["_meta"], " progressToken ")
		}
	}
	if _, ok := want[jsonrpc.Result]; !ok {
		list(t, &out, members["result"], " isError ")
	}
	return out.String()
}

// list returns the members of an object and writes out those that are not known.
func list(t *testing.T, out *strings.Builder, raw []byte, known string) map[string][]byte {
	all := map[string][]byte{}
	if len(raw) == 0 || raw[0] != '{' {
		return all
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	d.ReadToken()
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		name := key.String()
		value, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		all[name] = bytes.Clone(value)
		if !strings.Contains(known, " "+name+" ") {
			out.WriteString(strings.NewReplacer("\n", " ", "\r", " ").Replace(name + "=" + string(value) + ";"))
		}
	}
	return all
}

var seeds = []string{
	`{}`, `[]`, ``, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":"\ud83d\ude00"}`, `{"a":01}`, `{"a":[1,2,]}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read","arguments":{"path":"/x"},"_meta":{"progressToken":"p"}}}`,
	"{\r\n \"id\" : 1.0 ,\n\"method\":\"\\u006d\" , \"params\" : null }\n",
	`{"id":"1","params":{"_meta":null,"uri":"u","ref":{},"progressToken":1,"progress":0.5,"requestId":9007199254740993},"x":"<>&"}`,
	`{"id":null,"result":{"content":[{"type":"text","text":"\u2028"}]}}`, `{"error":{"code":-1,"message":"m"},"id":-1}`, `{"id":1,"result":{},"error":null}`, `{"error": null ,"id":1,"result":null}`,
	`{"params":[1],"method":"m"}`, `{"params":{"n\u0061me":1,"Name":2}}`,
	`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"a":2}`,
	`{"a":"\ud7ff\ue000\ud800\udc00\udbff\udfff"}`, `{"a":"\udbff\ue000"}`, `{"a":"\udbff\udbff"}`, `{"a":"\udc00"}`, `{"a":"\udfff"}`, // each end of the halves of pairs
	"{\"a\":\"\x1f\"}", "{\"a\":\" !#[]~\x7f\"}", `{"a":"\u00/0"}`, `{"a":"\u00:0\u00@0"}`, `{"a":"\u00Gf"}`, `{"a":"\u00g0"}`, "{\"a\":\"\u2027\u2028\u2029\u202a\"}",
	`{"id":9007199254740991,"a":1:}`, `{"id":9007199254740992}`, `{"id":"9007199254740993"}`, `{"a":-/}`, `{"a":9,"b":-0,"c":1e+9}`,
}
