package node

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
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

// beside runs p with a client, which says lines and hears some.
func beside(t *testing.T, p *Passthrough) (says io.WriteCloser, hears *bufio.Reader, ended <-chan error) {
	t.Helper()
	in, says := io.Pipe()
	heard, out := io.Pipe()
	end := make(chan error, 1)
	go func() { end <- p.Run(t.Context(), stdio.Host{In: in, Out: out}) }()
	return says, bufio.NewReader(heard), end
}

// greet has the client greet its server.
func greet(t *testing.T, says io.Writer, hears *bufio.Reader) {
	t.Helper()
	fmt.Fprintln(says, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if line, err := hears.ReadString('\n'); err != nil || !strings.Contains(line, `"serverInfo"`) {
		t.Fatalf("the client hears %q, %v", line, err)
	}
	fmt.Fprintln(says, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
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
	says, heard, ended := beside(t, p)
	<-ready
	greet(t, says, heard)
	go io.Copy(io.Discard, heard)
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

// A placed is a Passthrough with a client, which is in the topic when the test says so.
type placed struct {
	*Passthrough
	t     *testing.T
	file  string // the policy
	says  io.Writer
	hears *bufio.Reader
	ready chan struct{}
	heard map[record.Event]chan *record.Record
}

func newPlaced(t *testing.T, rules string) *placed {
	t.Helper()
	p := &placed{t: t, file: filepath.Join(t.TempDir(), "policy.yaml"), ready: make(chan struct{}, 9), heard: map[record.Event]chan *record.Record{}}
	for _, event := range []record.Event{record.ReloadWaiting, record.ReloadDecided, record.ReloadFailed, record.Reloaded} {
		p.heard[event] = make(chan *record.Record, 9)
	}
	p.save(rules)
	var err error
	p.Passthrough, err = NewPassthrough(Options{
		Server: Target{Args: stdiotest.Command(t, stdiotest.Script{})}, ID: "fs", Policy: p.file, Record: RecordOptions{Off: true},
		State: localgateway.StateDir(filepath.Join(t.TempDir(), "mcpx-bridge")), Ready: func(Ready) { p.ready <- struct{}{} },
		Emit: func(r *record.Record) {
			if c := p.heard[r.Event]; c != nil {
				c <- r
			}
		},
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	p.alone = true // it looks for no place of its own
	says, hears, ended := beside(t, p.Passthrough)
	p.says, p.hears = says, hears
	t.Cleanup(func() {
		says.Close()
		<-ended
	})
	<-p.launched
	greet(t, says, hears)
	return p
}

func (p *placed) save(rules string) {
	p.t.Helper()
	if err := os.WriteFile(p.file, []byte(rules), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// enter is in the topic until leave is called.
func (p *placed) enter() (leave func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() { left <- p.inTopic(ctx) }()
	select {
	case <-p.ready:
	case err := <-left:
		p.t.Fatal("it has no place: ", err)
	}
	return func() {
		cancel()
		<-left
	}
}

// ran reports whether a call of the client reaches the server.
func (p *placed) ran() bool {
	p.t.Helper()
	fmt.Fprintln(p.says, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"marked"}}}`)
	line, err := p.hears.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Contains(line, "marked")
}

const (
	nothingRuns = "version: 1\ndefault: deny\n"
	allRuns     = "version: 1\ndefault: allow\n"
)

// A looser policy file that the person had refused counted without a question when the bridge of a
// client had lost its place in the topic and got another: it was read as at a start.
func TestARefusedPolicyDoesNotCountAtTheNextPlace(t *testing.T) {
	p := newPlaced(t, nothingRuns)
	leave := p.enter()
	p.save(allRuns)
	asked := <-p.heard[record.ReloadWaiting]
	shown, err := p.Inbox().Show(t.Context(), asked.Question)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Inbox().Decide(t.Context(), inbox.Decision{ID: shown.ID, Digest: shown.Digest, Result: []byte(`{"action":"decline"}`)}); err != nil {
		t.Fatal(err)
	}
	<-p.heard[record.ReloadDecided]
	leave()

	defer p.enter()()
	if p.ran() {
		t.Fatal("a call runs that the file allows, which the person has refused")
	}
	<-p.heard[record.ReloadWaiting] // and is asked about again
}

// Neither did a file count as it should that came while there was no place.
func TestAPolicyThatComesBetweenPlaces(t *testing.T) {
	p := newPlaced(t, allRuns)
	p.enter()()
	p.save("nonsense")
	leave := p.enter()
	if !p.ran() {
		t.Error("a file that cannot be read is not the last good policy")
	}
	<-p.heard[record.ReloadFailed]
	leave()

	p.save(nothingRuns)
	leave = p.enter()
	if p.ran() {
		t.Error("a stricter file does not count at once")
	}
	if s, err := p.Inbox().Status(t.Context()); err != nil || s.PolicyErr != "" {
		t.Errorf("it is still wrong: %q, %v", s.PolicyErr, err)
	}
	leave()
}
