package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func scan(text string, r jsonrpc.Rules) *jsonrpc.Error {
	var slots [jsonrpc.Fields]jsonrpc.Span
	err := jsonrpc.Scan([]byte(text), r, jsonrpc.MessageShape, slots[:])
	e, _ := errors.AsType[*jsonrpc.Error](err)
	return e
}

// accepts and refuses are what a scan of text must come to.
func accepts(t *testing.T, text string, r jsonrpc.Rules) {
	t.Helper()
	if err := scan(text, r); err != nil {
		t.Errorf("%.100q: %v", text, err)
	}
}

func refuses(t *testing.T, text string, r jsonrpc.Rules, reason jsonrpc.Reason, offset int) {
	t.Helper()
	switch err := scan(text, r); {
	case err == nil:
		t.Errorf("%.100q was accepted, want %s", text, reason)
	case err.Reason != reason || err.Offset != offset:
		t.Errorf("%.100q: %s at %d, want %s at %d", text, err.Reason, err.Offset, reason, offset)
	}
}

// TestValues puts each text where a value stands in an object.
func TestValues(t *testing.T) {
	for _, text := range []string{
		`0`, `-0`, `7`, `-1`, `10`, `1.0`, `1.10`, `-0.5`, `1e5`, `1E5`, `1e+5`, `1e-5`, `0e0`, `0.0e-00`,
		`123456789012345678901234567890`, `9007199254740993`, `1e999999`, ` 1`, "1\t", "\r\n1\r\n",
		`true`, `false`, `null`, `""`, `"a"`, `"abcdefg"`, `"abcdefgh"`, `"abcdefghi"`,
		`"\"\\\/\b\f\n\r\t"`, `"\u0000"`, `"\u00e9\u00C9"`, `"\uFFFD"`, `"\ud83d\ude00"`, `"\uDBFF\uDFFF"`,
		`"é"`, `"日本語"`, `"😀"`, "\"\u2028\u2029\"", "\"\x7f\"", "\"\ufeff\"", "\"\ufffe\"", "\"\U0010ffff\"",
		`"<>&'"`, `"abcdefgé"`, `"éabcdefgh"`, `"abcdefg\n"`, `"abcdefgh\n"`,
		`[]`, `[ ]`, `[1]`, `[1,2]`, "[\n1 ,\t2\r]", `[[],[[]]]`, `[{}]`, `{}`, "{ }", `{"":""}`, `{"b":1,"c":{"b":1}}`,
		`{"a":1,"A":2}`, `[{"a":1},{"a":1}]`, `{"\u0061":1}`, `{"a\u0000":1,"a":2}`,
	} {
		accepts(t, `{"a":`+text+`}`, jsonrpc.Judged)
		accepts(t, `{"a":`+text+`}`, jsonrpc.Passed)
	}

	for _, c := range []struct {
		text   string
		reason jsonrpc.Reason
		offset int // in text
	}{
		{``, jsonrpc.Syntax, 0},
		{`,`, jsonrpc.Syntax, 0},
		{`NaN`, jsonrpc.Syntax, 0},
		{`Infinity`, jsonrpc.Syntax, 0},
		{`-Infinity`, jsonrpc.Syntax, 1},
		{`undefined`, jsonrpc.Syntax, 0},
		{`True`, jsonrpc.Syntax, 0},
		{`tru`, jsonrpc.Syntax, 0},
		{`nul`, jsonrpc.Syntax, 0},
		{`falsee`, jsonrpc.Syntax, 5},
		{`+1`, jsonrpc.Syntax, 0},
		{`.5`, jsonrpc.Syntax, 0},
		{`-`, jsonrpc.Syntax, 1},
		{`--1`, jsonrpc.Syntax, 1},
		{`01`, jsonrpc.Syntax, 1},
		{`-01`, jsonrpc.Syntax, 2},
		{`00`, jsonrpc.Syntax, 1},
		{`1.`, jsonrpc.Syntax, 2},
		{`1.e5`, jsonrpc.Syntax, 2},
		{`1e`, jsonrpc.Syntax, 2},
		{`1e+`, jsonrpc.Syntax, 3},
		{`1e5.5`, jsonrpc.Syntax, 3},
		{`0x10`, jsonrpc.Syntax, 1},
		{`1_000`, jsonrpc.Syntax, 1},
		{`1 2`, jsonrpc.Syntax, 2},
		{`"a" "b"`, jsonrpc.Syntax, 4},
		{`'a'`, jsonrpc.Syntax, 0},
		{"`a`", jsonrpc.Syntax, 0},
		{`a`, jsonrpc.Syntax, 0},
		{"\"a\nb\"", jsonrpc.Syntax, 2},
		{"\"a\tb\"", jsonrpc.Syntax, 2},
		{"\"\x00\"", jsonrpc.Syntax, 1},
		{"\"abcdefgh\x1f\"", jsonrpc.Syntax, 9},
		{"\x00", jsonrpc.Syntax, 0},
		{"\u00a01", jsonrpc.Syntax, 0},
		{"\v1", jsonrpc.Syntax, 0},
		{"1\x00", jsonrpc.Syntax, 1},
		{`"\x41"`, jsonrpc.Syntax, 1},
		{`"\'"`, jsonrpc.Syntax, 1},
		{`"\U0041"`, jsonrpc.Syntax, 1},
		{`"\u004"`, jsonrpc.Syntax, 1},
		{`"\u00g0"`, jsonrpc.Syntax, 1},
		{`"\u+041"`, jsonrpc.Syntax, 1},
		{`"\ud83d\u12"`, jsonrpc.Syntax, 7},
		{`"\ud83d"`, jsonrpc.InvalidUTF8, 1},
		{`"\ude00"`, jsonrpc.InvalidUTF8, 1},
		{`"\ude00\ud83d"`, jsonrpc.InvalidUTF8, 1},
		{`"\ud83d\ud83d"`, jsonrpc.InvalidUTF8, 1},
		{`"\ud83dx"`, jsonrpc.InvalidUTF8, 1},
		{`"\ud83d\n"`, jsonrpc.InvalidUTF8, 1},
		{"\"\xff\"", jsonrpc.InvalidUTF8, 1},
		{"\"a\x80\"", jsonrpc.InvalidUTF8, 2},
		{"\"\xc0\xaf\"", jsonrpc.InvalidUTF8, 1},         // overlong
		{"\"\xe0\x80\xaf\"", jsonrpc.InvalidUTF8, 1},     // overlong
		{"\"\xed\xa0\x80\"", jsonrpc.InvalidUTF8, 1},     // surrogate
		{"\"\xf4\x90\x80\x80\"", jsonrpc.InvalidUTF8, 1}, // beyond U+10FFFF
		{"\"é\xe2\x82\"", jsonrpc.InvalidUTF8, 3},        // cut short
		{"\xff", jsonrpc.Syntax, 0},
		{`[`, jsonrpc.Syntax, 1},
		{`[1`, jsonrpc.Syntax, 2},
		{`[1,]`, jsonrpc.Syntax, 3},
		{`[,1]`, jsonrpc.Syntax, 1},
		{`[1 2]`, jsonrpc.Syntax, 3},
		{`[1}`, jsonrpc.Syntax, 2},
		{`]`, jsonrpc.Syntax, 0},
		{`{"b"}`, jsonrpc.Syntax, 4},
		{`{"b":}`, jsonrpc.Syntax, 5},
		{`{"b" 1}`, jsonrpc.Syntax, 5},
		{`{"b":1,}`, jsonrpc.Syntax, 7},
		{`{,"b":1}`, jsonrpc.Syntax, 1},
		{`{b:1}`, jsonrpc.Syntax, 1},
		{`{1:1}`, jsonrpc.Syntax, 1},
		{`{"b":1 "c":2}`, jsonrpc.Syntax, 7},
		{`{"b":1]`, jsonrpc.Syntax, 6},
		{`{"b\xff":1}`, jsonrpc.Syntax, 3},
		{"{\"b\xff\":1}", jsonrpc.InvalidUTF8, 3},
		{"1 // comment", jsonrpc.Syntax, 2},
		{"/* */1", jsonrpc.Syntax, 0},
	} {
		text := `{"a":` + c.text + `}`
		if strings.HasPrefix(c.text, "[") && strings.Count(c.text, "]") == 0 && !strings.HasSuffix(c.text, "}") {
			text = `{"a":` + c.text // never closed
		}
		refuses(t, text, jsonrpc.Judged, c.reason, c.offset+len(`{"a":`))
		whole := jsonrpc.Passed
		whole.Halves = false
		refuses(t, text, whole, c.reason, c.offset+len(`{"a":`))
	}
}

