package stdio

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A turnstile notes what comes, and lets through what it has no reason to keep.
type turnstile struct {
	mu   sync.Mutex
	came []string
}

func (g *turnstile) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.came = append(g.came, what)
}

func (g *turnstile) HostSaid(line []byte, m jsonrpc.Message) bool {
	g.note(string(line))
	return m.Text(jsonrpc.Method) != "notifications/cancelled"
}

func (g *turnstile) HostRefused(reason, _ string)                      { g.note(reason) }
func (g *turnstile) ServerAnswered(id []byte, _ *jsonrpc.Message) bool { return string(id) != `"kept"` }
func (g *turnstile) HostLeft()                                         { g.note("left") }

func (g *turnstile) saw(what string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, line := range g.came {
		if strings.Contains(line, what) {
			return true
		}
	}
	return false
}

const seal = "mcpxSEAL"

func gated(t *testing.T, g Gate) (c *client, got string) {
	t.Helper()
	got = filepath.Join(t.TempDir(), "got")
	c = host(t, stdiotest.Command(t, stdiotest.Script{Record: got}), func(o *Options) {
		o.MaxLine = 1 << 20
		o.Host.Gate, o.Host.HostIDPrefix = g, seal
	})
	c.greets()
	return c, got
}

func contents(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Of what might be a tools/call nothing gets past the gate, however it is
// written, cut off or made long.
func TestGateHasNoHole(t *testing.T) {
	g := &turnstile{}
	c, got := gated(t, g)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"HOLE"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools\/c\u0061ll","params":{"name":"HOLE"}}`,
		"\u00a0\t" + `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"HOLE"}}` + "\r",
		`{"jsonrpc":"2.0","id":"` + seal + `1","result":{"x":"HOLE"}}`,
		`{"jsonrpc":"2.0","id":"\u006dcpxSEAL1","result":{"x":"HOLE"},"error":{"code":1}}`,
	} {
		c.say(line + "\n")
		c.hearsNothing()
	}
	for want, line := range map[string]string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"line too long"}}`:                                          strings.Repeat(" ", 1<<20) + `{"id":4,"method":"tools/call","params":{"name":"HOLE"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a tools/call needs an id, and neither result nor error"}}`: `{"method":"tools/call","id":5,"result":{},"params":{"name":"HOLE"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"json_syntax at byte 0: this is not JSON"}}`:                "\ufeff" + `{"id":6,"method":"tools/call","params":{"name":"HOLE"}}`,
	} {
		c.say(line + "\n")
		c.hears(want)
	}
	c.say(`{"jsonrpc":"2.0","id":9,"method":"ping","params":` + "\r" + `{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"HOLE"}}` + "\r}\n")
	c.hears(`{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"a carriage return stands inside the line, and to some servers ends it"}}`)
	for _, method := range []string{"Tools/Call", "tool\\u017f/call", "tools/call\\u0000", " tools/call\\n", "ｔools/ｃall"} {
		c.say(`{"jsonrpc":"2.0","id":11,"method":"` + method + `","params":{"name":"HOLE"}}` + "\n")
		c.hears(`{"jsonrpc":"2.0","id":11,"error":{"code":-32600,"message":"this is tools/call to a careless reader; spell it exactly"}}`)
	}
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"passes"}}` + "\n")
	c.say(`{"jsonrpc":"2.0","id":7,"result":{"depth":{"a":1,"a":2}}}` + "\n")
	c.hearsNothing()
	c.say(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"LAST HOLE"}}`)
	c.in.Close()
	c.down()
	text := contents(t, got)
	if strings.Contains(text, "HOLE") || strings.Contains(text, "SEAL") {
		t.Errorf("the server got %q", text)
	}
	if !strings.Contains(text, `"requestId":"passes"`) || !strings.Contains(text, `"a":1,"a":2`) {
		t.Errorf("what is no call did not pass: %q", text)
	}
	for _, want := range []string{`"id":1,`, `tools\/c\u0061ll`, `"id":3,`, seal + "1", "LAST HOLE", "left", "json_syntax"} {
		if !g.saw(want) {
			t.Errorf("the gate never saw %s", want)
		}
	}
}

