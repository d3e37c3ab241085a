package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// The first frame is the welcome, with everybody else in it; the others hear
// of the joiner, who does not hear of itself; a leave is heard by all.
func TestWelcomeAndPresence(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			h := open(t, gateway.Options{})
			first := h.join("mcpx/v0.1", "first", `["chat","mcp/request:notifications/*"]`)
			second := h.knock(p, "second", h.mint("second", "t"))
			e, err := second.d.Decode([]byte(second.read()))
			if err != nil {
				t.Fatal(err)
			}
			w, err := e.Welcome()
			if err != nil || e.From != "system:gateway" || len(e.To) != 1 || e.To[0] != "second" {
				t.Fatalf("%v: %s", err, second.last())
			}
			if w.You.ID != "second" || len(w.Peers) != 1 || w.Peers[0].ID != "first" {
				t.Errorf("welcome says %+v", w)
			}
			if p != "mcp-x/v0" && (!w.You.Caps.Stated() || !w.Peers[0].Caps.Stated()) {
				t.Errorf("no capabilities in %s", second.last())
			}
			event, who, _ := first.kind(wire.Presence).Presence()
			if event != "join" || who.ID != "second" || !who.Caps.Stated() {
				t.Errorf("first was told %s", first.last())
			}
			first.mark(second)
			second.ws.Close()
			event, who, _ = first.kind(wire.Presence).Presence()
			if event != "leave" || who.ID != "second" {
				t.Errorf("first was told %s", first.last())
			}
			if s := strings.Join(second.seen, "\n"); strings.Contains(s, `"join"`) {
				t.Errorf("second heard of its own coming: %s", s)
			}
		})
	}
}

// The trap of every reference gateway: the end of an old session takes the
// new one of the same id with it, which then hears nothing. Here the id joins
// 200 times while old connections are neither read nor closed.
func TestNoGhostAfterReconnect(t *testing.T) {
	h := open(t, gateway.Options{})
	watcher := h.join("mcpx/v0.1", "watcher")
	token := h.mint("ghost", "t")
	var last *guest
	for i := range 200 {
		p := []string{"mcpx/v0.1", "mcp-x/v0"}[i%2]
		last = h.knock(p, "ghost", token) // the one before is left half dead
	}
	last.kind(wire.Greeting)
	watcher.mark(last)
	last.mark(watcher)
	watcher.saw("ghost")
	if status, body := h.get("GET", "/v0.1/topics/t/participants", token, nil, ""); status != 200 || strings.Count(body, `"ghost"`) != 1 {
		t.Errorf("participants: %d %s", status, body)
	}
}

// saw checks that the joins and leaves of an id took turns in what g read, and
// that it is here in the end.
func (g *guest) saw(id string) {
	g.t.Helper()
	present := false
	for _, frame := range g.seen {
		e, err := g.d.Decode([]byte(frame))
		if err != nil || e.Kind != wire.Presence {
			continue
		}
		if event, who, _ := e.Presence(); who.ID == id {
			if present == (event == "join") {
				g.t.Fatalf("present %v, then %s", present, event)
			}
			present = event == "join"
		}
	}
	if !present {
		g.t.Errorf("the last word on %s is a leave", id)
	}
}

// Of two sessions the one whose connection came later is the newer, though the
// other one be slower to join: a client that gave up on its first connection
// must not lose the second to it.
func TestLateJoinPutsNobodyOut(t *testing.T) {
	h := open(t, gateway.Options{})
	first := h.dial("/?space=t", nil)
	second, watcher := h.join("mcpx/v0.1", "ann"), h.join("mcpx/v0.1", "watcher")
	first.send(string(wire.AppendJoin(nil, "ann", "t", h.mint("ann", "t"))))
	if c := first.closed(); c.Code != 4001 {
		t.Errorf("the first was closed with %v", c)
	}
	second.mark(watcher)
}

