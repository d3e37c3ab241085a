package web_test

import (
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// leaves has passkeys when it is asked first, and none when its bridge has left the topic.
type leaves struct {
	h     *inboxtest.Hall
	asked atomic.Int32
}

func (l *leaves) Passkeys() inbox.Passkeys {
	if l.asked.Add(1) > 1 {
		return nil
	}
	return l.h.Passkeys()
}

// asksForAPasskey is a hall with one question, whose yes takes a passkey.
func asksForAPasskey(t *testing.T) (*inboxtest.Hall, approval.View) {
	t.Helper()
	h := inboxtest.New("notes")
	h.Enrolling(t.TempDir())
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Confirm = policy.Passkey
	v, _ := h.Question(h.Ask(q))
	return h, v
}

// A bridge may leave the topic while its page is asked about passkeys.
func TestABridgeThatLeavesWhileItIsAskedAboutPasskeys(t *testing.T) {
	h, v := asksForAPasskey(t)
	id := v.ID
	l := &leaves{h: h}
	src := source(h, "notes")
	src.Keys = l
	b := within(t, serve(t, src))
	form := url.Values{"bridge": {"notes"}, "digest": {v.Digest}, "do": {"allow"}, "key": {"k"}, "name": {"n"}, "made": {"{}"}, "statement": {"s"}, "assertion": {"{}"}}
	for path, want := range map[string]int{"/passkeys/challenge": 200, "/passkeys": 409, "/passkeys/remove": 303, "/sign/notes/" + id: 409, "/q/notes/" + id: 409} {
		l.asked.Store(0)
		if got := b.post(path, form); got.status != want {
			t.Errorf("POST %s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/passkeys", "/q/notes/" + id} {
		l.asked.Store(0)
		if got := b.get(path); got.status != 200 {
			t.Errorf("GET %s: %d %s", path, got.status, got.body)
		}
	}
	undecided(t, h, id)
}
