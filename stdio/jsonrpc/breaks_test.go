package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// FINDINGS L6.
func TestLineSeparatorsAreEscaped(t *testing.T) {
	for given, want := range map[string]string{
		"":                                 "",
		"{\"a\":\"\u2028\"}":               `{"a":"\u2028"}`,
		"{\"\u2029\":\"\u2028x\"}":         `{"\u2029":"\u2028x"}`,
		"{\"a\":\"’\u2028“\u2027\u202a\"}": "{\"a\":\"’\\u2028“\u2027\u202a\"}",
		"\xe2\x80":                         "\xe2\x80",
	} {
		if got := string(jsonrpc.EscapeBreaks([]byte(given))); got != want {
			t.Errorf("%+q: %+q, want %+q", given, got, want)
		}
	}
	plain := []byte(`{"a":"’é😀"}`)
	if n := testing.AllocsPerRun(100, func() {
		if &jsonrpc.EscapeBreaks(plain)[0] != &plain[0] {
			t.Fatal("copied without need")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// meaning is what JSON says, with numbers as they are written: some fit no float.
func meaning(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

func FuzzEscapeBreaks(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Add([]byte("{\"\u2028\":[\"\u2029\\\\\u2028\"]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if jsonrpc.Scan(data, jsonrpc.Judged, nil, nil) != nil {
			t.Skip()
		}
		got := jsonrpc.EscapeBreaks(data)
		if bytes.Contains(got, []byte("\u2028")) || bytes.Contains(got, []byte("\u2029")) {
			t.Errorf("%+q: %+q", data, got)
		}
		was, err := meaning(data)
		is, err2 := meaning(got)
		if err != nil || err2 != nil || !reflect.DeepEqual(was, is) {
			t.Errorf("%+q means something else: %+q", data, got)
		}
	})
}
