package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// written is how many bytes a process has written so far.
func written(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "wchar: ") {
			return line
		}
	}
	return ""
}

// A host that does not read makes the server wait, and nothing of ours grows.
func TestHostThatDoesNotReadIsWaitedFor(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), nil)
	c.mute = "message"
	c.greets()
	pid := c.up().PID
	const n = 100_000 // about 8 MB, more than may wait
	c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flood","arguments":{"n":%d,"method":"notifications/x"}}}`, n) + "\n")
	start := written(t, pid)
	poll(t, "the server to wait", func() bool {
		before := written(t, pid)
		time.Sleep(300 * time.Millisecond)
		return before != start && before == written(t, pid)
	})
	for i := range n {
		c.hears(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/x","params":{"level":"info","data":"flood %d"}}`, i))
	}
	c.hears(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`)
}

// A line of ours was glued to what a host had written last, without a newline, while a busy server
// had not read it: both were lost.
func TestNothingIsGluedToTheLastWordsOfAHost(t *testing.T) {
	dir := t.TempDir()
	gate, got := filepath.Join(dir, "gate"), filepath.Join(dir, "got")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	const welcome = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
	c := host(t, []string{"sh", "-c", `read hello; echo "$1"; read initialized; read go <"$2"; exec cat >"$3"`, "sh", welcome, gate, got}, func(o *Options) {
		o.Host.Patience = patience
	})
	c.greets()
	c.up()
	last := `{"jsonrpc":"2.0","id":9,"method":"ping","params":"` + strings.Repeat("y", 4<<20) + `"}`
	go func() {
		io.WriteString(c.in, last)
		c.in.Close()
	}()
	poll(t, "the last words to be on their way", func() bool {
		_, waiting := c.server.relay.Load().c.out.Queued()
		return waiting > 1<<20
	})
	if err := c.server.Put([]byte(`{"ours":1}`)); !errors.Is(err, outbox.ErrFull) {
		t.Errorf("behind a line that has no end Put returns %v", err)
	}
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	c.down()
	if text := contents(t, got); text != last {
		t.Errorf("the server got %d bytes, want %d, and %q behind them", len(text), len(last), text[min(len(text), len(last)):])
	}
}

// That holds for the end of a line that came in parts, and for what the gate lets through, and a
// host that ended its last line keeps nobody from anything.
func TestALineThatAHostLeavesUnendedIsNoPlaceForOurs(t *testing.T) {
	for _, test := range []struct {
		mid  bool
		last string
		gate Gate
		want error
	}{
		{false, "", nil, nil}, {true, "", nil, outbox.ErrFull}, {false, "x", nil, outbox.ErrFull}, {true, "x", nil, outbox.ErrFull},
		{false, "", &turnstile{}, nil}, {false, `{"id":9,"method":"ping"}`, &turnstile{}, outbox.ErrFull}, {false, `{"id":9,"method":"tools/call"}`, &turnstile{}, nil},
	} {
		out := outbox.New(discarded{}, outbox.Options{})
		c := &child{s: New(Options{}), out: out, life: t.Context(), mid: test.mid}
		r := &relay{host: &Host{Gate: test.gate}, out: out, reporter: reporter{c: c, rules: jsonrpc.Passed}}
		r.observer.reached.Store(int32(askDiscover))
		r.unendedHostLine([]byte(test.last))
		if err := c.put([]byte("{}")); err != test.want {
			t.Errorf("%+v: Put returns %v", test, err)
		}
		out.Close(t.Context())
	}
}
