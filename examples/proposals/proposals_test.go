// Package proposals is an example: a script, and the test that runs it.
package proposals

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// What the script is to say, in this order.
var promised = []string{
	"== the intern may not call",
	"the gateway does not let intern send tools/call",
	"exit code 8",
	"== so it proposes, to one agent that cannot do it",
	"echo did not run add_note: unknown tool",
	"exit code 8",
	"== and to two of which one can, if the person agrees",
	"echo did not run add_note: unknown tool",
	"notes does it",
	"kept as note 1",
	"== the next time the person does not",
	"notes refused add_note, it did not run: the call of add_note was declined by",
	"exit code 8",
	"== the whole life of what was done is on record",
	"proposed",
	"fulfilled",
}

func TestProposals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the script is for a POSIX shell")
	}
	t.Setenv("TMPDIR", t.TempDir())
	s, err := stage.Set(stage.Bridge, stage.Notes, stage.Echo)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Strike()
	cmd := exec.Command("sh", "proposals.sh", filepath.Dir(s.Bin(stage.Bridge)))
	cmd.Env = s.Env()
	cmd.WaitDelay = 10 * time.Second
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	stuck := time.AfterFunc(2*time.Minute, func() { cmd.Process.Signal(os.Interrupt) })
	defer stuck.Stop()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	rest := text.String()
	for _, line := range promised {
		at := strings.Index(rest, line)
		if at < 0 {
			t.Fatalf("it does not say %q where it should:\n%s", line, text.String())
		}
		rest = rest[at+len(line):]
	}
}
