package node

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
)

// lines is a log of which each line can be awaited.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// Of two bridges that answer for one participant the second said that this one is asked elsewhere,
// where the first shows nobody its questions.
func TestOfTwoBridgesWithOnePersonTheSecondSaysWhatToDo(t *testing.T) {
	said := make(lines, 9)
	n, err := New(t.Context(), Options{Server: Target{Args: []string{os.Args[0]}}, ID: "git",
		State: localgateway.StateDir(filepath.Join(t.TempDir(), "mcpx-bridge")), Log: slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	way, err := n.o.Connect("ann")
	if err != nil {
		t.Fatal(err)
	}
	defer way.Close()
	first := client.New(way, client.Options{Yields: true, Approvals: &client.ApprovalInbox{}})
	if err := first.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer first.Close()

	n.seated.close()
	go (&answerSeats{plan: n.plan, seated: n.seated}).keep(t.Context(), "ann")
	if line := <-said; !strings.Contains(line, "answers of ann by a channel do not count now") || !strings.Contains(line, "give the people of each bridge an id of their own") {
		t.Errorf("it says %s", line)
	}
}
