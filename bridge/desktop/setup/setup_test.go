package setup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/setup"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
)

// Two edits of clients' files at once are one after the other: the second refused.
func TestASecondClientCommandWaitsForTheFirst(t *testing.T) {
	state := localgateway.StateDir(filepath.Join(t.TempDir(), "state"))
	first, err := setup.Lock(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { first() })
	second, err := setup.Lock(t.Context(), state)
	if err != nil {
		t.Fatalf("the second is refused: %v", err)
	}
	second()
}

// Who waited in vain was not told for whom (FINDINGS, what a desktop user feels).
func TestWhoWaitsInVainForAnotherClientCommandIsToldForWhom(t *testing.T) {
	state := localgateway.StateDir(filepath.Join(t.TempDir(), "state"))
	first, err := setup.Lock(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	defer first()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := setup.Lock(ctx, state); err == nil || !strings.Contains(err.Error(), fmt.Sprint("another mcpx-bridge client is at work: process ", os.Getpid())) {
		t.Error(err)
	}
}

// A client starts the server in a directory of its own choice, so what names a file here is
// written with its whole path, and nothing else is touched.
func TestWordsThatMeanTheSameInEveryDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("server.js", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"server.js": filepath.Join(here, "server.js"), "--file=server.js": "--file=" + filepath.Join(here, "server.js"), ".": here, "./none": filepath.Join(here, "none"),
		"none.js": "none.js", "-x": "-x", "": "", "--port=1": "--port=1",
	} {
		if got := setup.FromHere(word); got != want {
			t.Errorf("%s is written as %s, want %s", word, got, want)
		}
	}
	for command, want := range map[string]string{"npx": "npx", "./srv": filepath.Join(here, "srv")} {
		if got, err := setup.FromAnywhere(command); err != nil || got != want {
			t.Errorf("%s is written as %s, want %s: %v", command, got, want, err)
		}
	}
}

func TestAClientThatIsNoneIsToldFromOneThatIs(t *testing.T) {
	m := install.Machine{GOOS: "linux", Home: t.TempDir()}
	if at, err := setup.PlaceOf(m, "cursor", ""); err != nil || at.Client.Name != "cursor" {
		t.Errorf("%v, %v", at.Client.Name, err)
	}
	_, err := setup.PlaceOf(m, "cursr", "")
	if known, ok := errors.AsType[*fault.Error](err); !ok || known.Exit != fault.Misused || known.Hint[0] != "did you mean cursor?" {
		t.Errorf("%v", err)
	}
	if _, err := setup.PlaceOf(m, "cursor", "nowhere"); err == nil {
		t.Error("a scope that is none was taken")
	}
}
