package rawjson

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

var documents = []string{
	`{}`, ` { } `, `{"a":{"b":[1,2.50,-0,1e400]},"c":"d"}`, `{"b":1,"a":{"z":[],"y":{}},"":null}`,
	" {\n\t\"a\" : [ [ ] , { } , [ 1 , \"]\" , \"\\\"}\" ] , \"~/\":true , \"\\u007e\": false\r\n}\n",
	`{"\u0061\ud83d\ude00":"\/\b\f\n\\\"\u0000","é":"\u00e9","` + "\U0001f600\":1,\"\uffff\":2" + `}`,
	`{"a":[0,1,2,3,4,5,6,7,8,9,10,{"11":"x"}]}`,
	`{"a":"{[,]}:","b":"\\","c":"\\\"","d":123}`,
}

func readable(text []byte) bool { return jsonrpc.Scan(text, jsonrpc.Judged, nil, nil) == nil }

// Whatever encoding/json finds in a text is found in it, under the same names, and nothing else; what is
// put in is all that changes.
func FuzzParts(f *testing.F) {
	for _, s := range documents {
		f.Add([]byte(s), `[{"new":null}]`)
	}
	f.Fuzz(func(t *testing.T, text []byte, value string) {
		if !readable(text) || !readable([]byte(`{"v":`+value+`}`)) {
			t.Skip()
		}
		holds(t, text, "", text)
		for _, name := range []string{"new", "a", "", "~/", "0"} {
			put, ok := Put(text, jsontext.Pointer("").AppendToken(name), []byte(value))
			if !ok || !readable(put) {
				t.Fatalf("%s with %q: %s", text, name, put)
			}
			var was, is map[string]json.RawMessage
			if json.Unmarshal(text, &was) != nil || json.Unmarshal(put, &is) != nil {
				t.Fatalf("%s is no object", put)
			}
			if was[name] = json.RawMessage(strings.TrimSpace(value)); !maps.EqualFunc(was, is, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
				t.Fatalf("%s with %q as %s: %s", text, name, value, put)
			}
		}
	})
}

// holds compares what stands at a pointer with what encoding/json reads of it.
func holds(t *testing.T, whole []byte, at jsontext.Pointer, want []byte) {
	t.Helper()
	if got := bytes.TrimSpace(At(whole, at)); !bytes.Equal(got, bytes.TrimSpace(want)) {
		t.Fatalf("%s at %q: %s", whole, at, got)
	}
	var names []string
	var values []json.RawMessage
	switch want = bytes.TrimSpace(want); want[0] {
	case '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(want, &members); err != nil {
			t.Fatal(err)
		}
		n := 0
		for p := range Parts(want, 0) {
			if n++; !bytes.Equal(p.Of(want), members[p.Name]) {
				t.Fatalf("%s: %q is %s", want, p.Name, p.Of(want))
			}
			names, values = append(names, p.Name), append(values, p.Of(want))
		}
		if n != len(members) {
			t.Fatalf("%s: %d members", want, n)
		}
	case '[':
		if err := json.Unmarshal(want, &values); err != nil {
			t.Fatal(err)
		}
		for p := range Parts(want, 0) {
			if n := len(names); n == len(values) || !bytes.Equal(p.Of(want), values[n]) {
				t.Fatalf("%s: %s is %s", want, p.Name, p.Of(want))
			}
			names = append(names, p.Name)
		}
		if len(names) != len(values) {
			t.Fatalf("%s: %d elements", want, len(names))
		}
	}
	for i, name := range names {
		holds(t, whole, at.AppendToken(name), values[i])
	}
}

// One text for all spellings: the same that jsontext makes, but for what it writes \b and \f for and where
// it sorts names with characters beyond U+FFFF. Members may stand in any order, strings be spelled in any way.
func FuzzCanonical(f *testing.F) {
	for _, s := range documents {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !readable(text) {
			t.Skip()
		}
		got := AppendCanonical(nil, text, jsonrpc.AppendQuote)
		if again := AppendCanonical(nil, got, jsonrpc.AppendQuote); !bytes.Equal(got, again) {
			t.Fatalf("%s gives %s, then %s", text, got, again)
		}
		if turned := AppendCanonical(nil, backwards(text), jsonrpc.AppendQuote); !bytes.Equal(got, turned) {
			t.Fatalf("%s gives %s, the other way round %s", text, got, turned)
		}
		want := jsontext.Value(bytes.Clone(text))
		if err := want.Format(jsontext.ReorderRawObjects(true)); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsFunc(got, func(r rune) bool { return r > 0xffff }) {
			return
		}
		for short, long := range map[string]string{`\b`: `\u0008`, `\f`: `\u000c`} {
			want = respell(want, short, long)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%s gives %s, by jsontext %s", text, got, want)
		}
	})
}

