package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

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
		tellTheTime()
		os.Exit(0)
	}
}

func tellTheTime() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		now := time.Now().UnixNano()
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"clock","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"clock","inputSchema":{"type":"object"}},` + cmp.Or(os.Getenv(largeTool), holdTool) + `]}`
		case "tools/call":
			if bytes.Contains(line, []byte(`"name":"hold"`)) {
				continue // never answered
			}
			result = fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, now)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
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
