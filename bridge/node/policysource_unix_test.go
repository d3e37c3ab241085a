//go:build unix

package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Who can write the policy decides what runs (RELIABILITY 1, "sudo").
func TestAPolicyThatAnybodyCanWriteIsNotTaken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ndefault: deny\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Flags(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &policySource{file: file, rules: rules, self: "fs"}
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
