package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// FINDINGS H1: servers in Go, and others, take these for one argument, and the last
// one counts.
func TestSiblingKeysThatALenientReaderTakesForOneAreRefused(t *testing.T) {
	for _, c := range []struct {
		text        string
		offset      int
		key, beside string
	}{
		{`{"path":1,"PATH":2}`, 10, "PATH", "path"},
		{`{"params":{"arguments":{"path":1,"Path":2}}}`, 33, "Path", "path"},
		{`{"params":{"arguments":[{"a":{"b":1,"B":2}}]}}`, 36, "B", "b"},
		{`{"password":1,"paſſword":2}`, 14, "paſſword", "password"},
		{`{"pa\u017f\u017fword":1,"password":2}`, 24, "password", "paſſword"},
		{"{\"key\":1,\"\u212aey\":2}", 9, "\u212aey", "key"},
		{`{"url":1,"ｕrl":2}`, 9, "ｕrl", "url"},
		{`{"path":1,"path\u0000":2}`, 10, "path\x00", "path"},
		{`{"path":1,"PATH\u0000x":2}`, 10, "PATH\x00x", "path"},
		{`{"":1,"\u0000x":2}`, 6, "\x00x", ""},
		{`{"\u0070ath":1,"PATH":2}`, 15, "PATH", "path"},
		{"{\"\u00e5\":1,\"a\u030a\":2}", 8, "a\u030a", "\u00e5"},
		{`{"id":1,"x":{"ID":1,"id":2}}`, 20, "id", "ID"},
	} {
		refuses(t, c.text, jsonrpc.Called, jsonrpc.KeysAlike, c.offset)
		err := scan(c.text, jsonrpc.Called)
		if err == nil || err.Key != c.key || err.Beside != c.beside || err.Code() != -32602 {
			t.Errorf("%s: %+v", c.text, err)
			continue
		}
		if said := err.Error(); !strings.Contains(said, strconv.QuoteToASCII(c.key)+" beside "+strconv.QuoteToASCII(c.beside)) || strings.ContainsFunc(said, func(r rune) bool { return r > '~' || r < ' ' }) {
			t.Errorf("%s: %s", c.text, said)
		}
		accepts(t, c.text, jsonrpc.Judged)
	}
	for _, text := range []string{
		`{"path":1,"paths":2}`, `{"a":{"b":1},"c":{"B":2}}`, `[{"a":1},{"A":2}]`, `{"a-b":1,"a_b":2,"ab":3}`, `{"[":1,"{":2,"@":3,"` + "`" + `":4}`,
		`{"e":1,"é":2,"è":3}`, `{"path":1,"pa\u200bth":2,"раth":3}`, `{"a":"A","b":"a"}`,
	} {
		accepts(t, `{"params":`+text+`}`, jsonrpc.Called)
	}
}

