package stdio

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

const mark = "mcpx0f0fn"

// A client is the host of a server, at the other ends of its pipes.
type client struct {
	*session
	in       *os.File // what it writes to
	out      *os.File // what it reads from
	lines    *bufio.Reader
	occupied atomic.Bool
}

// host begins a session with a server that belongs to a client.
func host(t *testing.T, argv []string, change func(*Options)) *client {
	t.Helper()
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{in: in, out: out, lines: bufio.NewReaderSize(out, 1<<20)}
	o := quick(argv)
	o.Host = &Host{In: theirIn, Out: theirOut, IDPrefix: mark, Occupied: c.occupied.Load, Patience: 300 * time.Millisecond}
	if change != nil {
		change(&o)
	}
	c.session = begin(t, o)
	t.Cleanup(func() { in.Close(); out.Close() })
	return c
}

func (c *client) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Fatal(err)
	}
}

// hears reads one line and compares it.
func (c *client) hears(want string) {
	c.t.Helper()
	c.out.SetReadDeadline(time.Now().Add(patience))
	got, err := c.lines.ReadString('\n')
	if err != nil || got != want+"\n" {
		c.t.Fatalf("the client heard %.300q (%v), want %.300q", got, err, want)
	}
}

// hearsNothing shows that nothing came, by a ping after it.
func (c *client) hearsNothing() {
	c.t.Helper()
	c.say(`{"jsonrpc":"2.0","id":"still there?","method":"ping"}` + "\n")
	c.hears(`{"jsonrpc":"2.0","id":"still there?","result":{}}`)
}

const helloLegacy = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`

func (c *client) greets() {
	c.t.Helper()
	c.say(helloLegacy + "\n")
	c.out.SetReadDeadline(time.Now().Add(patience))
	if got, err := c.lines.ReadString('\n'); err != nil || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"`) {
		c.t.Fatalf("initialize was answered with %q (%v)", got, err)
	}
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
}

// odd is what must cross as it is.
func odd() string {
	return strings.Join([]string{
		`{"jsonrpc":"2.0","id":7,"method":"test/echo","params":{"b":1,"a":1.0,"n":9007199254740993}}`,
		`{ "id" :	"7" , "method":"x","jsonrpc":"2.0", "params" : {"html":"<b>&amp;\u003c", "u":"` + "\u2028" + `\u2028" } }` + "\r",
		``, ` `, "\r",
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}`,
		`not JSON`, "\xff\xfe\x00", "\ufeff{}", `{"half":`,
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("y", 8<<20) + `","result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/x","params":"` + strings.Repeat("z", 10<<20) + `"}`,
		strings.Repeat("é", 64<<9), strings.Repeat("w", 64<<10-1), strings.Repeat("w", 64<<10),
		`{"jsonrpc":"2.0","id":0,"result":{"text":"` + mark + `"}}`,
		"the last has no end",
	}, "\n")
}

func TestHostAndServerAreOneByteForByte(t *testing.T) {
	want := odd()
	for _, piece := range []int{1 << 30, 100 << 10, 9973} {
		c := host(t, []string{"cat"}, func(o *Options) { o.Host.Patience, o.Stop.Drain, o.MaxLine = patience, patience, 9<<20 }) // a mebibyte is in the pipe when cat ends
		go func() {
			for text := []byte(want); len(text) > 0; {
				n := min(piece, len(text))
				c.in.Write(text[:n])
				text = text[n:]
			}
			c.in.Close()
		}()
		got, err := io.ReadAll(c.out)
		if err != nil || string(got) != want {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Fatalf("in pieces of %d: of %d bytes %d came, the first wrong one is %d: %.80q, want %.80q (%v)", piece, len(want), len(got), at, got[at:], want[at:], err)
		}
		if err := c.finished(); err != nil {
			t.Error(err)
		}
		if x := c.down(); x.Code != 0 || x.Cause != CauseHostLeft && x.Cause != CauseExit {
			t.Errorf("exit: %+v", x)
		}
	}
}

