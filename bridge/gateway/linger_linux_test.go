package gateway_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// After an answer the gateway looks out for whoever had asked; but only where nobody
// else has said anything meanwhile, for then there is other work. Whether it hands
// the answer on before, this does not show.
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
			call := func(i int) {
				alice.ask(bob, i)
				meanwhile()
				bob.reply(alice, i)
				alice.until(fmt.Sprintf(`"answer-%d"`, i))
			}
			if c.awake {
				h.wakes(call)
				return
			}
			for i := range 20 {
				call(i)
			}
			if n := h.stayedAwake(); n > 0 {
				t.Errorf("stayed awake %d times", n)
			}
		})
	}
}

// One who has been answered leaves instead of calling again: the gateway goes on, and
// his leave is said.
func TestWhoIsWaitedForMayLeave(t *testing.T) {
	h := open(t, gateway.Options{})
	bob := h.join("mcpx/v0.1", "bob")
	h.wakes(func(i int) {
		alice := h.join("mcpx/v0.1", "alice")
		alice.ask(bob, i)
		bob.reply(alice, i)
		alice.until(fmt.Sprintf(`"answer-%d"`, i))
		alice.ws.Close()
		bob.until(`"leave"`)
	})
}

// An answer to somebody else makes nobody look out for who had asked.
func TestWhoIsNotAnsweredIsNotWaitedFor(t *testing.T) {
	h := open(t, gateway.Options{})
	alice, bob, carol := h.join("mcpx/v0.1", "alice"), h.join("mcpx/v0.1", "bob"), h.join("mcpx/v0.1", "carol")
	for i := range 20 {
		alice.ask(bob, i)
		bob.reply(carol, i)
		alice.until(fmt.Sprintf(`"answer-%d"`, i))
	}
	if n := h.stayedAwake(); n > 0 {
		t.Errorf("stayed awake %d times", n)
	}
}

// A bridge that hosts its gateway answers from inside it.
func TestWhoIsAnsweredFromInsideIsWaitedFor(t *testing.T) {
	h := open(t, gateway.Options{})
	bob, err := h.Attach("t", "bob", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer bob.Close(1000, "")
	alice := h.join("mcpx/v0.1", "alice")
	h.wakes(func(i int) {
		alice.send(request("alice", "bob", i))
		for asked := false; !asked; {
			frame, err := bob.Read()
			if err != nil {
				t.Fatal(err)
			}
			asked = strings.Contains(string(frame), fmt.Sprintf(`"call-%d"`, i))
		}
		bob.Put([]byte(response("bob", "alice", i)))
		bob.Flush()
		alice.until(fmt.Sprintf(`"answer-%d"`, i))
	})
}

// What is answered at once, a refusal say, is answered by the goroutine that reads
// who asked. Were it to stay awake for him, it would never sleep as long as he calls in
// a row; and only one who goes to sleep looks whether others have said something.
func TestWhoIsAnsweredByHisOwnReaderIsNotWaitedFor(t *testing.T) {
	if runtime.NumCPU() == 1 {
		t.Skip("nobody is waited for on one processor")
	}
	h := open(t, gateway.Options{})
	bob, err := h.Attach("t", "bob", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	calls, byReader, byServe := regexp.MustCompile(`"call-(\d+)"`), 0, 0
	served := make(chan struct{})
	go func() {
		defer close(served)
		bob.Serve(func(frame []byte) error {
			call := calls.FindSubmatch(frame)
			if call == nil {
				return nil
			}
			if bytes.Contains(debug.Stack(), []byte("(*Local).Serve(")) {
				byServe++
			} else {
				byReader++
			}
			n, _ := strconv.Atoi(string(call[1]))
			return bob.Put([]byte(response("bob", "alice", n)))
		}, func() {})
	}()
	alice := h.join("mcpx/v0.1", "alice")
	for i := range 40 {
		alice.send(request("alice", "bob", i))
		alice.until(fmt.Sprintf(`"answer-%d"`, i))
	}
	bob.Close(1000, "")
	<-served
	if byReader == 0 {
		t.Fatal("her reader answered nothing, so this shows nothing")
	}
	if n := h.stayedAwake(); n > byServe {
		t.Errorf("stayed awake %d times, where her reader gave %d answers and another %d", n, byReader, byServe)
	}
}

// ask has g call a tool of another guest, who reads that.
func (g *guest) ask(of *guest, n int) {
	g.t.Helper()
	g.send(request(g.id, of.id, n))
	of.until(fmt.Sprintf(`"call-%d"`, n))
}

// reply answers what another guest has asked.
func (g *guest) reply(to *guest, n int) {
	g.t.Helper()
	g.send(response(g.id, to.id, n))
}

func request(from, to string, n int) string {
	return say("mcpx/v0.1", fmt.Sprintf("call-%d", n), from, `["`+to+`"]`, "mcp/request:tools/call:echo",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo"}}`, n))
}

func response(from, to string, n int) string {
	return say("mcpx/v0.1", fmt.Sprintf("answer-%d", n), from, `["`+to+`"]`, "mcp/response:tools/call:echo",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n), fmt.Sprintf(`"correlation_id":"call-%d"`, n))
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

// wakes makes calls until somebody was waited for awake, as on more than one processor comes soon:
// who is just then kept from a processor is not.
func (h *house) wakes(call func(n int)) {
	h.t.Helper()
	for i := range 2000 {
		call(i)
		if n := h.stayedAwake(); i > 0 && (n > 0) == (runtime.NumCPU() > 1) {
			return
		}
	}
	h.t.Error("stayed awake for nobody, or on one processor")
}

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
