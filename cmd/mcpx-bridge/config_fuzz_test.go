package main

import (
	"strings"
	"testing"
)

// Whatever a configuration file holds, it is read or refused with its name.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{"topic: a\nallow: [b, c]\n", "a: {b: c}", "- a", "", "# only", "a: &x b\nc: *x", "a: |\n  b\n", "a:\n- b\n- - c", "? a\n: b", "a: b\n---\nc: d", "\"\\u0000\": 1", "a: !!binary x", "<<: {a: b}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := readYAML("file.yaml", []byte(text))
		if err != nil && !strings.HasPrefix(err.Error(), "file.yaml:") {
			t.Errorf("%v", err)
		}
		for _, e := range entries {
			if e.key == "" && len(e.values) == 0 && !e.list {
				t.Errorf("nothing was read: %+v", e)
			}
		}
	})
}
