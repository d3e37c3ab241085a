package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	realgateway "github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// Everything real: a gateway, the bridge, a server, a caller with 64 calls in
// flight. The server is killed, the link between bridge and gateway is cut,
// and both at once. Each call has its own argument, and the server writes down
// what it is given, so at the end every call can be accounted for:
//
//	a result          it ran once
//	executed "no"     it never ran
//	executed unknown  it ran once or never
//	no answer         it, or its answer, was on the link when that was cut; it ran once or never
//
// and no call has two answers, or ran twice.
func TestNoCallIsLostOrDoubledWhateverBreaks(t *testing.T) {
	calls := 10_000
	faults := []strike{kill, sever, kill, sever, kill | sever, sever, kill}
	if testing.Short() {
		calls, faults = 2000, []strike{kill, sever, kill | sever}
	}
	before := snapshot(t)
	c := newChaos(t, calls)
	c.work(64)
	for i, f := range faults {
		c.awaitDone((i + 1) * calls / (len(faults) + 1))
		c.strike(f)
	}
	c.workers.Wait()
	c.account()
	c.close()
	before.compare(t)
}

type strike uint8

const (
	kill  strike = 1 << iota // the server, with SIGKILL
	sever                    // the link to the gateway
)

// A chaos is one run: the parts, and what is known of each call.
type chaos struct {
	t       *testing.T
	side    *sidecar
	link    *proxy
	gateway *realgateway.Gateway
	door    *httptest.Server
	pids    string
	caller  *websocket.Conn
	reader  chan struct{} // closed when the caller reads no more

	workers sync.WaitGroup
	next    atomic.Int64

	writing sync.Mutex // held while the caller sends; taken before mu
	sent    int        // frames so far; guarded by writing

	mu    sync.Mutex
	calls []outcome     // guarded by mu, as all that follows
	done  int           // calls that have ended
	more  chan struct{} // closed, and made anew, when one has
	up    chan struct{} // closed while the server is up
}

// An outcome is what became of one call.
type outcome struct {
	answers  int
	code     int           // of an error
	executed string        // of an error
	lost     bool          // nobody will answer any more
	place    int           // among the frames sent, from 1; 0 before it is
	ended    chan struct{} // closed by the first answer, or when it is lost
}

