//go:build unix

package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// sourceOf is where the rules of a file come from that the owner alone can write.
func sourceOf(t *testing.T, text string) *policySource {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Flags(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &policySource{file: file, rules: rules, self: "fs"}
}

// Who can write the policy decides what runs (RELIABILITY 1, "sudo").
func TestAPolicyThatAnybodyCanWriteIsNotTaken(t *testing.T) {
	r := sourceOf(t, "version: 1\ndefault: deny\n")
	file := r.file
	for mode, good := range map[os.FileMode]bool{0o644: true, 0o664: true, 0o400: true, 0o666: false, 0o602: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := r.read(); (err == nil) != good || !good && !strings.Contains(err.Error(), "chmod o-w") {
			t.Errorf("%04o: %v", mode, err)
		}
	}
	if os.Getuid() != 0 {
		return // it cannot be given away
	}
	if err := os.Chown(file, 65534, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.read(); err == nil || !strings.Contains(err.Error(), "another user (uid 65534)") {
		t.Errorf("%v", err)
	}
}

// A policy file with a mode that is refused was not looked at again when it had been mended as the
// hint says: chmod changes neither its size nor its time.
func TestAPolicyCountsWhenItsModeIsMended(t *testing.T) {
	r := sourceOf(t, "version: 1\ndefault: ask\n")
	file := r.file
	synctest.Test(t, func(t *testing.T) {
		if _, err := r.read(); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		changed, failed, told := make(chan *policy.Policy, 9), make(chan error, 9), make(chan struct{})
		go r.watch(ctx, told, func(p *policy.Policy) { changed <- p }, func(err error) { failed <- err })
		chmod := func(mode os.FileMode) {
			t.Helper()
			if err := os.Chmod(file, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, []byte("version: 1\ndefault: deny\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		chmod(0o666)
		if err := <-failed; !strings.Contains(err.Error(), "chmod o-w") {
			t.Error(err)
		}
		time.Sleep(9 * lookEvery)
		if len(failed) > 0 {
			t.Errorf("it says so again: %v", <-failed)
		}
		told <- struct{}{}
		<-failed // who tells it to read the file hears it

		chmod(0o600)
		time.Sleep(9 * lookEvery)
		if len(changed) != 1 || len(failed) > 0 {
			t.Errorf("it counts %d times, and is wrong %d times", len(changed), len(failed))
		}
	})
}
