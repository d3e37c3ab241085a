package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Patterns are JSON in which
//
//	"*"     matches anything that is there,
//	"$name" matches anything the first time and the same the next,
//	"!k":0  in an object says that member k is absent,
//
// objects may have more members than shown, and arrays may not. Numbers are
// compared by their text: 1.0 is not 1.

// names are what the "$name" of one case stood for.
type names map[string]string

// mismatch says where got differs from the pattern; "" means nowhere.
func (n names) mismatch(pattern, got string) string {
	want, err := decoded(pattern)
	if err != nil {
		return fmt.Sprintf("the pattern is no JSON: %v", err)
	}
	have, err := decoded(got)
	if err != nil {
		return fmt.Sprintf("it is no JSON: %v", err)
	}
	return n.compare("", want, have)
}

func decoded(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

func (n names) compare(at string, want, got any) string {
	switch want := want.(type) {
	case string:
		return n.compareText(at, want, got)
	case map[string]any:
		return n.compareObject(at, want, got)
	case []any:
		have, ok := got.([]any)
		if !ok || len(have) != len(want) {
			return differs(at, want, got)
		}
		for i := range want {
			if why := n.compare(fmt.Sprintf("%s/%d", at, i), want[i], have[i]); why != "" {
				return why
			}
		}
		return ""
	}
	if want != got {
		return differs(at, want, got)
	}
	return ""
}

func (n names) compareText(at, want string, got any) string {
	switch {
	case want == "*":
		return ""
	case strings.HasPrefix(want, "$"):
		have, _ := json.Marshal(got)
		if before, ok := n[want]; ok && before != string(have) {
			return fmt.Sprintf("%s: %s was %s and is now %s", at, want, before, have)
		}
		n[want] = string(have)
		return ""
	case got != any(want):
		return differs(at, want, got)
	}
	return ""
}

func (n names) compareObject(at string, want map[string]any, got any) string {
	have, ok := got.(map[string]any)
	if !ok {
		return differs(at, want, got)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if absent, ok := strings.CutPrefix(key, "!"); ok {
			if value, there := have[absent]; there {
				return fmt.Sprintf("%s/%s: should not be there, and is %v", at, absent, value)
			}
			continue
		}
		value, there := have[key]
		if !there {
			return fmt.Sprintf("%s/%s: is missing", at, key)
		}
		if why := n.compare(at+"/"+key, want[key], value); why != "" {
			return why
		}
	}
	return ""
}

func differs(at string, want, got any) string {
	w, _ := json.Marshal(want)
	g, _ := json.Marshal(got)
	return fmt.Sprintf("%s: want %s, got %s", at, w, cut(string(g)))
}

// cut keeps what a test prints readable.
func cut(s string) string {
	if len(s) > 2000 {
		return fmt.Sprintf("%s… (%d bytes)", s[:2000], len(s))
	}
	return s
}

func TestPatternsTellFramesApart(t *testing.T) {
	for _, c := range []struct {
		pattern, got string
		ok           bool
	}{
		{`{"a":1}`, `{"b":2,"a":1}`, true},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`{"a":"*"}`, `{"a":null}`, true},
		{`{"a":"*"}`, `{}`, false},
		{`{"!a":0}`, `{"a":null}`, false},
		{`{"!a":0}`, `{"b":1}`, true},
		{`{"a":"$x","b":"$x"}`, `{"a":7,"b":7}`, true},
		{`{"a":"$x","b":"$x"}`, `{"a":7,"b":"7"}`, false},
		{`{"to":["bob"]}`, `{"to":["bob","eve"]}`, false},
		{`{"a":{"b":[{"c":9007199254740993}]}}`, `{"a":{"b":[{"c":9007199254740993,"d":1}]}}`, true},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`{"a":null}`, `{"a":0}`, false},
	} {
		if why := (names{}).mismatch(c.pattern, c.got); (why == "") != c.ok {
			t.Errorf("%s against %s: %q", c.pattern, c.got, why)
		}
	}
}
