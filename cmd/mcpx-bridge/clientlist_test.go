package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A row of client list had the names of all servers of a file, and every other row as many
// blanks.
func TestTheListNamesSomeOfManyServers(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	var file strings.Builder
	for i := range 500 {
		fmt.Fprintf(&file, `"s%d":{"command":"x"},`, i)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{`+file.String()+`"last":{"command":"x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	list := func(flags ...string) string {
		cmd := exec.Command("mcpx-bridge", append([]string{"client", "list"}, flags...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "APPDATA=", "XDG_CONFIG_HOME=", "CLAUDE_CONFIG_DIR=", "CODEX_HOME=")
		said, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		return string(said)
	}
	if table := list(); !strings.Contains(table, "s18, s19 and 481 more ") || strings.Contains(table, ", s20") {
		t.Errorf("the table: %.500s", table)
	}
	if lines := list("--json"); !strings.Contains(lines, `"s499"`) || !strings.Contains(lines, `"last"`) {
		t.Errorf("--json: %.500s", lines)
	}
}

// A signal changed nothing while client read a file.
func TestASignalEndsTheReadingOfClientsFiles(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	reads, on := make(chan bool), make(chan bool)
	go func() { <-reads; stop(errSignalled) }()
	_, err := promptly(ctx, func() (int, error) { reads <- true; <-on; return 1, nil })
	if close(on); !errors.Is(err, errSignalled) || failureOf(err).Exit != exitInterrupted {
		t.Errorf("%v, exit code %d", err, failureOf(err).Exit)
	}
	if n, err := promptly(t.Context(), func() (int, error) { return 2, nil }); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
