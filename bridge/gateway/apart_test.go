package gateway_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What is said in one topic is heard in no other, whoever it names, and whatever those who
// are there are called.
func TestTopicsShareNothing(t *testing.T) {
	for _, here := range protocols[:2] {
		for _, there := range []string{"mcp-x/v0", "mcpx/v0.1", "mew/v0.4"} {
			t.Run(here+" "+there, func(t *testing.T) {
				h := open(t, gateway.Options{})
				ann := h.join(here, "ann")
				zoe := h.join(here, "zoe")
				in := func(id string) *guest {
					g := h.knockAt("u", there, id, h.mint(id, "u"))
					if e := g.kind(wire.Greeting); strings.Contains(string(e.Payload), "zoe") {
						t.Errorf("%s is told who is elsewhere: %s", id, e.Payload)
					}
					return g
				}
				bob, other := in("bob"), in("ann")
				kind := kindOf(here, "tools/list")
				ann.send(say(here, "astray-1", "ann", `["bob"]`, kind, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
				ann.send(say(here, "astray-2", "ann", "", "chat", `{"text":"astray","format":"plain"}`))
				ann.mark(zoe)
				other.mark(bob)
				bob.mark(other)
				late := in("late")
				late.mark(bob)
				for _, g := range []*guest{bob, other, late} {
					if all := strings.Join(g.seen, "\n"); strings.Contains(all, "astray") {
						t.Errorf("%s heard what was said elsewhere:\n%s", g.id, all)
					}
				}
			})
		}
	}
}
