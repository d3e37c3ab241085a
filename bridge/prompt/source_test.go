package prompt_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
)

// A look for new bridges takes a second, not the ten that one of them has to say what it is.
func TestAHungBridgeHeldUpTheOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	inboxtest.Open(t, socket.Options{Dir: dir, ID: "a", Inbox: inboxtest.Hung{Hall: inboxtest.New("a")}})
	inboxtest.New("b").Open(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	find := prompt.Bridges(dir, nil)
	found, err := find(ctx, func(string) bool { return false })
	for err == nil && len(found) == 0 && ctx.Err() == nil { // on a busy machine b may need longer than a look takes
		found, err = find(ctx, func(string) bool { return false })
	}
	if err != nil || len(found) != 1 || found[0].Label != "b in lobby" || ctx.Err() != nil {
		t.Errorf("%v, %v, %v", found, err, ctx.Err())
	}
}
