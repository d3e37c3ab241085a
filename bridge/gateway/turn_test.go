package gateway_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Whoever serves for others does so for a while: one who says something now and
// then is not kept from it by those who never stop.
func TestLocalIsServedByNobodyForEver(t *testing.T) {
	h := open(t, gateway.Options{MaxQueue: 1 << 22, MaxQueueBytes: 1 << 30}) // alice need not read
	l, err := h.Attach("t", "inside", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	welcomed, heard := make(chan bool), make(chan bool)
	var over atomic.Bool
	seated, flood := false, false
	take := func(frame []byte) error {
		text := string(frame)
		switch {
		case strings.Contains(text, `"a1"`):
			flood = true
		case strings.Contains(text, `"a2"`):
			close(heard)
			return enough
		case !seated:
			seated = true
			close(welcomed)
		}
		if flood && !over.Load() { // there is always one more
			return l.Put([]byte(say("mcpx/v0.1", "more", "inside", `["inside"]`, "chat", `{"text":"x"}`)))
		}
		return nil
	}
	served := make(chan error, 1)
	go func() { served <- l.Serve(take, func() {}) }()
	<-welcomed
	alice := h.join("mcpx/v0.1", "alice")
	for _, id := range []string{"a1", "a2"} {
		alice.send(say("mcpx/v0.1", id, "alice", `["inside"]`, "chat", `{"text":"x"}`))
	}
	select {
	case <-heard:
	case <-time.After(patience):
		t.Error("alice has been serving ever since she said something")
		over.Store(true)
		<-heard
	}
	if err := <-served; err != enough {
		t.Error(err)
	}
}
