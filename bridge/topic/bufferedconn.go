package topic

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// maxAnswer limits the answer to an upgrade, in bytes: once so many have been read, no more
// are. The last read may go beyond it, with frames that came right behind the head.
const maxAnswer = 64 << 10

var errAnswer = fmt.Errorf("its answer to the upgrade has no end within %d KiB", maxAnswer>>10)

// A bufferedConn is the net.Conn under a websocket.Conn. During the handshake it passes
// everything through. Afterwards all that is written goes through the outbox, gorilla's own
// pongs and closes too, so that no writer waits; and a Read first flushes what was written.
type bufferedConn struct {
	net.Conn
	out   *outbox.Outbox // nil during the handshake
	in    io.Reader      // of the connection, after it
	head  int            // bytes read during the handshake
	idle  func()         // called before a Read; may be nil
	heard atomic.Bool    // something was read since this was last cleared
}

func (c *bufferedConn) Read(p []byte) (int, error) {
	in := io.Reader(c.Conn)
	if c.out == nil {
		if c.head >= maxAnswer {
			return 0, errAnswer
		}
	} else {
		if c.idle != nil {
			c.idle()
		}
		c.out.Flush()
		in = c.in
	}
	n, err := in.Read(p)
	if c.out == nil {
		c.head += n
	}
	if n > 0 {
		c.heard.Store(true)
	}
	return n, err
}

func (c *bufferedConn) Write(p []byte) (int, error) {
	if c.out == nil {
		return c.Conn.Write(p)
	}
	if err := c.out.Put(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetWriteDeadline leaves the deadline to the outbox once there is one.
func (c *bufferedConn) SetWriteDeadline(t time.Time) error {
	if c.out == nil {
		return c.Conn.SetWriteDeadline(t)
	}
	return nil
}
