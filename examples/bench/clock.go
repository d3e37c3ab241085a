package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// What tells this program that it is the server, and how it lists one more tool, which
// it never answers.
const (
	clockServer = "MCPX_BENCH_CLOCK"
	largeTool   = "MCPX_BENCH_LARGE"
)

// The server of these measurements is this program itself: its answer to a call
// is the time at which it read it.
func init() {
	if os.Getenv(clockServer) != "" {
		if err := stage.Serve("clock", tellTheTime); err != nil {
			fmt.Fprintln(os.Stderr, "clock:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func tellTheTime(r stage.Request) (string, error) {
	switch r.Method {
	case "tools/list":
		return `{"tools":[{"name":"clock","inputSchema":{"type":"object"}},` + cmp.Or(os.Getenv(largeTool), holdTool) + `]}`, nil
	case "tools/call":
		if bytes.Contains(r.Params, []byte(`"name":"hold"`)) {
			return "", nil // never answered
		}
		return fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, r.Read.UnixNano()), nil
	}
	return "{}", nil
}

const holdTool = `{"name":"hold","inputSchema":{"type":"object"}}`

// clockBridge starts a bridge of that server under some rules.
func clockBridge(s *stage.Stage, rules string, args ...string) (*stage.Process, stage.Ready, error) {
	file := filepath.Join(s.Dir, "rules.yaml")
	self, err := os.Executable()
	if err := errors.Join(err, os.WriteFile(file, []byte(rules), 0o600)); err != nil {
		return nil, stage.Ready{}, err
	}
	return s.Ready(slices.Concat([]string{"run", "--json", "--policy", file, "--env", clockServer + "=1"}, args, []string{"--", self})...)
}
