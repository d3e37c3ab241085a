package main

import "testing"

// A start that was refused before anything was started had an event: that all was over.
func TestARefusedStartHasNoEvents(t *testing.T) {
	for _, args := range [][]string{
		{"run", "--json", "--stdio", "--policy", "there-is-none.yaml", "--", "server"},
		{"run", "--json", "--policy", "there-is-none.yaml", "--", "server"},
	} {
		code, out, errs := typed(t, t.TempDir(), args...)
		if code != exitMisused || out != "" || errs == "" || errs[0] == '{' {
			t.Errorf("%q: exit code %d, %q, %q", args, code, out, errs)
		}
	}
}
