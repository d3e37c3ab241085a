package main

import (
	"strings"
	"testing"
)

// Where the gateway does not verify who speaks, that is said at the start, with what it
// means for what the rules ask about; once, and nowhere else (WIRE 7.2, FINDINGS C3).
func TestThatNobodyVerifiesWhoSpeaksIsSaidAtTheStart(t *testing.T) {
	for _, c := range []struct {
		d     tongue
		flags []string
		want  string
	}{
		{mew4, nil, "approvers in the topic are not asked"},
		{meup, nil, "approvers in the topic are not asked"},
		{mew4, []string{"--trust-unverified-from"}, "a forged answer counts as theirs"},
		{d1, nil, ""},
		{d0, nil, ""},
	} {
		t.Run(c.d.name+strings.Join(c.flags, ""), func(t *testing.T) {
			_, s := perform(t, c.d, launch{flags: c.flags})
			said, n := s.stderr.text(), 0
			if c.want != "" {
				n = 1
			}
			if got := strings.Count(said, "do not verify who speaks"); got != n || c.want != "" && !strings.Contains(said, c.want) {
				t.Errorf("said %d times, want %d with %q:\n%s", got, n, c.want, said)
			}
		})
	}
}