func TestOthersTalkBesideTheHost(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), nil)
	if err := c.server.Put([]byte(`{}`)); err != ErrDown {
		t.Errorf("before the handshake Put returns %v", err)
	}
	c.greets()
	if h := c.up(); h.Revision != "2025-06-18" || h.Modern || !bytes.Contains(h.ServerInfo, []byte("stdiotest")) {
		t.Errorf("hello: %+v", h)
	}
	c.put(`{"jsonrpc":"2.0","id":"` + mark + `1","method":"test/echo","params":{"a":1}}`)
	if got := c.next("message").text; got != `{"jsonrpc":"2.0","id":"`+mark+`1","result":{"a":1}}` {
		t.Errorf("ours: %s", got)
	}
	c.hearsNothing()
	c.put(`{"jsonrpc":"2.0","id":"` + mark + `2","method":"tools/call","params":{"name":"progress","arguments":{"n":2},"_meta":{"progressToken":"` + mark + `2"}}}`)
	for range 3 {
		if got := c.next("message").text; !strings.Contains(got, mark) {
			t.Errorf("ours: %s", got)
		}
	}
	c.hearsNothing()
	c.put(`{"jsonrpc":"2.0","id":"` + mark + `3","method":"tools/call","params":{"name":"raw","arguments":{"text":"{\"id\":$ID,\"result\":\n"}}}`)
	if got := c.next("noise").noise; string(got.ID) != `"`+mark+`3"` {
		t.Errorf("what we cannot read: %+v", got)
	}
	c.hearsNothing()

	// The mark in what somebody else says takes nothing from the host.
	c.say(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"raw","arguments":{"text":"{\"id\":$ID,\"result\":\"` + mark + `\n"}}}` + "\n")
	c.hears(`{"id":7,"result":"` + mark)

	// What the server tells is for both.
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notify","arguments":{"kind":"list_changed"}}}` + "\n")
	c.hears(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	if got := c.next("message").text; got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("ours: %s", got)
	}
	c.hears(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`)
}

func TestQuestionsOfTheServer(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), nil)
	c.greets()
	c.up()
	ask := func(method string) {
		c.say(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ask","arguments":{"id":"0","method":"` + method + `","params":{"x":1}}}}` + "\n")
	}
	question := `{"jsonrpc":"2.0","id":"0","method":"%s","params":{"x":1}}`
	for _, method := range []string{"elicitation/create", "sampling/createMessage", "roots/list", "ping"} {
		ask(method)
		c.hears(fmt.Sprintf(question, method))
		c.say(`{"jsonrpc":"2.0","id":"0","result":{"a":1}}` + "\n")
		c.hears(`{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"{\"jsonrpc\":\"2.0\",\"id\":\"0\",\"result\":{\"a\":1}}"}]}}`)
	}
	c.occupied.Store(true)
	for _, method := range []string{"elicitation/create", "sampling/createMessage"} {
		ask(method)
		if got := c.next("message").text; got != fmt.Sprintf(question, method) {
			t.Errorf("ours: %s", got)
		}
		c.hearsNothing()
	}
	ask("roots/list")
	c.hears(fmt.Sprintf(question, "roots/list"))
}