// A session that was replaced says nothing any more, however much of it had
// been read already.
func TestReplacedSessionIsMute(t *testing.T) {
	h := open(t, gateway.Options{MaxQueue: 1 << 20, MaxQueueBytes: 1 << 30})
	watcher := h.join("mcpx/v0.1", "watcher")
	token := h.mint("ghost", "t")
	for range 20 {
		old := h.knock("mcpx/v0.1", "ghost", token)
		burst := []byte(strings.Repeat(masked(0x81, say("mcpx/v0.1", "old", "ghost", `["watcher"]`, "chat", `{"text":"x"}`)), 50))
		go func() {
			for err := error(nil); err == nil; {
				_, err = old.ws.NetConn().Write(burst)
			}
		}()
		watcher.until(`"old"`)
		h.join("mcpx/v0.1", "ghost")
		watcher.until(`"leave"`)
		watcher.until(`"join"`)
		n := len(watcher.seen)
		h.join("mcpx/v0.1", "marker").mark(watcher)
		for _, frame := range watcher.seen[n:] {
			if strings.Contains(frame, `"old"`) {
				t.Fatal("the old session still speaks")
			}
		}
		watcher.seen = nil
	}
}

// The same at once from many sides, and then all of them leave.
func TestReconnectRace(t *testing.T) {
	h := open(t, gateway.Options{})
	watcher := h.join("mcpx/v0.1", "watcher")
	token := h.mint("ghost", "t")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				ws, _, err := websocket.DefaultDialer.Dial(h.ws("/ws?topic=t"), http.Header{"Authorization": {"Bearer " + token}})
				if err != nil {
					t.Error(err)
					return
				}
				ws.Close()
			}
		})
	}
	wg.Wait()
	final := h.join("mcpx/v0.1", "ghost")
	final.mark(watcher)
	watcher.saw("ghost")
}