// Half of an emoji that was cut in two had a question of the server's wait for ever, and the
// client for an answer of ours under its id.
func TestHalfAnEmojiOfTheClientsLeavesNobodyWaiting(t *testing.T) {
	g := &turnstile{}
	c, got := gated(t, g)
	const half = `{"x":"\ud83d"}`
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":7,"result":` + half + `}`,
		`{"jsonrpc":"2.0","id":"8","error":{"code":1,"message":"\ud83d"}}`,
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":` + half + `}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"\ud83d"}}`,
		`{"jsonrpc":"2.0","id":"` + seal + `1","result":` + half + `}`,
	} {
		c.say(line + "\n")
		c.hearsNothing()
	}
	c.say(`{"jsonrpc":"2.0","id":9,"method":"test/echo","params":` + half + `}` + "\n")
	c.hears(`{"jsonrpc":"2.0","id":9,"result":` + half + `}`)
	halves := strings.Repeat(`\ud83d`, 90) // more than is kept of a name
	for line, id := range map[string]string{
		`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"HOLE","arguments":` + half + `}}`:      "12",
		`{"jsonrpc":"2.0","id":13,"method":"tools/call\ud83d","params":{"name":"HOLE"}}`:                         "13",
		`{"jsonrpc":"2.0","id":14,"method":"ping","meth\ud83dod":"tools/call","params":{"name":"HOLE"}}`:         "14",
		`{"jsonrpc":"2.0","id":15,"meth\ud83dod":"tools/call","params":{"name":"HOLE"}}`:                         "null",
		`{"jsonrpc":"2.0","id":"\ud83d` + seal + `1","result":"HOLE"}`:                                           "null",
		`{"jsonrpc":"2.0","id":16,"i\ud83dd":"` + seal + `1","result":"HOLE"}`:                                   "null",
		`{"jsonrpc":"2.0","id":19,"method":"ping","me` + halves + `thod":"tools/call","params":{"name":"HOLE"}}`: "19",
		`{"jsonrpc":"2.0","id":20,"me` + halves + `thod":"tools/call","params":{"name":"HOLE"}}`:                 "null",
		`{"jsonrpc":"2.0","i` + halves + `d":"` + seal + `1","result":"HOLE"}`:                                   "null",
		`{"jsonrpc":"2.0","id":21,"` + halves + `id":"` + seal + `1","result":"HOLE"}`:                           "null",
		`{"jsonrpc":"2.0","id":17,"id":18,"result":"HOLE \ud83d"}`:                                               "null",
	} {
		c.say(line + "\n")
		c.out.SetReadDeadline(time.Now().Add(patience))
		if answer, err := c.lines.ReadString('\n'); err != nil || !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32`) {
			t.Errorf("%s: the client heard %q (%v), want an error under %s", line, answer, err, id)
		}
	}
	c.in.Close()
	c.down()
	text := contents(t, got)
	for _, want := range []string{`"id":7,"result":` + half, `"id":"8","error"`, "list_changed", `"reason":"\ud83d"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the server never got %s", want)
		}
	}
	if strings.Contains(text, "HOLE") || strings.Contains(text, "SEAL") || !g.saw(seal+"1\",\"result\":"+half) {
		t.Errorf("the server got %q, the gate %q", text, g.came)
	}
}

// FINDINGS H1, for the client beside us: the same arguments are refused as from
// the topic.
func TestASiblingKeyOfTheClientsReachesNoServer(t *testing.T) {
	g := &turnstile{}
	c, got := gated(t, g)
	for arguments, keys := range map[string]string{
		`{"path":"/a","HOLE":1,"hole":2}`:    `key \"hole\" beside \"HOLE\"`,
		`{"x":[{"path":"HOLE","ｐath":"b"}]}`: `key \"\\uff50ath\" beside \"path\"`,
	} {
		line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":` + arguments + `}}`
		c.say(line + "\n")
		at := strings.Index(line, `"hole"`)
		if at < 0 {
			at = strings.Index(line, `"ｐath"`)
		}
		c.hears(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"json_keys_alike at byte %d, %s: two keys of one object are one to readers that ignore case or form; keep one of them"}}`, at, keys))
	}
	c.in.Close()
	c.down()
	if text := contents(t, got); strings.Contains(text, "HOLE") {
		t.Errorf("the server got %q", text)
	}
	if g.saw("HOLE") || !g.saw("json_keys_alike") {
		t.Error("the gate was handed it, or was not told of it")
	}
}

// Of a line without end only the beginning is kept, which is not what the host
// said.
func TestGateTakesNoBeginningForTheWhole(t *testing.T) {
	g := &turnstile{}
	c, got := gated(t, g)
	go io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"HOLE"}}`+strings.Repeat(" ", 5<<20))
	c.hears(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"line without end"}}`)
	c.down()
	if g.saw("HOLE") || strings.Contains(contents(t, got), "HOLE") || !g.saw("left") {
		t.Errorf("the gate saw %q", g.came)
	}
}

// What we say to the host never stands in the middle of what the server says.
func TestTellWaitsForTheEndOfALine(t *testing.T) {
	g := &turnstile{}
	c, _ := gated(t, g)
	r := c.server.relay.Load()
	r.toHost.setMidLine(r, true)
	c.server.Tell([]byte(`{"after":1}`))
	r.out.Put([]byte(`{"long":`))
	c.server.Tell([]byte(`{"after":2}`))
	r.out.Put([]byte("1}\n"))
	r.toHost.setMidLine(r, false)
	c.server.Tell([]byte(`{"after":3}`))
	for _, want := range []string{`{"long":1}`, `{"after":1}`, `{"after":2}`, `{"after":3}`} {
		c.hears(want)
	}
}
