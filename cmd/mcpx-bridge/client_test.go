package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Two edits of clients' files at once are one after the other: the second refused.
func TestASecondClientCommandWaitsForTheFirst(t *testing.T) {
	state := stateDir(filepath.Join(t.TempDir(), "state"))
	first, err := lockClients(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { first() })
	second, err := lockClients(t.Context(), state)
	if err != nil {
		t.Fatalf("the second is refused: %v", err)
	}
	second()
}

// Who waited in vain was not told for whom (FINDINGS, what a desktop user feels).
func TestWhoWaitsInVainForAnotherClientCommandIsToldForWhom(t *testing.T) {
	state := stateDir(filepath.Join(t.TempDir(), "state"))
	first, err := lockClients(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	defer first()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := lockClients(ctx, state); err == nil || !strings.Contains(err.Error(), fmt.Sprint("another mcpx-bridge client is at work: process ", os.Getpid())) {
		t.Error(err)
	}
}
