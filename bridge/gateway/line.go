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

// A line is the connection under a WebSocket. It stands below gorilla's
// reader, which gives it three duties:
//
//   - Just before it blocks it hands on what this session said to others, so
//     that everything one read brought goes out in one write.
//   - While it blocks it keeps the time: it pings, and gives up on a peer that
//     is not heard. So no session needs a timer or a second goroutine.
//   - What gorilla wants to write (pongs, answers to a close, protocol errors)
//     goes through the outbox, in order with everything else.
type line struct {
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

// hijacker gives gorilla the line in place of the bare connection.
type hijacker struct {
	http.ResponseWriter
	line *line
}

// Hijack implements http.Hijacker.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.line.Conn = conn
	return h.line, rw, err
}

// upgraded starts the line's work: the next write is a frame.
func (l *line) upgraded(out *outbox.Outbox, idle func()) error {
	l.out, l.idle, l.in = out, idle, inbox.New(l.Conn)
	l.heard = time.Now()
	l.pinged = l.heard
	return l.arm(l.heard)
}

// Read implements net.Conn.
func (l *line) Read(p []byte) (int, error) {
	l.idle()
	for {
		n, err := l.in.Read(p)
		if n > 0 {
			l.heard = time.Now()
			return n, l.over(l.heard)
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err
		}
		if err := l.tick(time.Now()); err != nil {
			return 0, err
		}
	}
}

// over says that the session has had its time.
func (l *line) over(now time.Time) error {
	if !l.endBy.IsZero() && !now.Before(l.endBy) {
		return errExpired
	}
	return nil
}

// tick does what time asks for when a read was woken by its deadline.
func (l *line) tick(now time.Time) error {
	if err := l.over(now); err != nil {
		return err
	}
	switch {
	case !l.joinBy.IsZero() && !now.Before(l.joinBy):
		return errNoJoin
	case now.Sub(l.heard) >= l.dead:
		return errDead
	case now.Sub(l.pinged) >= l.every:
		l.pinged = now
		l.out.Put(frameHead(nil, opPing, 0))
		l.out.Flush()
	}
	return l.arm(now)
}

// arm sets when the blocked reader is to look at the time again.
func (l *line) arm(now time.Time) error {
	next := l.pinged.Add(l.every)
	if quiet := l.heard.Add(l.dead); quiet.Before(next) {
		next = quiet
	}
	if !l.joinBy.IsZero() && l.joinBy.Before(next) {
		next = l.joinBy
	}
	if !l.endBy.IsZero() && l.endBy.Before(next) {
		next = l.endBy
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut != nil {
		return errCut
	}
	return l.Conn.SetReadDeadline(next)
}

// stop wakes the reader and has it end the session. The first call counts. Any
// goroutine may call it.
func (l *line) stop(code int, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut == nil {
		l.cut = &ending{code, reason}
		l.Conn.SetReadDeadline(longAgo)
	}
}

// stopped returns the ending that stop asked for, nil if it did not.
func (l *line) stopped() *ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

var longAgo = time.Unix(1, 0)

// Write implements net.Conn for gorilla, which writes whole control frames
// once the upgrade is done, and only from within a read.
func (l *line) Write(p []byte) (int, error) {
	if l.out == nil {
		return l.Conn.Write(p)
	}
	if p[0] == opClose {
		l.closed = true
	}
	if err := l.out.Put(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetWriteDeadline implements net.Conn: the outbox keeps its own.
func (l *line) SetWriteDeadline(time.Time) error { return nil }
