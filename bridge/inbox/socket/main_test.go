package socket_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

// faulty is an inbox whose revoking panics.
type faulty struct{ *inboxtest.Hall }

func (faulty) Revoke(context.Context, string) (bool, error) { panic("a mistake of ours") }

// TestMain plays a bridge when it is told to, so that one can be killed.
func TestMain(m *testing.M) {
	switch dir := os.Getenv("TEST_LIVE_IN"); {
	case dir != "":
		h := inboxtest.New("fs")
		d, err := socket.Open(socket.Options{Dir: dir, ID: "fs", Inbox: faulty{h}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(d.Path())
		d.Serve(context.Background())
	case os.Getenv("TEST_KNOCK_AT") != "":
		_, err := socket.Dial(context.Background(), os.Getenv("TEST_KNOCK_AT"))
		fmt.Println(err)
	default:
		watchdog.Start()
		goleak.VerifyTestMain(m)
	}
}

// shortDir is a directory for a socket, whose path may have about a hundred bytes; that of
// a test's own has its name in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
