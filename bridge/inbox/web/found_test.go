package web_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/web"
)

// A stopped bridge takes connections, and says nothing.
type stopped struct{ *inboxtest.Hall }

func (stopped) Status(ctx context.Context) (s inbox.Status, err error) {
	<-ctx.Done()
	return s, ctx.Err()
}

func TestAHungBridgeHeldUpTheOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	inboxtest.Open(t, socket.Options{Dir: dir, ID: "a", Inbox: stopped{inboxtest.New("a")}})
	inboxtest.New("b").Open(t, dir)
	began := time.Now()
	found, err := web.Bridges(dir, nil)(t.Context(), func(string) bool { return false })
	if took := time.Since(began); err != nil || len(found) != 1 || found[0].Key != "b" || took > 5*time.Second {
		t.Errorf("%v, %v, after %v", found, err, took)
	}
}
