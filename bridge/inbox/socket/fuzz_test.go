package socket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// Whatever is said at the door, nobody decides who does not repeat the digest
// of what was shown, and the next guest is served.
func FuzzDoor(f *testing.F) {
	post := func(head, body string) string {
		return fmt.Sprintf("POST /questions/$ID/answer HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", head, len(strings.ReplaceAll(body, "$DIGEST", strings.Repeat("x", 64))), body)
	}
	for _, text := range []string{
		post("", `{"digest":"$DIGEST","result":`+yes+`}`), post("", `{"digest":"","result":`+yes+`}`), post("", `{"digest":"$DIGEST","Digest":"x","result":`+yes+`}`),
		post("Transfer-Encoding: chunked\r\n", "5\r\n{\"a\":\r\n0\r\n\r\n"), post("Expect: 100-continue\r\n", "{}"), "GET /watch HTTP/1.1\r\nHost: x\r\n\r\nGET /watch HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /questions?args=true HTTP/1.1\r\nHost: x\r\n\r\n", "GET /questions/%2f..%00 HTTP/1.0\r\n\r\n", "DELETE /grants/x HTTP/1.1\r\nHost: x\r\n\r\n", "GET /questions/ HTTP/1.1\r\n\r\n",
		`{"jsonrpc":"2.0","id":1,"method":"decide","params":{"id":"$ID","digest":"$DIGEST","result":` + yes + `}}` + "\n", "\r\n\r\n", "\x00\xff\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add(text)
	}
	h := inboxtest.New("fs")
	path := h.Open(f, filepath.Join(f.TempDir(), "c")).Path()
	n := 0
	f.Fuzz(func(t *testing.T, text string) {
		n++ // whose calls were denied three times is not asked about for a while
		q := inboxtest.Write(`{"path":"/"}`)
		q.Caller = fmt.Sprint("agent-", n)
		id := h.Ask(q)
		v, ok := h.Question(id)
		if !ok {
			t.Fatal("the question is not there")
		}
		whole := strings.ReplaceAll(strings.ReplaceAll(text, "$ID", id), "$DIGEST", v.Digest)
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		io.WriteString(conn, whole) // the door may have been shut
		conn.(*net.UnixConn).CloseWrite()
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%q: the door stays open", text)
		}
		if _, err := socket.Dial(t.Context(), path); err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		if _, pending := h.Question(id); !pending && !(strings.Contains(text, "$ID") && strings.Contains(text, "$DIGEST")) {
			t.Errorf("%q decides", text)
		}
		h.Withdraw(id)
		select {
		case <-h.Settled:
		case <-time.After(20 * time.Second):
			t.Error("the question never ends")
		}
	})
}

// Whatever is behind a door, who knocks has an answer or an error, and goes on.
func FuzzClient(f *testing.F) {
	for _, text := range []string{
		answer("application/json", `{"id":"fs"}`), answer("application/json", `{"questions":[{"id":"a"}]}`), answer("text/event-stream", ": watching\n\ndata: {}\n\ndata: x\n\n"), "HTTP/1.1 409 Conflict\r\nContent-Length: 20\r\n\r\n{\"reason\":\"unknown\"}",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n{", "HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
		`{"jsonrpc":"2.0","id":1,"result":{"id":"fs"}}` + "\n", `{"jsonrpc":"2.0","id":1,"error":{"code":-31100,"message":"no","data":{"reason":"unknown"}}}` + "\n", `{"jsonrpc":"2.0","id":2,"result":{}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"result":{"questions":[{"id":"a"}],"more":true}}` + "\n", `{"jsonrpc":"2.0","method":"event","params":{}}` + "\n", `{"id":1,"result":null}` + "\n", "\n\n", "{", `{"jsonrpc":"2.0","id":1,"error":7}` + "\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := net.Listen("unix", filepath.Join(shortDir(t), "c"))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := at.Accept()
				if err != nil {
					return
				}
				io.WriteString(conn, text)
				conn.Close()
			}
		}()
		defer func() { at.Close(); <-done }()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		c := socket.At(at.Addr().String())
		c.Status(ctx)
		c.List(ctx, true)
		if v, err := c.Show(ctx, "x"); err == nil {
			v.Text()
		}
		c.Decide(ctx, inbox.Decision{ID: "x", Digest: "y", Result: []byte(yes)})
		c.Grants(ctx)
		c.Revoke(ctx, "x")
		for range c.Watch(ctx) {
		}
		if ctx.Err() != nil {
			t.Errorf("%q holds who knocks", text)
		}
	})
}

func answer(kind, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(body), body)
}
