package stdio

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

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
