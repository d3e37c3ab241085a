package main

import (
	"strings"
	"testing"
)

func TestIDsThatAreRefused(t *testing.T) {
	for _, id := range []string{"", "system", "system-x", "System", "a b", "a/b", "ä", "a\n", strings.Repeat("x", 65)} {
		if checkID("--id", id) == nil {
			t.Errorf("%q was taken", id)
		}
	}
}