func TestTheHandshakeOfTheHostIsHeard(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	discover := `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + meta + `}}` + "\n"
	list := `{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{` + meta + `}}` + "\n"
	init := helloLegacy + "\n"
	done := `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	ping := `{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n"
	for name, test := range map[string]struct {
		era    string
		says   []string // each is answered before the next, but for notifications
		modern bool
		met    bool
	}{
		"initialize":             {"", []string{init, done}, false, true},
		"no initialized":         {"", []string{init, `{"jsonrpc":"2.0","id":"l","method":"tools/list"}` + "\n"}, false, true},
		"all at once":            {"", []string{init + done}, false, true},
		"not yet":                {"", []string{init, ping}, false, false},
		"discover":               {"modern", []string{discover}, true, true},
		"modern, no discover":    {"modern", []string{list}, true, true},
		"discover is refused":    {"", []string{discover, init, done}, false, true},
		"initialize is refused":  {"modern", []string{init, discover}, true, true},
		"refused and that is it": {"modern", []string{init, done}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := host(t, stdiotest.Command(t, stdiotest.Script{Era: test.era}), nil)
			for _, line := range test.says {
				c.say(line)
				if line != done {
					c.out.SetReadDeadline(time.Now().Add(patience))
					if got, err := c.lines.ReadString('\n'); err != nil || strings.Contains(got, mark) {
						t.Fatalf("the client heard %q (%v)", got, err)
					}
				}
			}
			if !test.met {
				c.say(ping)
				if _, err := c.lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				if got := c.all(); len(got) != 0 {
					t.Errorf("told %s", c.diary)
				}
				return
			}
			if h := c.up(); h.Modern != test.modern || h.Modern != (h.Meta != nil) || h.Result == nil || h.PID == 0 {
				t.Errorf("hello: %+v", h)
			}
		})
	}
}

// What a client says of itself may have pictures in it.
func TestALongGreetingOfTheHostIsHeard(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), nil)
	c.say(strings.Replace(helloLegacy, `"name":"c"`, `"icons":[{"src":"data:image/png;base64,`+strings.Repeat("A", chunk)+`"}],"name":"c"`, 1) + "\n")
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	if h := c.up(); h.Revision != "2025-06-18" {
		t.Errorf("hello: %+v", h)
	}
}

// A server is up once, however often it answers our question.
func TestASecondAnswerToOurDiscoveryIsNoSecondHello(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	c := host(t, stdiotest.Command(t, stdiotest.Script{Era: "modern"}), nil)
	c.say(`{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{` + meta + `}}` + "\n")
	if _, err := c.lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	c.up()
	again := `{\"jsonrpc\":\"2.0\",\"id\":\"` + mark + `0\",\"result\":{}}\n`
	c.say(`{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"name":"raw","arguments":{"text":"` + again + `"},` + meta + `}}` + "\n")
	c.say(`{"jsonrpc":"2.0","id":"e","method":"test/echo","params":{` + meta + `}}` + "\n")
	c.hears(`{"jsonrpc":"2.0","id":"e","result":{` + meta + `}}`)
	for _, e := range c.all()[1:] {
		if e.what == "up" {
			t.Errorf("told %s", c.diary)
		}
	}
}

func TestHostThatLeavesTakesTheServerAlong(t *testing.T) {
	for name, test := range map[string]struct {
		script stdiotest.Script
		leave  func(*client)
		code   int
	}{
		"end of input":       {stdiotest.Script{}, func(c *client) { c.in.Close() }, 0},
		"its end is ignored": {stdiotest.Script{IgnoreEOF: true, IgnoreTerm: true}, func(c *client) { c.in.Close() }, -1},
		"nobody reads":       {stdiotest.Script{Flood: -1, IgnoreEOF: true}, func(c *client) { c.out.Close() }, -1},
		"told to stop":       {stdiotest.Script{IgnoreEOF: true}, func(c *client) { c.stop() }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			log, text := logged()
			c := host(t, stdiotest.Command(t, test.script), func(o *Options) { o.Log = log })
			c.greets()
			pid := c.up().PID
			test.leave(c)
			if err := c.finished(); err != nil {
				t.Error(err)
			}
			if said := text(); test.code == 0 && strings.Contains(said, "WARN") {
				t.Errorf("an end that is none to worry about: %s", said)
			}
			if x := c.down(); x.Code != test.code || x.Restarting {
				t.Errorf("exit: %+v", x)
			}
			wantGone(t, pid)
		})
	}
}

// A client that closed its end, and two seconds later told the bridge to end, was not heard while
// the server had its time to go on: it killed the bridge then.
func TestWhoseHostHasLeftIsToldToStop(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{IgnoreEOF: true}), func(o *Options) { o.Host.Patience = 10 * patience })
	c.greets()
	pid := c.up().PID
	c.in.Close()
	poll(t, "the end of its input", func() bool {
		err := c.server.Put([]byte(`{"jsonrpc":"2.0","method":"x"}`))
		c.server.Flush()
		return err == ErrDown
	})
	c.stop()
	if err := c.finished(); err != nil {
		t.Error(err)
	}
	c.wantCause(CauseHostLeft)
	wantGone(t, pid)
}

func TestServerThatEndsIsNotStartedAgain(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), nil)
	c.greets()
	c.up()
	c.server.Restart("never")
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crash","arguments":{"code":41}}}` + "\n")
	if rest, err := io.ReadAll(c.lines); err != nil || len(rest) > 0 {
		t.Errorf("the client heard %q (%v)", rest, err)
	}
	if err := c.finished(); err != nil {
		t.Error(err)
	}
	if x := c.wantCause(CauseExit); x.Code != 41 || x.Restarting {
		t.Errorf("exit: %+v", x)
	}
}

