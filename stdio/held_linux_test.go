package stdio

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A server can make a write to it wait that should not, and the close too.
func TestServerThatHoldsItsStdinIsKilled(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{}))
	o.WriteDeadline = 300 * time.Millisecond
	s := begin(t, o)
	s.up()
	s.tool("hold_stdin", "{}")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s.server.Put([]byte(`{"jsonrpc":"2.0","method":"notifications/x"}`)) == nil {
			s.server.Flush()
		}
	}()
	s.wantCause(CauseStdinStuck)
	<-done
	s.up()
	s.call("echo", "{}")
}