// A request or proposal to somebody who is not here is answered at once, and
// delivered nonetheless; a response or notification is no fault.
func TestAbsentRecipient(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			ann, bob := h.join(p, "ann"), h.join(p, "bob")
			ann.send(say(p, "q", "ann", `["nobody"]`, callKind(p), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`))
			f, err := ann.kind(wire.Failure).Fault()
			if err != nil || f.Code != "recipient_absent" || len(f.Trigger) != 1 || f.Trigger[0] != "q" || !strings.Contains(f.Message, "nobody") {
				t.Errorf("ann was told %s", ann.last())
			}
			bob.until(`"q"`)
			ann.send(say(p, "r", "ann", `["nobody"]`, answerKind(p), `{"jsonrpc":"2.0","id":1,"result":{}}`, link(p, "z")))
			bob.until(`"r"`)
			ann.mark(bob)
			bob.mark(ann)
			for _, frame := range ann.seen {
				if strings.Contains(frame, "recipient_absent") && !strings.Contains(frame, `"q"`) {
					t.Errorf("ann was told %s", frame)
				}
			}
		})
	}
}

// A token's capabilities mean the same in every dialect.
func TestCapabilities(t *testing.T) {
	call := func(p, id, tool string) string {
		kind := kindOf(p, "tools/call")
		return say(p, id, "ann", `["bob"]`, kind, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`"}}`)
	}
	for _, caps := range []string{
		`["mcp/request:tools/call:read_*"]`,
		`[{"kind":"mcp/request","payload":{"method":"tools/call","params":{"name":"read_*"}}}]`,
	} {
		for _, p := range protocols {
			t.Run(p+" "+caps, func(t *testing.T) {
				h := open(t, gateway.Options{})
				bob := h.join("mcpx/v0.1", "bob")
				ann := h.join(p, "ann", caps)
				ann.send(call(p, "good", "read_file"))
				bob.until(`"good"`)
				for _, frame := range []string{
					call(p, "bad", "delete_all"),
					say(p, "list", "ann", `["bob"]`, kindOf(p, "tools/list"), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
					say(p, "note", "ann", "", kindOf(p, "notifications/x"), `{"jsonrpc":"2.0","method":"notifications/x"}`),
				} {
					ann.send(frame)
					f, err := ann.kind(wire.Failure).Fault()
					if err != nil || f.Code != "capability_violation" || len(f.Trigger) != 1 {
						t.Errorf("%s is answered with %s", frame, ann.last())
					}
				}
				bob.mark(ann)
				if s := strings.Join(bob.seen, "\n"); strings.Contains(s, `"bad"`) || strings.Contains(s, `"note"`) {
					t.Errorf("bob was given what ann may not say:\n%s", s)
				}
			})
		}
	}
}

func TestLimits(t *testing.T) {
	h := open(t, gateway.Options{MaxParticipants: 2, MaxTopics: 2})
	h.join("mcpx/v0.1", "one")
	two := h.join("mcpx/v0.1", "two")
	if status := h.tryDial("/ws?topic=t", h.mint("three", "t")); status != http.StatusServiceUnavailable {
		t.Errorf("a third in a room for two: %d", status)
	}
	h.join("mcpx/v0.1", "two") // its own seat it may take again
	two.closed()
	three := h.dial("/", nil) // names the room too late to be told before
	three.send(string(wire.AppendJoin(nil, "three", "t", h.mint("three", "t"))))
	if c := three.closed(); c.Code != 1008 || !strings.HasSuffix(c.Text, "is full") {
		t.Errorf("a third over mew: %v", c)
	}
	if status := h.tryDial("/ws?topic=u", h.mint("one", "u")); status != http.StatusSwitchingProtocols {
		t.Errorf("a second topic: %d", status)
	}
	// The second topic was left at once: it makes room for another.
	deadline := time.Now().Add(patience)
	for h.tryDial("/ws?topic=v", h.mint("one", "v")) != http.StatusSwitchingProtocols {
		if time.Now().After(deadline) {
			t.Fatal("an empty topic is never forgotten")
		}
	}
}

// tryDial returns the status of an upgrade, and hangs up.
func (h *house) tryDial(path, token string) int {
	h.t.Helper()
	ws, resp, err := websocket.DefaultDialer.Dial(h.ws(path), http.Header{"Authorization": {"Bearer " + token}})
	if resp == nil {
		h.t.Fatal(err)
	}
	if ws != nil {
		ws.Close()
	}
	return resp.StatusCode
}

// A seat taken from inside the process is like any other.
func TestLocal(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			h := open(t, gateway.Options{})
			caps, _ := wire.ParseCaps([]byte(`["mcp/*"]`))
			d := dialect(t, p)
			l, err := h.Attach("t", "inside", caps, d)
			if err != nil {
				t.Fatal(err)
			}
			read := func() *wire.Envelope {
				frame, err := l.Read()
				if err != nil {
					t.Fatal(err)
				}
				e, err := d.Decode(frame)
				if err != nil {
					t.Fatalf("%v: %s", err, frame)
				}
				return &e
			}
			if e := read(); e.Kind != wire.Greeting {
				t.Errorf("first is %s", e.Spelled)
			}
			bob := h.join("mcpx/v0.1", "bob")
			if e := read(); e.Kind != wire.Presence {
				t.Errorf("second is %s", e.Spelled)
			}
			l.Put([]byte(say(p, "q", "inside", `["bob"]`, callKind(p), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":`+hard+`}}`)))
			l.Flush()
			if e := bob.kind(wire.Request); !strings.Contains(string(e.Payload), hard) {
				t.Errorf("bob got %s", e.Payload)
			}
			if d.Echoes() {
				if e := read(); e.ID != "q" || e.From != "inside" {
					t.Errorf("its own frame came back as %+v", e)
				}
			}
			bob.send(say("mcpx/v0.1", "r", "bob", `["inside"]`, answerKind("mcpx/v0.1"), `{"jsonrpc":"2.0","id":1,"result":{}}`, link("mcpx/v0.1", "q")))
			if e := read(); e.Kind != wire.Response {
				t.Errorf("third is %s", e.Spelled)
			}
			l.Put([]byte(say(p, "x", "inside", "", "chat", `{"text":"not permitted"}`)))
			l.Put([]byte(say(p, "y", "bob", "", kindOf(p, "notifications/x"), `{"jsonrpc":"2.0","method":"notifications/x"}`)))
			if p != "mcp-x/v0" { // where chat is a kind
				if f, _ := read().Fault(); f.Code != "capability_violation" {
					t.Errorf("fault %+v", f)
				}
			} else if _, err := l.Read(); err != nil {
				t.Error(err)
			}
			if f, _ := read().Fault(); f.Code != "auth_violation" {
				t.Errorf("fault %+v", f)
			}
			h.join("mcpx/v0.1", "inside")
			_, err = l.Read()
			if c, ok := errors.AsType[*wire.CloseError](err); !ok || c.Code != 4001 {
				t.Errorf("replaced, read says %v", err)
			}
			if err := l.Put([]byte("{}")); err == nil {
				t.Error("put after the end")
			}
			l.Close(1000, "")
			bob.until(`"leave"`)
			bob.until(`"join"`)
		})
	}
}

// A seat that is served has its frames one at a time, is told when there is
// none left, and may answer at once; the rest is there to be read.
func TestLocalServe(t *testing.T) {
	h := open(t, gateway.Options{MaxQueue: 4096}) // bob may be slow to read what all the others cause
	l, err := h.Attach("t", "inside", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	var taking, idles atomic.Int32
	taken := 0
	take := func(frame []byte) error {
		if taking.Add(1) != 1 {
			t.Error("two frames are taken at one time")
		}
		defer taking.Add(-1)
		if taken++; strings.Contains(string(frame), `"enough"`) {
			return enough
		}
		if strings.Contains(string(frame), `"c`) {
			return l.Put([]byte(say("mcpx/v0.1", "again", "inside", `["bob"]`, "chat", `{"text":"x"}`)))
		}
		return nil
	}
	served := make(chan error)
	go func() { served <- l.Serve(take, func() { idles.Add(1) }) }()
	const guests, each = 4, 200
	var talking sync.WaitGroup
	bob := h.join("mcpx/v0.1", "bob")
	for g := range guests {
		carol := h.join("mcpx/v0.1", fmt.Sprint("carol", g))
		talking.Go(func() {
			for n := range each {
				carol.send(say("mcpx/v0.1", fmt.Sprint("c", n), fmt.Sprint("carol", g), `["inside"]`, "chat", `{"text":"x"}`))
			}
		})
	}
	for range guests * each {
		bob.until(`"again"`)
	}
	talking.Wait()
	bob.send(say("mcpx/v0.1", "enough", "bob", "", "chat", `{"text":"x"}`))
	if err := <-served; err != enough || idles.Load() == 0 || taken < guests*each+2 {
		t.Errorf("%v; idle %d times, %d frames taken", err, idles.Load(), taken)
	}
	bob.send(say("mcpx/v0.1", "later", "bob", "", "chat", `{"text":"x"}`))
	for frame := []byte(nil); !strings.Contains(string(frame), `"later"`); {
		if frame, err = l.Read(); err != nil {
			t.Fatal(err)
		}
	}
}

// A seat that is served loses nothing that was said before it was cut.
func TestLocalServedToTheEnd(t *testing.T) {
	h := open(t, gateway.Options{})
	l, err := h.Attach("t", "inside", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	h.join("mcpx/v0.1", "bob")
	l.Close(1001, "over")
	joined := 0
	err = l.Serve(func(frame []byte) error {
		joined += strings.Count(string(frame), `"join"`)
		return nil
	}, func() {})
	if c, ok := errors.AsType[*wire.CloseError](err); !ok || c.Code != 1001 || joined != 1 {
		t.Errorf("%v after %d frames of a join", err, joined)
	}
}

// One that never reads inside the process is cut like one outside.
func TestSlowLocal(t *testing.T) {
	h := open(t, gateway.Options{MaxQueue: 8})
	l, err := h.Attach("t", "inside", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	bob := h.join("mcpx/v0.1", "bob")
	for i := range 8 {
		bob.send(say("mcpx/v0.1", fmt.Sprint("c", i), "bob", "", "chat", `{"text":"x"}`))
	}
	bob.until(`"leave"`)
	for range 8 {
		if _, err := l.Read(); err != nil {
			t.Fatal(err)
		}
	}
	_, err = l.Read()
	if c, ok := errors.AsType[*wire.CloseError](err); !ok || c.Code != 1008 {
		t.Errorf("read says %v", err)
	}
	if _, err := h.Attach("t", "system", wire.Caps{}, dialect(t, "mcpx/v0.1")); err == nil {
		t.Error("an id of the gateway's own was given away")
	}
	if _, err := h.Attach("t/../u", "x", wire.Caps{}, dialect(t, "mcpx/v0.1")); err == nil {
		t.Error("a topic with a slash was opened")
	}
}

// Close says goodbye to everybody, seated or not, and lets nobody in any more.
func TestClose(t *testing.T) {
	h := open(t, gateway.Options{})
	seated, mew := h.join("mcpx/v0.1", "a"), h.join("mew/v0.4", "b")
	waiting := h.dial("/?space=t", nil)
	l, err := h.Attach("t", "c", wire.Caps{}, dialect(t, "mcp-x/v0"))
	if err != nil {
		t.Fatal(err)
	}
	codes := make(chan int)
	for _, g := range []*guest{seated, mew, waiting} {
		go func() { codes <- g.closed().Code }()
	}
	h.Gateway.Close()
	for range 3 {
		if code := <-codes; code != 1001 {
			t.Errorf("closed with %d", code)
		}
	}
	for err = nil; err == nil; {
		_, err = l.Read()
	}
	if c, ok := errors.AsType[*wire.CloseError](err); !ok || c.Code != 1001 {
		t.Errorf("inside: %v", err)
	}
	if status := h.tryDial("/ws?topic=t", h.mint("a", "t")); status != http.StatusServiceUnavailable {
		t.Errorf("joined a closed gateway: %d", status)
	}
	if _, err := h.Attach("t", "c", wire.Caps{}, dialect(t, "mcp-x/v0")); err == nil {
		t.Error("attached to a closed gateway")
	}
}

// One that says much in one breath costs a seat in this process its place no
// more than one on the network.
func TestBurstOverLocal(t *testing.T) {
	const burst = 5000
	h := open(t, gateway.Options{MaxQueue: 16})
	l, err := h.Attach("t", "inside", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	bob := h.join("mcpx/v0.1", "bob")
	var frames strings.Builder
	for i := range burst {
		frames.WriteString(masked(0x81, say("mcpx/v0.1", fmt.Sprint("c", i), "bob", "", "chat", `{"text":"x"}`)))
	}
	go bob.ws.NetConn().Write([]byte(frames.String()))
	for i := 0; i < burst; {
		frame, err := l.Read()
		if err != nil {
			t.Fatalf("after %d frames: %v", i, err)
		}
		if strings.Contains(string(frame), `"chat"`) {
			i++
		}
	}
}

// What a seat says leaves now and then even if it never has to wait for
// something to read.
func TestLocalIsIdleWithoutAPause(t *testing.T) {
	h := open(t, gateway.Options{})
	l, err := h.Attach("t", "inside", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	again, taken := 0, 0
	for i := range 200 {
		if err := l.Put([]byte(say("mcpx/v0.1", fmt.Sprint("c", i), "inside", `["inside"]`, "chat", `{"text":"x"}`))); err != nil {
			t.Fatal(err)
		}
	}
	l.Serve(func([]byte) error {
		if taken++; taken == 200 {
			return errors.New("enough")
		}
		return nil
	}, func() { again++ })
	if again == 0 {
		t.Error("200 frames were taken without a pause")
	}
}

// Who takes a seat in this process while the gateway closes is turned away or cut: it is not left
// to wait for frames that nobody will send.
func TestWhoSitsDownInsideWhileTheGatewayClosesIsNotForgotten(t *testing.T) {
	for range 200 {
		g, err := gateway.New(gateway.Options{Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		var closing sync.WaitGroup
		var seats []*gateway.Local
		for {
			var l *gateway.Local
			if l, err = g.Attach("t", fmt.Sprint("p", len(seats)%8), wire.Caps{}, dialect(t, "mcpx/v0.1")); err != nil {
				break
			}
			if seats = append(seats, l); len(seats) == 8 {
				closing.Go(g.Close)
			}
		}
		closing.Wait()
		for _, l := range seats {
			for err := error(nil); err == nil; {
				_, err = l.Read()
			}
			l.Close(1000, "")
		}
	}
}
