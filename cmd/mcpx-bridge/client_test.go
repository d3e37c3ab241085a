package main

import (
	"path/filepath"
	"testing"
	"time"
)

// Two edits of clients' files at once are one after the other: the second refused.
func TestASecondClientCommandWaitsForTheFirst(t *testing.T) {
	state := stateDir(filepath.Join(t.TempDir(), "state"))
	first, err := state.lockClients(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { first() })
	second, err := state.lockClients(t.Context())
	if err != nil {
		t.Fatalf("the second is refused: %v", err)
	}
	second()
}