// respell writes an escape in another way.
func respell(text []byte, short, long string) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(bytes.ReplaceAll(text, []byte(`\\`), []byte("\x00")), []byte(short), []byte(long)), []byte("\x00"), []byte(`\\`))
}

// backwards is a text with the members of each object in the other order, and all strings in escapes.
func backwards(text []byte) []byte {
	text = bytes.TrimSpace(text)
	var all [][]byte
	for p := range Parts(text, 0) {
		part := backwards(p.Of(text))
		if text[0] == '{' {
			part = slices.Concat(inEscapes(p.Name), []byte(" : "), part)
		}
		all = append(all, part)
	}
	switch text[0] {
	case '"':
		s, _ := jsonrpc.Unquote(text)
		return inEscapes(s)
	case '{':
		slices.Reverse(all)
	case '[':
	default:
		return text
	}
	return slices.Concat(text[:1], bytes.Join(all, []byte(" ,\n")), text[len(text)-1:])
}

func inEscapes(s string) []byte {
	quoted, _ := json.Marshal(s)
	var b bytes.Buffer
	for _, r := range string(quoted[1 : len(quoted)-1]) {
		if r < 0x80 || r > 0xffff {
			b.WriteRune(r)
			continue
		}
		b.WriteString(`\u` + string("0123456789abcdef"[r>>12]) + string("0123456789ABCDEF"[r>>8&15]) + string("0123456789abcdef"[r>>4&15]) + string("0123456789ABCDEF"[r&15]))
	}
	return slices.Concat([]byte{'"'}, b.Bytes(), []byte{'"'})
}

// The canonical text of what a yes was remembered for, and of what stands in digests, may never change.
func TestTheCanonicalTextStaysWhatItIs(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: `{}`, ` { "b" : [ ] , "a" : { } } `: `{"a":{},"b":[]}`, `{"n":[1.50,1e2,-0,12345678901234567890]}`: `{"n":[1.50,1e2,-0,12345678901234567890]}`,
		`{"s":"\b\f\n\r\t\/\"\\\u0001\u007f\u2028<>&"}`:            `{"s":"\u0008\u000c\n\r\t/\"\\\u0001` + "\u007f\u2028" + `<>&"}`,
		`{"b":1,"B":2,"é":3,"a":4,"":5,"ab":6}`:                    `{"":5,"B":2,"a":4,"ab":6,"b":1,"é":3}`,
		"{\"\U0001f600\":1,\"\uff21\":2,\"\\ud83d\\ude01\":\"x\"}": "{\"\uff21\":2,\"\U0001f600\":1,\"\U0001f601\":\"x\"}",
		`"x\u0079"`: `"xy"`, ` [ null , true ] `: `[null,true]`, `12`: `12`,
	} {
		if got := AppendCanonical(nil, []byte(text), jsonrpc.AppendQuote); string(got) != want {
			t.Errorf("%s gives %s, not %s", text, got, want)
		}
	}
}

func TestPointers(t *testing.T) {
	const text = ` {"a":{"b":[1,{"~/":"x"}]},"":{"":2},"0":[3]}`
	for pointer, want := range map[jsontext.Pointer]string{
		"": text[1:], "/a/b/0": "1", "/a/b/1/~0~1": `"x"`, "/": `{"":2}`, "//": "2", "/0/0": "3",
		"/a/b/2": "", "/a/b/00": "", "/a/b/-": "", "/a/b/+1": "", "/A": "", "/a/b/0/x": "", "/a/b/1/~1~0": "",
	} {
		if got := At([]byte(text), pointer); string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%q leads to %s", pointer, got)
		}
	}
	for pointer, want := range map[jsontext.Pointer]string{
		"": "", "/a/b/0": ` {"a":{"b":[N,{"~/":"x"}]},"":{"":2},"0":[3]}`, "/a/b/2": "", "/x/y": "", "/a/b/0/x": "",
		"/x": ` {"x":N,"a":{"b":[1,{"~/":"x"}]},"":{"":2},"0":[3]}`, "/a/b/1/~0~1": ` {"a":{"b":[1,{"~/":N}]},"":{"":2},"0":[3]}`,
		"/a/b/1/~0": ` {"a":{"b":[1,{"~":N,"~/":"x"}]},"":{"":2},"0":[3]}`,
	} {
		if got, ok := Put([]byte(text), pointer, []byte("N")); string(got) != want || ok != (want != "") {
			t.Errorf("%q makes %s", pointer, got)
		}
	}
}

