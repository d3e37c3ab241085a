package socket_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// A slow hall says how it is once the other was asked too.
type slow struct {
	*inboxtest.Hall
	both *sync.WaitGroup
}

func (s slow) Status(ctx context.Context) (inbox.Status, error) {
	s.both.Done()
	s.both.Wait()
	return s.Hall.Status(ctx)
}

// A bridge that hangs holds up no word to the others: halt is for when something is wrong.
func TestAllAreAskedAtOnce(t *testing.T) {
	dir := filepath.Join(shortDir(t), "c")
	var both sync.WaitGroup
	both.Add(2)
	for _, id := range []string{"a", "b"} {
		inboxtest.Open(t, socket.Options{Dir: dir, ID: id, Inbox: slow{inboxtest.New(id), &both}})
	}
	all, err := socket.All(t.Context(), dir)
	if err != nil || len(all) != 2 || all[0].Known.ID != "a" || all[1].Known.ID != "b" {
		t.Errorf("%v, %v", all, err)
	}
}

// Whoever holds all places at a bridge does not hide that it lives: a halt would pass it over.
func TestABridgeWithoutRoomIsNotTakenForADeadOne(t *testing.T) {
	dir := filepath.Join(shortDir(t), "c")
	hold(t, inboxtest.Open(t, socket.Options{Dir: dir, ID: "fs", Inbox: inboxtest.New("fs"), MaxClients: 2}), 2)
	for range 20 { // whether it hangs up before the question or after it is a matter of luck
		if all, err := socket.All(t.Context(), dir); err == nil || len(all) > 0 {
			t.Fatalf("%v, %v", all, err)
		}
	}
}
