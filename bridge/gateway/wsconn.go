package gateway

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

var (
	errCut    = errors.New("the gateway ended the session")
	errDead   = errors.New("nothing was heard for too long")
	errNoJoin = errors.New("no join came in time")

	// A session ends when its token does. Its bearer may come again with another
	// one, which no dialect lets it show within a session.
	errExpired = errors.New("the token has expired")
)

// A wsConn is the connection under a WebSocket. It stands below gorilla's
// reader, which gives it three duties:
//
//   - Just before it blocks it hands on what this session said to others, so
//     that everything one read brought goes out in one write.
//   - While it blocks it keeps the time: it pings, and gives up on a peer that
//     is not heard. So no session needs a timer or a second goroutine.
//   - What gorilla wants to write (pongs, answers to a close, protocol errors)
//     goes through the outbox, in order with everything else.
type wsConn struct {
	net.Conn
	out   *outbox.Outbox // nil until the upgrade is answered
	in    io.Reader      // of the connection, from then on
	idle  func()         // about to block
	every time.Duration  // between pings
	dead  time.Duration  // of silence

	// For the reading goroutine alone.
	heard  time.Time // when a byte came last
	pinged time.Time
	joinBy time.Time // zero when seated
	endBy  time.Time // zero until seated
	closed bool      // a close frame is in the outbox

	mu  sync.Mutex
	cut *ending // why the reader is to stop
}

// An ending is the close frame that ends a session.
type ending struct {
	code   int
	reason string
}

// hijacker gives gorilla the wsConn in place of the bare connection.
type hijacker struct {
	http.ResponseWriter
	conn *wsConn
}

// Hijack implements http.Hijacker.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn.Conn = conn
	return h.conn, rw, err
}

// upgraded starts its work: the next write is a frame.
func (c *wsConn) upgraded(out *outbox.Outbox, idle func()) error {
	c.out, c.idle, c.in = out, idle, inbox.New(c.Conn)
	c.heard = time.Now()
	c.pinged = c.heard
	return c.arm()
}

// Read implements net.Conn.
func (c *wsConn) Read(p []byte) (int, error) {
	c.idle()
	for {
		n, err := c.in.Read(p)
		if n > 0 {
			c.heard = time.Now()
			return n, c.over(c.heard)
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err
		}
		if err := c.tick(time.Now()); err != nil {
			return 0, err
		}
	}
}

// over says that the session has had its time.
func (c *wsConn) over(now time.Time) error {
	if !c.endBy.IsZero() && !now.Before(c.endBy) {
		return errExpired
	}
	return nil
}

// tick does what time asks for when a read was woken by its deadline.
func (c *wsConn) tick(now time.Time) error {
	if err := c.over(now); err != nil {
		return err
	}
	switch {
	case !c.joinBy.IsZero() && !now.Before(c.joinBy):
		return errNoJoin
	case now.Sub(c.heard) >= c.dead:
		return errDead
	case now.Sub(c.pinged) >= c.every:
		c.pinged = now
		c.out.Put(frameHead(nil, opPing, 0))
		c.out.Flush()
	}
	return c.arm()
}

// arm sets when the blocked reader is to look at the time again.
func (c *wsConn) arm() error {
	next := c.pinged.Add(c.every)
	if quiet := c.heard.Add(c.dead); quiet.Before(next) {
		next = quiet
	}
	if !c.joinBy.IsZero() && c.joinBy.Before(next) {
		next = c.joinBy
	}
	if !c.endBy.IsZero() && c.endBy.Before(next) {
		next = c.endBy
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut != nil {
		return errCut
	}
	return c.Conn.SetReadDeadline(next)
}

// stop wakes the reader and has it end the session. The first call counts. Any
// goroutine may call it.
func (c *wsConn) stop(code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut == nil {
		c.cut = &ending{code, reason}
		c.Conn.SetReadDeadline(longAgo)
	}
}

// stopped returns the ending that stop asked for, nil if it did not.
func (c *wsConn) stopped() *ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

var longAgo = time.Unix(1, 0)

// Write implements net.Conn for gorilla, which writes whole control frames
// once the upgrade is done, and only from within a read.
func (c *wsConn) Write(p []byte) (int, error) {
	if c.out == nil {
		return c.Conn.Write(p)
	}
	if p[0] == opClose {
		c.closed = true
	}
	if err := c.out.Put(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetWriteDeadline implements net.Conn: the outbox keeps its own.
func (c *wsConn) SetWriteDeadline(time.Time) error { return nil }
