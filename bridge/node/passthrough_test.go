package node

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// silent takes connections and says nothing. It tells of each.
func silent(t *testing.T) (at string, came <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	each := make(chan struct{}, 9)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			each <- struct{}{}
		}
	}()
	return l.Addr().String(), each
}

// A webhook that hung over the last notice kept a bridge of a client from saying on record that it
// ended: there was as much time for that notice as for all that is to be done then.
func TestAWebhookThatHangsCostsTheRecordNoEnd(t *testing.T) {
	hook, came := silent(t)
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ndefault: ask\nnotify: {ops: {webhook: 'http://"+hook+"/', secret: '${SECRET}'}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Server: Target{Args: stdiotest.Command(t, stdiotest.Script{})}, Env: Environment{Ours: []string{"SECRET=hush"}}, ID: "fs", Policy: file,
		State: localgateway.StateDir(filepath.Join(t.TempDir(), "mcpx-bridge")), Record: RecordOptions{File: filepath.Join(t.TempDir(), "audit", "fs.jsonl")},
	}
	ready := make(chan struct{}, 9)
	o.Ready = func(Ready) { ready <- struct{}{} }
	p, err := NewPassthrough(o, true)
	if err != nil {
		t.Fatal(err)
	}
	in, says := io.Pipe()
	hears, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(t.Context(), stdio.Host{In: in, Out: out}) }()
	<-ready
	fmt.Fprintln(says, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	heard := bufio.NewScanner(hears)
	if !heard.Scan() || !strings.Contains(heard.Text(), `"serverInfo"`) {
		t.Fatalf("the client hears %q", heard.Text())
	}
	go io.Copy(io.Discard, hears)
	fmt.Fprintln(says, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(says, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)
	<-came // with what is asked
	says.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if r, err := audit.VerifyLog(o.Record.File, audit.Checks{}); err != nil || !r.OK || !r.Closed {
		t.Errorf("the record has no end: %+v, %v", r, err)
	}
	<-came // with what is told last, of which the test is
}
