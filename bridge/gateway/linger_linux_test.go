package gateway_test

import (
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// Whoever calls again as soon as it is answered is waited for awake; but only
// where nobody else has said anything meanwhile, for then there is other work.
func TestWhoCallsInARowIsWaitedForAwake(t *testing.T) {
	others := func(topic string) func(h *house) (meanwhile func()) {
		return func(h *house) func() {
			carol, dave := h.joinIn(topic, "carol"), h.joinIn(topic, "dave")
			return func() { carol.mark(dave) }
		}
	}
	for _, c := range []struct {
		name  string
		there func(h *house) (meanwhile func())
		awake bool
	}{
		{"alone", func(*house) func() { return func() {} }, runtime.NumCPU() > 1},
		{"somebody else in the topic", others("t"), false},
		{"somebody else in another topic", others("other"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, gateway.Options{})
			alice, bob := h.join("mcpx/v0.1", "alice"), h.join("mcpx/v0.1", "bob")
			meanwhile := c.there(h)
			const calls = 20
			for i := range calls {
				alice.ask(bob, i)
				meanwhile()
				bob.reply(alice, i)
				alice.until(fmt.Sprintf(`"answer-%d"`, i))
			}
			if n := h.stayedAwake(); n > 0 != c.awake {
				t.Errorf("stayed awake %d times in %d calls", n, calls)
			}
		})
	}
}

// One who has been answered and leaves instead of calling again is not missed.
func TestWhoIsWaitedForMayLeave(t *testing.T) {
	h := open(t, gateway.Options{})
	bob := h.join("mcpx/v0.1", "bob")
	for i := range 20 {
		alice := h.join("mcpx/v0.1", "alice")
		alice.ask(bob, i)
		bob.reply(alice, i)
		alice.ws.Close()
		bob.until(`"leave"`)
	}
}

// ask has g call a tool of another guest, who reads that.
func (g *guest) ask(of *guest, n int) {
	g.t.Helper()
	g.send(say("mcpx/v0.1", fmt.Sprintf("call-%d", n), g.id, `["`+of.id+`"]`, "mcp/request:tools/call:echo",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo"}}`, n)))
	of.until(fmt.Sprintf(`"call-%d"`, n))
}

// reply answers what another guest has asked.
func (g *guest) reply(to *guest, n int) {
	g.t.Helper()
	g.send(say("mcpx/v0.1", fmt.Sprintf("answer-%d", n), g.id, `["`+to.id+`"]`, "mcp/response:tools/call:echo",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n), fmt.Sprintf(`"correlation_id":"call-%d"`, n)))
}

// joinIn takes a seat in some topic and reads the welcome.
func (h *house) joinIn(topic, id string) *guest {
	h.t.Helper()
	g := h.dial("/ws?topic="+topic, http.Header{"Authorization": {"Bearer " + h.mint(id, topic)}})
	g.id, g.d = id, dialect(h.t, "mcpx/v0.1")
	g.until(`"system/welcome"`)
	return g
}

var stayedAwake = regexp.MustCompile(`(?m)^mcpx_gateway_stayed_awake_total (\d+)$`)

func (h *house) stayedAwake() int {
	h.t.Helper()
	_, body := h.get("GET", "/metrics", "", nil, "")
	found := stayedAwake.FindStringSubmatch(body)
	if found == nil {
		h.t.Fatalf("no word of it in the metrics:\n%s", body)
	}
	n, _ := strconv.Atoi(found[1])
	return n
}