// What a server answers may hold an emoji that was cut in two (DESIGN 4).
func TestHalvesOfPairsPassWhereTheyMay(t *testing.T) {
	for _, text := range []string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83dx"`, `"\ud83d\n"`, `{"\ud83d":1,"b":"\udc00"}`} {
		refuses(t, `{"a":`+text+`}`, jsonrpc.Judged, jsonrpc.InvalidUTF8, 5+strings.Index(text, `\u`))
		accepts(t, `{"a":`+text+`}`, jsonrpc.Passed)
	}
	for _, text := range []string{`"\ud83d\u12"`, `"\ud83"`, "\"\xff\"", "\"\xed\xa0\xbd\""} {
		if err := jsonrpc.Scan([]byte(`{"a":`+text+`}`), jsonrpc.Passed, nil, nil); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
	refuses(t, `{"\ud83d":1,"\ufffd":2}`, jsonrpc.Rules{Depth: 1, Size: 99, EveryLevel: true, Halves: true}, jsonrpc.DuplicateKey, 12)
}

func TestMend(t *testing.T) {
	for text, want := range map[string]string{
		``: ``, `{}`: `{}`, `"\ud83d\ude00"`: `"\ud83d\ude00"`, `"\ud83d"`: `"\ufffd"`, `"\\ud83d\uD83D\\"`: `"\\ud83d\ufffd\\"`,
		`"\ude00\ud83d\ude00"`: `"\ufffd\ud83d\ude00"`, `"\ud83d\ud83d\ude00\u"`: `"\ufffd\ud83d\ude00\u"`, "\"a\xff\xfeb\\udc00\"": "\"a\ufffdb\\ufffd\"", `\`: `\`,
	} {
		given := []byte(text)
		if got := string(jsonrpc.Mend(given)); got != want || string(given) != text {
			t.Errorf("%s: %s, want %s; the text is %s now", text, got, want, given)
		}
	}
}

func TestDocuments(t *testing.T) {
	for _, text := range []string{`{}`, ` {} `, "\r\n\t{}\r\n", `{"jsonrpc":"2.0","id":1,"method":"m"}`} {
		accepts(t, text, jsonrpc.Judged)
	}
	for _, c := range []struct {
		text   string
		reason jsonrpc.Reason
		offset int
	}{
		{``, jsonrpc.Syntax, 0},
		{"  \n", jsonrpc.Syntax, 3},
		{`{`, jsonrpc.Syntax, 1},
		{`{"a`, jsonrpc.Syntax, 3},
		{`{"a"`, jsonrpc.Syntax, 4},
		{`{"a":`, jsonrpc.Syntax, 5},
		{`{"a":"b`, jsonrpc.Syntax, 7},
		{`{"a":"b\`, jsonrpc.Syntax, 7},
		{`{"a":1`, jsonrpc.Syntax, 6},
		{`{"a":1,`, jsonrpc.Syntax, 7},
		{`}`, jsonrpc.Syntax, 0},
		{"\ufeff{}", jsonrpc.Syntax, 0},
		{`server listening on port 80`, jsonrpc.Syntax, 0},
		{`Content-Length: 2`, jsonrpc.Syntax, 0},
		{`2026-01-01 start`, jsonrpc.TrailingData, 4},
		{`{}{}`, jsonrpc.TrailingData, 2},
		{`{} x`, jsonrpc.TrailingData, 3},
		{`{}}`, jsonrpc.TrailingData, 2},
		{"{}\x00", jsonrpc.TrailingData, 2},
		{`null`, jsonrpc.NotObject, 0},
		{` "text" `, jsonrpc.NotObject, 1},
		{`42`, jsonrpc.NotObject, 0},
		{`true`, jsonrpc.NotObject, 0},
		{"\"\xff\"", jsonrpc.InvalidUTF8, 1},
		{`[]`, jsonrpc.Batch, 0},
		{` [{"jsonrpc":"2.0"}]`, jsonrpc.Batch, 1},
	} {
		refuses(t, c.text, jsonrpc.Judged, c.reason, c.offset)
		refuses(t, c.text, jsonrpc.Passed, c.reason, c.offset)
	}
}

func TestDuplicates(t *testing.T) {
	const both, judged = 2, 1
	for _, c := range []struct {
		text   string
		by     int
		offset int
		key    string
	}{
		{`{"id":1,"id":1}`, both, 8, "id"},
		{`{"x":1,"y":2,"x":1}`, both, 13, "x"},
		{`{"":1,"":1}`, both, 6, ""},
		{`{"n\u0061me":1,"name":2}`, both, 15, "name"},
		{`{"\ud83d\ude00":1,"😀":2}`, both, 18, "😀"},
		{`{"a\/":1,"a/":2}`, both, 9, "a/"},
		{`{"a\u0000":1,"a\u0000":2}`, both, 13, "a\x00"},
		{`{"params":{"name":"a","name":"b"}}`, judged, 22, "name"},
		{`{"params":{"_meta":{"a":1,"a":2}}}`, judged, 26, "a"},
		{`{"params":{"arguments":{"a":1,"a":2}}}`, judged, 30, "a"},
		{`{"params":{"arguments":[{"a":{"b":1,"\u0062":2}}]}}`, judged, 36, "b"},
		{`{"result":{"a":1,"a":2}}`, judged, 17, "a"},
	} {
		refuses(t, c.text, jsonrpc.Judged, jsonrpc.DuplicateKey, c.offset)
		if err := scan(c.text, jsonrpc.Judged); err != nil && err.Key != c.key {
			t.Errorf("%s: key %q, want %q", c.text, err.Key, c.key)
		}
		if c.by == both {
			refuses(t, c.text, jsonrpc.Passed, jsonrpc.DuplicateKey, c.offset)
		} else {
			accepts(t, c.text, jsonrpc.Passed)
		}
	}
}

// TestManyKeys looks for a duplicate at every distance, in objects small and
// large, beside others that are large too.
func TestManyKeys(t *testing.T) {
	for _, n := range []int{2, 15, 16, 17, 18, 33, 100, 3000} {
		var b strings.Builder
		b.WriteString(`{"id":1`)
		for i := range n {
			fmt.Fprintf(&b, `,"key%d":{"a":%d,"\u0062":0}`, i, i)
		}
		text := b.String()
		accepts(t, text+`}`, jsonrpc.Judged)
		for _, key := range []string{"id", "key0", `key\u0030`, fmt.Sprintf("key%d", n/2), fmt.Sprintf("key%d", n-1)} {
			refuses(t, text+`,"`+key+`":0}`, jsonrpc.Judged, jsonrpc.DuplicateKey, len(text)+1)
			refuses(t, text+`,"`+key+`":0}`, jsonrpc.Passed, jsonrpc.DuplicateKey, len(text)+1)
		}
	}
}

func TestKeyCase(t *testing.T) {
	const both, judged = 2, 1
	for _, c := range []struct {
		text   string
		by     int
		offset int
	}{
		{`{"ID":1}`, both, 1},
		{`{"id":1,"Id":2}`, both, 8},
		{`{"Method":"m"}`, both, 1},
		{"{\"param\u017f\":{}}", both, 1},       // long s
		{`{"param\u017F":{}}`, both, 1},         // the same as an escape
		{`{"id\u0000":1}`, both, 1},             // ends at a NUL for some
		{`{"ID\u0000x":1}`, both, 1},            // both at once
		{`{"m\u0045thod":1}`, both, 1},          // an escaped E
		{`{"params":{"Name":"x"}}`, judged, 11}, //
		{`{"params":{"name\u0000":1}}`, judged, 11},
		{`{"params":{"_META":{}}}`, judged, 11},
		{"{\"params\":{\"argument\u017f\":{}}}", judged, 11},
		{"{\"params\":{\"_meta\":{\"progressTo\u212aen\":1}}}", judged, 20}, // Kelvin sign
		{`{"params":{"_meta":{"progresstoken":1}}}`, judged, 20},
		{`{"params":{"ｕri":1}}`, judged, 11}, // full width
		{`{"ıd":1}`, both, 1},                // an i to who compares in upper case
	} {
		refuses(t, c.text, jsonrpc.Judged, jsonrpc.KeyCase, c.offset)
		if c.by == both {
			refuses(t, c.text, jsonrpc.Passed, jsonrpc.KeyCase, c.offset)
		} else {
			accepts(t, c.text, jsonrpc.Passed)
		}
	}
	for _, text := range []string{
		`{"params":{"arguments":{"Name":1,"name":2,"NAME":3}}}`, // a tool's own arguments
		`{"result":{"Method":1,"method":2}}`,
		`{"idx":1,"i":2,"_id":3,"\u0000id":4,"íd":5}`,
		`{"NAME":1,"progresstoken":2}`, // mean something further in only
		`{"params":[{"Name":1}]}`,
	} {
		accepts(t, text, jsonrpc.Judged)
	}
}

// TestEscapedKeyIsFound writes the keys that count with escapes.
func TestEscapedKeyIsFound(t *testing.T) {
	for _, r := range []jsonrpc.Rules{jsonrpc.Judged, jsonrpc.Passed} {
		m, err := jsonrpc.Parse([]byte(`{"m\u0065thod":"x","\u0070arams":{"n\u0061me":"y"}}`), r)
		if err != nil {
			t.Fatal(err)
		}
		if m.Text(jsonrpc.Method) != "x" || m.Text(jsonrpc.Name) != "y" {
			t.Errorf("method %q, name %q, want x and y", m.Text(jsonrpc.Method), m.Text(jsonrpc.Name))
		}
	}
}

// TestLastCounts has duplicates where they are let through. What was found in
// an earlier value must not be mixed with the last one.
func TestLastCounts(t *testing.T) {
	text := `{"params":{"name":"a","_meta":{"progressToken":1},"name":"b","_meta":{}}}`
	m, err := jsonrpc.Parse([]byte(text), jsonrpc.Passed)
	if err != nil {
		t.Fatal(err)
	}
	if m.Text(jsonrpc.Name) != "b" || string(m.Get(jsonrpc.Meta)) != "{}" || m.Has(jsonrpc.ProgressToken) {
		t.Errorf("name %q, _meta %s, token %s", m.Text(jsonrpc.Name), m.Get(jsonrpc.Meta), m.Get(jsonrpc.ProgressToken))
	}
}

func TestDepth(t *testing.T) {
	for _, r := range []jsonrpc.Rules{jsonrpc.Judged, jsonrpc.Passed} {
		for _, pair := range []string{"[]", `{}`} {
			open, shut := pair[:1], pair[1:]
			if open == "{" {
				open = `{"":`
			}
			inside := strings.Repeat(open, r.Depth-2)
			text := `{"a":` + inside + pair + strings.Repeat(shut, r.Depth-2) + `}`
			accepts(t, text, r)
			refuses(t, `{"a":`+inside+open+pair+shut+strings.Repeat(shut, r.Depth-2)+`}`, r, jsonrpc.TooDeep, len(`{"a":`+inside+open))
		}
		bomb := `{"a":` + strings.Repeat("[", 1<<20)
		refuses(t, bomb, r, jsonrpc.TooDeep, len(`{"a":`)+r.Depth-1)
	}
}

func TestSize(t *testing.T) {
	r := jsonrpc.Rules{Depth: 1, Size: 10}
	accepts(t, `{"a":1234}`, r)
	refuses(t, `{"a":12345}`, r, jsonrpc.TooLarge, 10)
	big := `{"a":"` + strings.Repeat("x", jsonrpc.MaxSize-8) + `"}`
	accepts(t, big, jsonrpc.Judged)
	refuses(t, big+" ", jsonrpc.Judged, jsonrpc.TooLarge, jsonrpc.MaxSize)
	refuses(t, "{}", jsonrpc.Rules{}, jsonrpc.TooLarge, 0)
	few := jsonrpc.Rules{Depth: 9, Size: 100, Values: 3}
	accepts(t, `{"a":[1,{}]}`, few)
	refuses(t, `{"a":[1,{"b":2}]}`, few, jsonrpc.TooLarge, 13)
	refuses(t, `{"a":1,"b":2,"c":3,"d":4}`, few, jsonrpc.TooLarge, 23)
	refuses(t, "{}", jsonrpc.Rules{Size: 10}, jsonrpc.TooDeep, 0)
}

// TestEveryByte cuts a message short at every byte and replaces every byte, so
// that whatever runs over an end does so here.
func TestEveryByte(t *testing.T) {
	text := []byte(`{"id":-1.5e+3,"method":"a\u00e9\ud83d\ude00é😀","params":{"_meta":{"x":[true,false,null,{}]}}}`)
	for i := range text {
		if scan(string(text[:i]), jsonrpc.Judged) == nil {
			t.Errorf("%s was accepted", text[:i])
		}
		for _, c := range []byte{0, ' ', '"', '\\', '{', '}', 0x80, 0xff} {
			changed := bytes.Clone(text)
			changed[i] = c
			scan(string(changed), jsonrpc.Judged) // must not panic
		}
	}
}

// TestErrors checks what is told about a refusal.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		text string
		code int
		want string
	}{
		{`{"a":}`, -32700, "json_syntax at byte 5: this is not JSON"},
		{`{}{}`, -32700, "json_trailing_data at byte 2: "},
		{"{\"a\":\"\xff\"}", -32700, "invalid_utf8 at byte 6: "},
		{`[]`, -32600, "batch at byte 0: "},
		{`1`, -32600, "not_an_object at byte 0: "},
		{`{"a":1,"a":2}`, -32600, `json_duplicate_key at byte 7, key "a": `},
		{`{"ID":1}`, -32600, `json_key_case at byte 1, key "ID" for "id": `},
		{"{\"\u017f\\u001b\":1,\"\u017f\\u001b\":1}", -32600, `json_duplicate_key at byte 14, key "\u017f\x1b": `},
		{`{"id":{}}`, -32600, "rpc_invalid_id at byte 6: "},
		{`{"method":1}`, -32600, "rpc_invalid_method at byte 10: "},
		{`{"a":` + strings.Repeat("[", 99), -32600, "json_depth at byte 68: "},
		{strings.Repeat(" ", jsonrpc.MaxSize+1), -32600, "message_too_large at byte 16777216: "},
	} {
		_, err := jsonrpc.Parse([]byte(c.text), jsonrpc.Judged)
		e, ok := errors.AsType[*jsonrpc.Error](err)
		if !ok {
			t.Errorf("%.40q: %v", c.text, err)
			continue
		}
		if got := e.Error(); !strings.HasPrefix(got, c.want) || strings.HasSuffix(got, ": ") {
			t.Errorf("%.40q: %s, want %s…", c.text, got, c.want)
		}
		if e.Code() != c.code {
			t.Errorf("%.40q: code %d, want %d", c.text, e.Code(), c.code)
		}
	}
	long := strings.Repeat("é", 100)
	if err := scan(`{"x`+long+`":1,"x`+long+`":1}`, jsonrpc.Judged); err == nil || err.Key != "x"+long[:62] {
		t.Errorf("key of an error is not cut between characters: %v", err)
	}
}

// TestFoundBeforeRefusal: what stood before the fault can be logged.
func TestFoundBeforeRefusal(t *testing.T) {
	var slots [jsonrpc.Fields]jsonrpc.Span
	text := []byte(`{"id":"me","method":"m","x":}`)
	if jsonrpc.Scan(text, jsonrpc.Judged, jsonrpc.MessageShape, slots[:]) == nil {
		t.Fatal("accepted")
	}
	if s := slots[jsonrpc.ID]; s != (jsonrpc.Span{Key: 1, Start: 6, End: 10}) {
		t.Errorf("id at %+v", s)
	}
	if jsonrpc.Scan(nil, jsonrpc.Judged, jsonrpc.MessageShape, slots[:]); slots[jsonrpc.ID].End != 0 {
		t.Error("slots were not cleared")
	}
}

// Both ends of both ranges of surrogates: two escapes are one character if and only if the
// first is a high and the second a low one, as package encoding/json has it too (FINDINGS T3).
func TestBothEndsOfBothRangesOfSurrogates(t *testing.T) {
	edges := []rune{0x41, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff}
	for _, first := range edges {
		for _, second := range edges {
			text := fmt.Sprintf(`"\u%04x\u%04X"`, first, second)
			var want, mended string
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			whole := !strings.ContainsRune(want, utf8.RuneError)
			if got, ok := jsonrpc.Unquote([]byte(text)); ok != whole || ok && got != want {
				t.Errorf("%s: %q %t, want %q %t", text, got, ok, want, whole)
			}
			out := jsonrpc.Mend([]byte(text))
			if err := json.Unmarshal(out, &mended); err != nil || mended != want || whole && string(out) != text {
				t.Errorf("%s is mended to %s, want what reads %q", text, out, want)
			}
			if got, ok := jsonrpc.Unquote(out); !ok || got != want {
				t.Errorf("%s was %s: %q %t", out, text, got, ok)
			}
		}
	}
}
