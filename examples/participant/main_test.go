package main

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

const module = "github.com/mcpx-protocol/mcpx-bridge/"

// The call waits until the question has been answered, and then has its result.
func TestACallThatWaitsForOurOwnAnswer(t *testing.T) {
	s, err := stage.Set(module+"cmd/mcpx-bridge", module+"examples/echo-server")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Strike()
	bridge, _, err := s.Ready("run", "--json", "--listen", "127.0.0.1:0", "--id", "files", "--approver", "olga", "--", s.Bin(module+"examples/echo-server"))
	if err != nil {
		t.Fatal(err)
	}
	defer bridge.Stop()
	getenv := func(name string) string {
		for _, v := range s.Env() {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	var out strings.Builder
	if err := run(t.Context(), getenv, &out, "files", "echo", `{"text":"hello"}`); err != nil {
		t.Fatalf("%v\n%s", err, bridge.Stderr())
	}
	for _, want := range []string{"files asks whether carol may call echo", "hello"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it said %s", out.String())
		}
	}
}