func TestStderrGoesOnAsItIs(t *testing.T) {
	var errs bytes.Buffer
	c := host(t, stdiotest.Command(t, stdiotest.Script{Stderr: []string{"\x1b[31mred", "  and so on\r"}}), func(o *Options) { o.Host.Errors = &errs })
	c.in.Close()
	c.finished()
	if got := errs.String(); got != "\x1b[31mred\n  and so on\r\n" {
		t.Errorf("stderr: %q", got)
	}
}

// A server that does not read makes its client wait, and is not killed for it;
// others are told that they are too many.
func TestServerThatDoesNotReadIsWaitedFor(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), func(o *Options) { o.QueuedBytes = 1 << 20; o.MaxLine = 1 << 19 })
	c.greets()
	c.up()
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop_reading"}}` + "\n")
	line := []byte(`{"jsonrpc":"2.0","id":9,"method":"test/echo","params":"` + strings.Repeat("y", 100<<10) + `"}` + "\n")
	c.in.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	for {
		if _, err := c.in.Write(line); err != nil {
			break // it waits
		}
	}
	var err error
	for range 100 {
		if err = c.server.Put(bytes.TrimSpace(line)); err != nil {
			break
		}
		c.server.Flush()
	}
	if err == nil {
		t.Error("any number of lines are taken for a server that does not read")
	}
	for _, e := range c.all() {
		if e.what == "down" {
			t.Errorf("the server was stopped: %s", e.exit)
		}
	}
}

// What has reached the server is never said not to have, however much of the
// host's still waits behind it.
func TestLinesOfTheHostAreNotTakenForUnsentOnes(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), func(o *Options) { o.QueuedBytes = 1 << 20; o.MaxLine = 1 << 19 })
	c.greets()
	pid := c.up().PID
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop_reading"}}` + "\n")
	c.put(`{"jsonrpc":"2.0","id":"` + mark + `7","method":"tools/call","params":{"name":"echo"}}`)
	line := []byte(`{"jsonrpc":"2.0","id":9,"method":"test/echo","params":"` + strings.Repeat("y", 100<<10) + `"}` + "\n")
	c.in.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	for {
		if _, err := c.in.Write(line); err != nil {
			break // it waits
		}
	}
	server, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if x := c.down(); x.Unsent != 0 {
		t.Errorf("%d lines are said not to have left; one was put, long before", x.Unsent)
	}
}

// A host in the middle of a line longer than what is taken at once keeps its
// server, though we cannot ask that anything.
func TestALongLineOfTheHostCostsItNoServer(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":"first","result":{}}`
	c := host(t, []string{"sh", "-c", "head -c 200000 >/dev/null; echo '" + answer + "'; exec cat"}, func(o *Options) { o.MaxLine = 100 << 10 })
	c.say(`{"jsonrpc":"2.0","id":"first","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}` + "\n" +
		strings.Repeat("x", 300<<10))
	c.hears(answer)
	if h := c.up(); !h.Modern || h.Revision != "2026-07-28" {
		t.Errorf("hello: %+v", h)
	}
	c.say("\nstill there\n")
	for {
		c.out.SetReadDeadline(time.Now().Add(patience))
		line, err := c.lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the client heard no more than %.100q (%v)", line, err)
		}
		if line == "still there\n" {
			break
		}
	}
}

// What a server that dies had begun to say to us is not for the host.
func TestHalfAnAnswerToUsIsNotTheHosts(t *testing.T) {
	for _, half := range []string{`{"jsonrpc":"2.0","id":"` + mark + `1","result":{"x":"`, `{"jsonrpc":"2.0","id":"` + mark + `1","result":{"x":"` + strings.Repeat("x", 300<<10)} {
		c := host(t, []string{"sh", "-c", `echo hello; read line; printf %s "$line"; exit 3`}, func(o *Options) { o.MaxLine = 100 << 10 })
		c.hears("hello")
		go io.WriteString(c.in, half+"\n") // which may end with the server
		if rest, err := io.ReadAll(c.lines); err != nil || len(rest) > 0 {
			t.Errorf("the client heard %.100q (%v)", rest, err)
		}
		if err := c.finished(); err != nil {
			t.Error(err)
		}
	}
}