func TestTextOfOneMember(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":{"b":"x\u0079"}}`: "xy", `{"a":{"c":1,"b":"z"},"b":"y"}`: "z", `{"a":{"b":""}}`: "",
	} {
		if got, ok := Text([]byte(text), jsonrpc.Judged, "a", "b"); !ok || got != want {
			t.Errorf("%s: %q, %v", text, got, ok)
		}
	}
	for _, text := range []string{``, `x`, `[]`, `{`, `{"a":{"b":1}}`, `{"a":{"b":["x"]}}`, `{"a":["b","x"]}`, `{"a":"b"}`, `{"b":"x"}`, `{"a":{}}`,
		`{"a":{"b":"x","b":"x"}}`, `{"a":{"B":"x"}}`, `{"A":{"b":"x"}}`, `{"a":{"b":"x"}}x`, `{"a":{"b":"\ud800"}}`} {
		if got, ok := Text([]byte(text), jsonrpc.Judged, "a", "b"); ok {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := Find([]byte(`{"a":{"b": [1] }}`), jsonrpc.Passed, "a", "b"); string(got) != "[1]" {
		t.Errorf("%s", got)
	}
}

// What is put in changes the bytes it is about, and no other.
func TestPutKeepsEveryOtherByte(t *testing.T) {
	for _, c := range []struct {
		args        string
		pointer     jsontext.Pointer
		value, want string
	}{
		{`{"a":1}`, "/a", "2", `{"a":2}`},
		{` { "a" : 1 , "b":[ 1,  2 ] } `, "/b/1", "30", ` { "a" : 1 , "b":[ 1,  30 ] } `},
		{`{"n":9007199254740993,"f":1.0,"e":1E+2,"a":"x"}`, "/a", `"y"`, `{"n":9007199254740993,"f":1.0,"e":1E+2,"a":"y"}`},
		{`{"a/b":{"~":1},"a":{"b":2}}`, "/a~1b/~0", "3", `{"a/b":{"~":3},"a":{"b":2}}`},
		{`{"\u0061":1}`, "/a", "2", `{"\u0061":2}`},
		{`{"":{"":1}}`, "//", "2", `{"":{"":2}}`},
		{`{"s":"a\"},{","a":"b\\"}`, "/a", `"c"`, `{"s":"a\"},{","a":"c"}`},
		{`{}`, "/a", "1", `{"a":1}`},
		{`{"b":2}`, "/a", "1", `{"a":1,"b":2}`},
		{`{"o":{ }}`, "/o/q\"", "1", `{"o":{"q\"":1 }}`},
		{`{"A":1,"a":2}`, "/a", "3", `{"A":1,"a":3}`},
	} {
		got, ok := Put([]byte(c.args), c.pointer, []byte(c.value))
		if !ok || string(got) != c.want {
			t.Errorf("%s at %s: %s %v, want %s", c.args, c.pointer, got, ok, c.want)
		}
	}
	for _, c := range [][2]string{{`{"a":1}`, "/b/c"}, {`{"a":1}`, "/a/b"}, {`{"a":[1]}`, "/a/1"}, {`{"a":[1]}`, "/a/-"}, {`{"a":[1]}`, "/a/00"}, {`{"a":"b"}`, "/a/b"}} {
		if got, ok := Put([]byte(c[0]), jsontext.Pointer(c[1]), []byte("1")); ok {
			t.Errorf("%s at %s: %s", c[0], c[1], got)
		}
	}
}

// What is put in changes what it is about and nothing else.
func FuzzPut(f *testing.F) {
	f.Add(`{"a":{"b":[1,2]},"c":"d"}`, "/a/b/1", `"x"`)
	f.Fuzz(func(t *testing.T, args, pointer, value string) {
		if !readable([]byte(args)) || !readable([]byte(`{"v":`+value+`}`)) || !strings.HasPrefix(pointer, "/") || !jsontext.Pointer(pointer).IsValid() {
			t.Skip()
		}
		got, ok := Put([]byte(args), jsontext.Pointer(pointer), []byte(value))
		if !ok {
			return
		}
		if !readable(got) {
			t.Fatalf("%s", got)
		}
		if put := At(got, jsontext.Pointer(pointer)); !bytes.Equal(bytes.TrimSpace([]byte(value)), put) {
			t.Fatalf("%s holds %s", got, put)
		}
	})
}

// What people are shown keeps the order in which it was written.
func TestRespelledKeepsItsOrder(t *testing.T) {
	for text, want := range map[string]string{
		`{ "path": "\u0061", "content": {"z": [1, {"y": 2, "x": 3}], "b": 1.0} }`: `{"path":"a","content":{"z":[1,{"y":2,"x":3}],"b":1.0}}`,
		`{}`: `{}`, ` [ ] `: `[]`,
	} {
		if got := AppendRespelled(nil, []byte(text), jsonrpc.AppendQuote); string(got) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
