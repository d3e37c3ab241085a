package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	realgateway "github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// A hundred calls of others wait for alice at one time, whose client puts them
// to her a few at a time, while a hundred calls of her own are under way.
func TestAHundredApprovalsByWayOfAClient(t *testing.T) {
	const guests, each = 20, 5 // half of them at either bridge, which asks one person 50 things at most
	g, err := realgateway.New(realgateway.Options{Secret: []byte(strings.Repeat("s", 32))})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(g)
	t.Cleanup(func() {
		g.Close()
		door.Close()
	})
	url := "ws" + strings.TrimPrefix(door.URL, "http")
	token := func(id string) string {
		token, err := g.Mint(realgateway.Claims{ID: id, Topic: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	rules := filepath.Join(t.TempDir(), "policy.yaml")
	text := "version: 1\ndefault: allow\nasks:\n  default: {of: [alice], within: 5m}\nrules:\n  - {name: writes, ask: [write_file]}\n"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var bridges []*sidecar
	for _, id := range []string{"fs", "fs2"} {
		b := launch{id: id, env: map[string]string{"MCPX_AUTH_TOKEN": token(id)}, rules: []string{"--policy", rules}}.start(t, url)
		b.ready()
		bridges = append(bridges, b)
	}
	alice := openClient(t, url, token("alice"))

	var answered sync.WaitGroup
	answered.Add(guests * each)
	for i := range guests {
		id := fmt.Sprintf("guest%d", i)
		guest := sit(t, url, d1, id, token(id), func(_ *guest, frame []byte) {
			if strings.Contains(string(frame), `"to":["`+id+`"]`) && strings.Contains(string(frame), `"wrote 1 bytes to`) {
				answered.Done()
			}
		})
		for n := range each {
			guest.send(d1.request(guest.fresh(), id, []string{"fs", "fs2"}[i%2], fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/%s-%d","content":"x"}}}`, n, id, n)))
		}
	}
	for i := range guests * each {
		alice.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"fs__read_file","arguments":{"path":"/%d"}}}`, i, i))
	}
	served := make(chan struct{})
	go func() {
		alice.serveUntil(guests*each, guests*each)
		close(served)
		alice.serveOn() // a question may be put twice, where the call that showed it ended first
	}()
	answered.Wait()
	<-served
	if n := bridges[0].ran() + bridges[1].ran(); n != 2*guests*each {
		t.Errorf("the servers were given %d calls", n)
	}
	alice.close()
}

// A desktopClient is a client of serve, at the other end of its pipes.
type desktopClient struct {
	t    *testing.T
	in   *os.File
	out  *bufio.Scanner
	said *diary // on its stderr
	exit chan int
}

// openClient starts serve for alice, in this process, and shakes hands.
func openClient(t *testing.T, url, token string, flags ...string) *desktopClient {
	t.Helper()
	return greet(t, url, token, `{"elicitation":{}}`, flags...)
}

// greet is openClient for a client that can do something else.
func greet(t *testing.T, url, token, capabilities string, flags ...string) *desktopClient {
	t.Helper()
	stdin, in := filePipe(t)
	out, stdout := filePipe(t)
	c := &desktopClient{t: t, in: in, out: bufio.NewScanner(out), said: newDiary(), exit: make(chan int, 1)}
	c.out.Buffer(nil, 1<<20)
	world := env{stdin: stdin, stdout: stdout, stderr: c.said, environ: os.Environ,
		getenv: launch{env: map[string]string{"MCPX_AUTH_TOKEN": token}}.getenv(t)}
	ctx, cancel := context.WithCancelCause(context.Background())
	t.Cleanup(func() { cancel(errSignalled) })
	go func() {
		c.exit <- run(ctx, append([]string{"serve", "--gateway", url, "--topic", "t1", "--id", "alice"}, flags...), world)
		stdout.Close()
	}()
	c.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` + capabilities + `,"clientInfo":{"name":"t","version":"1"}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	for c.out.Scan() && !strings.Contains(c.out.Text(), `"id":"list"`) {
	}
	return c
}

func filePipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

func (c *desktopClient) send(line string) {
	c.t.Helper()
	if _, err := c.in.WriteString(line + "\n"); err != nil {
		c.t.Fatal(err)
	}
}

// serveUntil allows what the client is asked, and keeps a call under way in
// which it can be, until it was asked and answered so often.
func (c *desktopClient) serveUntil(asked, answered int) {
	c.t.Helper()
	turn := 0
	for c.out.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
		}
		if err := json.Unmarshal(c.out.Bytes(), &m); err != nil {
			c.t.Fatalf("%v in %s", err, c.out.Text())
		}
		switch {
		case m.Method == "elicitation/create":
			asked--
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":"allow"}}}`, m.ID))
		case m.Method == "" && m.ID[0] != '"':
			answered--
		}
		if asked > 0 && (turn == 0 || string(m.ID) == fmt.Sprintf(`"turn-%d"`, turn)) {
			turn++
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"turn-%d","method":"tools/call","params":{"name":"mcpx_approvals"}}`, turn))
		}
		if asked <= 0 && answered <= 0 {
			return
		}
	}
	c.t.Fatalf("serve says nothing more; %d questions and %d answers are to come", asked, answered)
}

// serveOn allows what the client is asked until serve ends.
func (c *desktopClient) serveOn() {
	ask := func(turn int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"more-%d","method":"tools/call","params":{"name":"mcpx_approvals"}}`, turn) + "\n"
	}
	turn := 0
	c.in.WriteString(ask(turn))
	for c.out.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(c.out.Bytes(), &m) != nil {
			return
		}
		if m.Method == "elicitation/create" {
			c.in.WriteString(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":"allow"}}}`, m.ID) + "\n")
		}
		if string(m.ID) == fmt.Sprintf(`"more-%d"`, turn) {
			turn++
			c.in.WriteString(ask(turn))
		}
	}
}

// close ends the client's input, upon which serve must end.
func (c *desktopClient) close() {
	c.t.Helper()
	c.in.Close()
	if code := <-c.exit; code != 0 {
		c.t.Errorf("serve exits with %d", code)
	}
}