// A duplicate is said to be one, however it is spelled.
func TestAKeyThatStandsTwiceIsADuplicateAndNotAlike(t *testing.T) {
	for _, text := range []string{`{"é":1,"é":2}`, `{"a\u0000":1,"a\u0000":2}`, `{"\u0041":1,"A":2}`, `{"Path":1,"Path":2}`} {
		if err := scan(text, jsonrpc.Called); err == nil || err.Reason != jsonrpc.DuplicateKey {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// In objects of every size, at every distance.
func TestASiblingAmongManyKeysIsFound(t *testing.T) {
	for _, n := range []int{2, 15, 16, 17, 18, 33, 100, 3000} {
		var b strings.Builder
		b.WriteString(`{"id":1`)
		for i := range n {
			fmt.Fprintf(&b, `,"keyé%d":{"a":%d,"\u0062":0},"Word%d":0`, i, i, i)
		}
		text := b.String()
		accepts(t, text+`}`, jsonrpc.Called)
		for _, key := range []string{"KEYÉ0", `kEye\u03010`, fmt.Sprintf("Keyé%d", n/2), fmt.Sprintf("ｗORD%d", n-1), "woRD0", fmt.Sprintf(`word%d\u0000`, n/2)} {
			refuses(t, text+`,"`+key+`":0}`, jsonrpc.Called, jsonrpc.KeysAlike, len(text)+1)
		}
	}
}

func TestMoreToFoldThanAnybodyWritesIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"x":0`)
	for i := range 40_000 {
		fmt.Fprintf(&b, `,"\ufdfa\ufdfa%d":0`, i)
	}
	if err := scan(b.String()+`}`, jsonrpc.Called); err == nil || err.Reason != jsonrpc.TooLarge {
		t.Errorf("over 256 KiB of such keys: %v", err)
	}
}

func TestCaseVariantsFurtherInAreLetThroughWhereSaid(t *testing.T) {
	r := jsonrpc.Judged
	r.VariantsFrom = 2
	accepts(t, `{"method":"m","params":{"name":"a","NAME":"b","_meta":{"ProgressToken":1}}}`, r)
	refuses(t, `{"METHOD":"m"}`, r, jsonrpc.KeyCase, 1)
	refuses(t, `{"params":{"name":"a","name":"b"}}`, r, jsonrpc.DuplicateKey, 22)
}

// What is accepted, no struct of Go's encoding/json reads otherwise: no two members
// of one object end up in one field.
func FuzzKeysAlike(f *testing.F) {
	for _, seed := range []string{`{"path":1,"PATH":2}`, `{"a":{"pa\u017fs":1,"PASS":2}}`, `{"\u212a":1,"k":[{"x\u0000":1,"X":2}]}`, `{"ａ":1,"A":2}`, `{"id":1,"iD":2,"x":3}`,
		`{"α\u0345\u0301":1,"ΑΙ\u0301":2}`, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":0,"k":1,"l":2,"m":3,"n":4,"o":5,"p":6,"q":7,"A":8}`} {
		f.Add([]byte(seed))
	}
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		called, judged := jsonrpc.Scan(data, jsonrpc.Called, nil, nil), jsonrpc.Scan(data, jsonrpc.Judged, nil, nil)
		if judged != nil {
			if called == nil {
				t.Fatalf("Called takes what Judged refuses: %v", judged)
			}
			return
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		if e, _ := errors.AsType[*jsonrpc.Error](called); called != nil && (e.Reason != jsonrpc.KeysAlike || !fold.Same(e.Key, e.Beside) && len(e.Key) < 64 && len(e.Beside) < 64 || e.Key == e.Beside && len(e.Key) < 60) {
			t.Fatalf("refused for %+v", called)
		}
		if alike := hasAlike(v); alike != (called != nil) {
			t.Fatalf("alike: %v, refused: %v", alike, called)
		}
		if called == nil {
			oneField(t, v)
		}
	})
}

func hasAlike(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		seen := map[string]bool{}
		for key, item := range v {
			if seen[fold.Name(key)] || hasAlike(item) {
				return true
			}
			seen[fold.Name(key)] = true
		}
	case []any:
		return slices.ContainsFunc(v, hasAlike)
	}
	return false
}

// oneField decodes every object into structs with a field for one of its keys.
func oneField(t *testing.T, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			oneField(t, item)
			if len(v) > 4 || len(key) > 8 { // every type that is made stays in memory
				continue
			}
			field := reflect.StructField{Name: "F", Type: reflect.TypeFor[json.RawMessage](), Tag: reflect.StructTag("json:" + strconv.Quote(key))}
			into := reflect.New(reflect.StructOf([]reflect.StructField{field}))
			without := map[string]any{}
			for other := range v {
				if other != key {
					without[other] = 1
				}
			}
			text, _ := json.Marshal(without)
			alone, _ := json.Marshal(map[string]int{key: 1})
			if err := json.Unmarshal(text, into.Interface()); err != nil || into.Elem().Field(0).Len() == 0 {
				continue
			}
			into.Elem().Field(0).SetZero()
			if json.Unmarshal(alone, into.Interface()) == nil && into.Elem().Field(0).Len() > 0 {
				t.Fatalf("%s also fills the field %q", text, key)
			}
		}
	case []any:
		for _, item := range v {
			oneField(t, item)
		}
	}
}

// BenchmarkCalled beside BenchmarkParse is what it costs to look for such keys.
func BenchmarkCalled(b *testing.B) {
	for _, objects := range []bool{false, true} {
		data := call(60, objects)
		for name, r := range map[string]jsonrpc.Rules{"judged": jsonrpc.Judged, "called": jsonrpc.Called} {
			b.Run(fmt.Sprintf("%s/%v", name, objects), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := jsonrpc.Parse(data, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	var wide, plain strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&wide, `,"ké%d":0`, i)
		fmt.Fprintf(&plain, `,"Ke%d":0`, i)
	}
	for name, text := range map[string]string{"wide": `{"a":0` + wide.String() + `}`, "plain": `{"a":0` + plain.String() + `}`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := scan(text, jsonrpc.Called); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
