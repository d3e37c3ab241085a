package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/config"
)

// Whatever a configuration file holds, it is read or refused with its name.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{"topic: a\nallow: [b, c]\n", "a: {b: c}", "- a", "", "# only", "a: &x b\nc: *x", "a: |\n  b\n", "a:\n- b\n- - c", "? a\n: b", "a: b\n---\nc: d", "\"\\u0000\": 1", "a: !!binary x", "<<: {a: b}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := config.Parse("file.yaml", []byte(text))
		if err != nil && !strings.HasPrefix(err.Error(), "file.yaml:") {
			t.Errorf("%v", err)
		}
		for _, e := range entries {
			if e.Key == "" && len(e.Values) == 0 && !e.List {
				t.Errorf("nothing was read: %+v", e)
			}
		}
	})
}

// A configuration has 1 MiB at most.
func TestHowLongAConfigurationMayBe(t *testing.T) {
	for n, fits := range map[int]bool{config.Max - 1: true, config.Max: true, config.Max + 1: false} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte("#"+strings.Repeat("x", n-1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Read(file); (err == nil) != fits {
			t.Errorf("of %d bytes: %v", n, err)
		}
	}
}