func newChaos(t *testing.T, calls int) *chaos {
	c := &chaos{t: t, calls: make([]outcome, calls), more: make(chan struct{}), up: make(chan struct{}), reader: make(chan struct{}),
		pids: filepath.Join(t.TempDir(), "pids")}
	close(c.up)
	for i := range c.calls {
		c.calls[i].ended = make(chan struct{})
	}
	g, err := realgateway.New(realgateway.Options{Secret: []byte(strings.Repeat("s", 32))})
	if err != nil {
		t.Fatal(err)
	}
	token := func(id string) string {
		token, err := g.Mint(realgateway.Claims{ID: id, Topic: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	c.door = httptest.NewServer(g)
	c.gateway = g
	c.link = newProxy(t, c.door.Listener.Addr().String(), nil)
	c.side = launch{env: map[string]string{"MCPX_AUTH_TOKEN": token("fs")}, script: stdiotest.Script{Pids: c.pids},
		flags: []string{"--log-level", "error"}}.start(t, "ws://"+c.link.at.Addr().String())
	c.side.ready()
	c.side.await(`{"event":"server_up"}`)
	header := http.Header{"Authorization": {"Bearer " + token("bob")}}
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(c.door.URL, "http")+"/ws?topic=t1", header)
	if err != nil {
		t.Fatal(err)
	}
	c.caller = ws
	go c.read()
	return c
}

// read takes the answers.
func (c *chaos) read() {
	defer close(c.reader)
	for {
		_, frame, err := c.caller.ReadMessage()
		if err != nil {
			return
		}
		var m struct {
			Corr    string `json:"correlation_id"`
			Payload struct {
				Error *struct {
					Code int
					Data struct{ Executed string }
				}
			}
		}
		var n int
		if json.Unmarshal(frame, &m) != nil || m.Corr == "" {
			continue // a welcome, or a presence
		}
		c.mu.Lock()
		if _, err := fmt.Sscanf(m.Corr, "call-%d", &n); err != nil {
			c.giveUp(m.Corr)
			c.mu.Unlock()
			continue
		}
		o := &c.calls[n]
		o.answers++
		if e := m.Payload.Error; e != nil {
			o.code, o.executed = e.Code, e.Data.Executed
		}
		if o.answers == 1 && !o.lost {
			c.end(o)
		}
		c.mu.Unlock()
	}
}

// giveUp hears the answer to a probe. It is called with mu held, as is end.
func (c *chaos) giveUp(probe string) {
	var place int
	if _, err := fmt.Sscanf(probe, "probe-%d", &place); err != nil {
		c.t.Errorf("an answer to %s, which nobody asked", probe)
		return
	}
	for i := range c.calls {
		if o := &c.calls[i]; o.place != 0 && o.place < place && o.answers == 0 && !o.lost {
			o.lost = true
			c.end(o)
		}
	}
}

func (c *chaos) end(o *outcome) {
	close(o.ended)
	c.done++
	close(c.more)
	c.more = make(chan struct{})
}

// work makes calls, so many at a time.
func (c *chaos) work(inFlight int) {
	for range inFlight {
		c.workers.Go(func() {
			for {
				n := int(c.next.Add(1)) - 1
				if n >= len(c.calls) {
					return
				}
				c.call(n)
			}
		})
	}
}

// call makes one call and waits until it has ended. One that was refused
// because the server is away waits until it is back, as its answer says to.
func (c *chaos) call(n int) {
	o := &c.calls[n]
	c.send(o, fmt.Sprintf("call-%d", n), call("1", "read_file", fmt.Sprintf(`{"path":"/call-%d/"}`, n)))
	<-o.ended
	c.mu.Lock()
	up, away := c.up, o.code == -31007
	c.mu.Unlock()
	if away {
		<-up
	}
}

// send puts a frame in its place on the caller's connection. o is nil for a
// probe, whose envelope is named after its place.
func (c *chaos) send(o *outcome, env, payload string) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.sent++
	if o == nil {
		env = fmt.Sprintf("%s-%d", env, c.sent)
	} else {
		c.mu.Lock()
		o.place = c.sent
		c.mu.Unlock()
	}
	if err := c.caller.WriteMessage(websocket.TextMessage, []byte(d1.request(env, "bob", "fs", payload))); err != nil {
		c.t.Errorf("the gateway does not take %s: %v", env, err)
	}
}

// awaitDone waits until so many calls have ended.
func (c *chaos) awaitDone(n int) {
	c.t.Helper()
	late := time.After(patience)
	for {
		c.mu.Lock()
		done, more := c.done, c.more
		c.mu.Unlock()
		if done >= n {
			return
		}
		select {
		case <-more:
		case <-late:
			c.t.Fatalf("after %d of %d calls nothing goes on\n%s", done, n, c.side.about())
		}
	}
}

// strike breaks something and waits until it has mended itself.
func (c *chaos) strike(f strike) {
	c.t.Helper()
	from := c.side.events.mark()
	if f&kill != 0 {
		c.mu.Lock()
		c.up = make(chan struct{})
		c.mu.Unlock()
	}
	if f&sever != 0 {
		c.link.cut()
	}
	if f&kill != 0 {
		c.killServer()
		c.side.await(`{"event":"server_up"}`)
		c.mu.Lock()
		close(c.up)
		c.mu.Unlock()
	}
	if f&sever != 0 {
		c.side.events.back(from) // which of the two came first does not matter
		c.side.await(`{"event":"reconnected"}`)
		c.probe()
	}
}

func (c *chaos) killServer() {
	c.t.Helper()
	pids := stdiotest.Pids(c.t, c.pids)
	p, err := os.FindProcess(pids[len(pids)-1])
	if err == nil {
		err = p.Kill()
		p.Release() // it holds a descriptor
	}
	if err != nil {
		c.t.Fatalf("the server cannot be killed: %v", err)
	}
}

// probe asks something that goes all the way to the server and back, behind
// everything that was sent before it. When its answer is there, what was sent
// before and has no answer will have none: a caller would time out.
func (c *chaos) probe() {
	c.send(nil, "probe", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
}

// account holds what became of each call against what the server was given.
func (c *chaos) account() {
	ran := map[string]int{}
	for _, line := range c.side.given("tools/call") {
		_, after, _ := strings.Cut(line, `"path":"/`)
		env, _, _ := strings.Cut(after, "/")
		ran[env]++
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	tally := map[string]int{}
	for n := range c.calls {
		o, env := &c.calls[n], fmt.Sprintf("call-%d", n)
		what, least, most := o.meaning()
		tally[what]++
		if times := ran[env]; times < least || times > most {
			c.t.Errorf("%s ended with %s and was given to the server %d times", env, what, times)
		}
		if o.answers > 1 || o.lost && o.answers > 0 {
			c.t.Errorf("%s has %d answers (given up: %v)", env, o.answers, o.lost)
		}
		delete(ran, env)
	}
	if len(ran) != 0 {
		c.t.Errorf("the server was given what nobody called: %v", ran)
	}
	if tally["a result"] < len(c.calls)/2 {
		c.t.Errorf("most calls fail: %v", tally)
	}
	c.t.Logf("%d calls: %v", len(c.calls), tally)
}

// meaning is what an outcome says, and how often the call may have run then.
func (o *outcome) meaning() (what string, least, most int) {
	switch {
	case o.lost:
		return "no answer", 0, 1
	case o.code == 0:
		return "a result", 1, 1
	case o.executed == "no" && (o.code == -31007 || o.code == -31005):
		return fmt.Sprint(o.code), 0, 0
	case o.executed == "unknown" && o.code == -31008:
		return fmt.Sprint(o.code), 0, 1
	}
	return fmt.Sprintf("an error that is not documented: %d, executed %q", o.code, o.executed), 0, -1
}

// close ends everything.
func (c *chaos) close() {
	if code := c.side.finish(); code != 0 {
		c.t.Errorf("exit %d\n%s", code, c.side.about())
	}
	for _, pid := range stdiotest.Pids(c.t, c.pids) {
		awaitGone(c.t, pid)
	}
	c.caller.Close()
	<-c.reader
	c.link.close()
	c.gateway.Close()
	c.door.Close()
}

// A proxy is the link between bridge and gateway: it passes bytes on, as its
// mood is, until it is cut.
type proxy struct {
	at      net.Listener
	to      string
	mood    mood // nil: at once and as they are
	running sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // guarded by mu; both ends of every connection that is open
}

func newProxy(t *testing.T, to string, m mood) *proxy {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{at: at, to: to, mood: m}
	p.running.Go(func() {
		for {
			conn, err := at.Accept()
			if err != nil {
				return
			}
			p.pass(conn)
		}
	})
	return p
}

func (p *proxy) pass(near net.Conn) {
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		near.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, near, far)
	p.mu.Unlock()
	carry := plainly
	if p.mood != nil {
		carry = p.mood(func() { near.Close(); far.Close() })
	}
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		p.running.Go(func() {
			carry(struct{ io.Writer }{way[0]}, way[1], way[0] == near)
			way[0].Close()
		})
	}
}

// plainly ends when either end is closed. Two TCP connections would be spliced
// through pipes which the runtime keeps for next time.
func plainly(to io.Writer, from io.Reader, _ bool) { _, _ = io.Copy(to, from) }

// cut ends every connection without a word.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

func (p *proxy) close() {
	p.at.Close()
	p.cut()
	p.running.Wait()
}

// What must be the same before and after.
type state struct {
	goroutines goleak.Option
	files      []string
}

func snapshot(t *testing.T) state {
	t.Helper()
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil { // the runtime opens its poller with the first one
		l.Close()
	}
	return state{goleak.IgnoreCurrent(), openFiles()}
}

// openFiles names what our descriptors stand for; nothing where the system does
// not say.
func openFiles() (files []string) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if name, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // the one of ReadDir is closed by now
			files = append(files, e.Name()+" "+name)
		}
	}
	return files
}

func (s state) compare(t *testing.T) {
	t.Helper()
	if err := goleak.Find(s.goroutines); err != nil { // it waits a little by itself
		t.Error(err)
	}
	for late := time.Now().Add(patience); len(openFiles()) > len(s.files); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Errorf("descriptors are left:\n%s\nbefore:\n%s", strings.Join(openFiles(), "\n"), strings.Join(s.files, "\n"))
			return
		}
	}
}
