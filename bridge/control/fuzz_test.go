package control_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control/controltest"
)

// Whatever is said at the door, nobody decides who does not repeat the digest
// of what was shown, and the next guest is served.
func FuzzDoor(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"decide","params":{"id":"$ID","digest":"$DIGEST","result":` + yes + `}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"decide","params":{"id":"$ID","digest":"","result":` + yes + `}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"decide","params":{"id":"$ID","digest":"$DIGEST","Digest":"x","result":` + yes + `}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"watch"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"watch"}` + "\n" + `{"jsonrpc":"2.0","id":null,"method":"list","params":{"after":"x"}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"show","params":{"id":""}}` + "\n\n[]\nnull\n{", `{"jsonrpc":"2.0","method":"grants/revoke","params":{"id":"x"}}` + "\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x00\xff\n",
	} {
		f.Add(text)
	}
	h := controltest.New("fs")
	path := h.Open(f, filepath.Join(f.TempDir(), "c")).Path()
	n := 0
	f.Fuzz(func(t *testing.T, text string) {
		n++ // whose calls were denied three times is not asked about for a while
		q := controltest.Write(`{"path":"/"}`)
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
		c, err := control.Dial(t.Context(), path)
		if err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		defer c.Close()
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
		`{"jsonrpc":"2.0","id":1,"result":{"id":"fs"}}` + "\n", `{"jsonrpc":"2.0","id":1,"error":{"code":-31100,"message":"no","data":{"reason":"unknown"}}}` + "\n", `{"jsonrpc":"2.0","id":2,"result":{}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"result":{"questions":[{"id":"a"}],"more":true}}` + "\n", `{"jsonrpc":"2.0","method":"event","params":{}}` + "\n", `{"id":1,"result":null}` + "\n", "\n\n", "{", `{"jsonrpc":"2.0","id":1,"error":7}` + "\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := net.Listen("unix", filepath.Join(t.TempDir(), "c"))
		if err != nil {
			t.Skip(err) // the path is too long here
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
		c := &control.Client{Path: at.Addr().String()}
		defer c.Close()
		c.Refresh(ctx)
		c.List(ctx, true)
		if v, err := c.Show(ctx, "x"); err == nil {
			v.Text()
		}
		c.Decide(ctx, "x", "y", []byte(yes))
		c.Grants(ctx)
		c.Revoke(ctx, "x")
		if ctx.Err() != nil {
			t.Errorf("%q holds who knocks", text)
		}
	})
}
