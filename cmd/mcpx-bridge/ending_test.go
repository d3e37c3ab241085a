package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/asyncwriter"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// A log that nobody reads keeps nobody from hearing our exit code.
func TestAnExitCodeIsNotHeldUpByALogThatNobodyReads(t *testing.T) {
	out, in := io.Pipe() // takes nothing
	defer out.Close()    // which ends the writing
	state := t.TempDir()
	code := make(chan int, 1)
	go func() {
		code <- run(context.Background(), []string{"run", "--listen", "127.0.0.1:0", "--", "/nonexistent/server"}, env{
			stdin: strings.NewReader(""), stdout: io.Discard, stderr: in,
			getenv:  func(key string) string { return map[string]string{"XDG_STATE_HOME": state}[key] },
			environ: func() []string { return nil },
		})
	}()
	select {
	case got := <-code:
		if got != exitServer {
			t.Errorf("it ended with %d, want %d", got, exitServer)
		}
	case <-time.After(patience):
		t.Error("it does not end")
	}
}

// What happens before ready is held, but a server that talks while the gateway
// is away does not fill our memory. What was too much is counted.
func TestWhatIsHeldForReadyIsBounded(t *testing.T) {
	var text strings.Builder
	e := &events{out: asyncwriter.New(&text, eventsLost)}
	for range 100 {
		e.emit(&record.Record{Event: record.ServerLog, Detail: strings.Repeat("x", 100<<10)})
	}
	if len(e.held) > heldMost {
		t.Errorf("%d bytes are held", len(e.held))
	}
	e.begin(record.Record{Event: record.Ready}, "")
	e.close()
	got := text.String()
	if !strings.HasPrefix(got, `{"event":"ready"}`) || strings.Count(got, "server_log") < 5 || !strings.Contains(got, `{"event":"events_lost","count":`) {
		t.Errorf("it says %d bytes, beginning %.300q", len(got), got)
	}
}
