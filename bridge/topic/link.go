package topic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

const (
	maxFrame      = jsonrpc.MaxSize
	maxSkip       = 4 * maxFrame // a longer frame ends the link instead of being skipped
	writeDeadline = 10 * time.Second
	closeWait     = 2 * time.Second        // for the gateway to close too (WIRE W-2)
	finalFlush    = 250 * time.Millisecond // for what is still unwritten once reading has ended
	queueFrames   = 8192
	queueBytes    = 64 << 20
)

// A link is a Conn over a WebSocket.
type link struct {
	ws      *websocket.Conn
	conn    *bufferedConn
	scratch []byte // of the reader
	ended   atomic.Bool

	mu     sync.Mutex
	cause  error       // what broke the link on our side
	hangup *time.Timer // set by the first Close, or when the link breaks
}

// newLink makes a link of a connection whose handshake is done; c is the connection under it.
func newLink(ws *websocket.Conn, c *bufferedConn) *link {
	l := &link{ws: ws, conn: c, scratch: make([]byte, 16<<10)}
	c.in = inbox.New(c.Conn)
	c.out = outbox.New(c.Conn, outbox.Options{
		Own:      true,
		MaxItems: queueFrames, MaxBytes: queueBytes, Deadline: writeDeadline, OnFail: l.broken,
	})
	ws.SetReadLimit(maxSkip)
	return l
}

// broken ends the link because the gateway takes nothing any more. If it has gone,
// what it said before is still read: its close says why.
func (l *link) broken(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		l.cause = fmt.Errorf("write to the gateway: %w", err)
	}
	if errors.Is(err, outbox.ErrStuck) {
		l.conn.Conn.Close()
		return
	}
	l.hangUp()
}

// hangUp has the connection cut when closeWait has passed. It returns false if it
// had been called before. The caller holds mu.
func (l *link) hangUp() bool {
	if l.hangup != nil {
		return false
	}
	l.hangup = time.AfterFunc(closeWait, func() { l.conn.Conn.Close() })
	return true
}

func (l *link) Idle(f func()) { l.conn.idle = f }

func (l *link) Heard() bool { return l.conn.heard.Swap(false) }

func (l *link) Ping() error {
	err := l.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeDeadline))
	l.Flush()
	return err
}

func (l *link) Put(frame []byte) error {
	if len(frame) > maxFrame {
		return ErrTooLarge
	}
	key, head := newKey(), [14]byte{}
	mask(key, frame)
	err := l.conn.out.Put(appendHeader(head[:0], len(frame), key), frame)
	if err != nil {
		mask(key, frame) // as it was: nobody took it
	}
	return err
}

func (l *link) Flush() { l.conn.out.Flush() }

func (l *link) Read() ([]byte, error) {
	_, r, err := l.ws.NextReader()
	if err == nil {
		var frame []byte
		if frame, err = l.gather(r); err == nil || err == ErrTooLarge {
			return frame, err
		}
	}
	l.ended.Store(true)
	return nil, l.why(err)
}

// gather reads one frame. What is over the limit is read and thrown away: one
// over-long frame of some participant must not cost us the seat.
func (l *link) gather(r io.Reader) ([]byte, error) {
	buf, n := l.scratch, 0
	for {
		m, err := r.Read(buf[n:])
		n += m
		switch {
		case n > maxFrame:
			_, err = io.Copy(io.Discard, r)
			if err == nil {
				err = ErrTooLarge
			}
			return nil, err
		case err == io.EOF && n <= len(l.scratch):
			return append(make([]byte, 0, n), buf[:n]...), nil
		case err == io.EOF:
			return buf[:n:n], nil
		case err != nil:
			return nil, err
		case n == len(buf):
			room := min(2*n, maxFrame+1)
			buf = append(make([]byte, 0, room), buf...)[:room]
		}
	}
}

// why names the end of a link: what the gateway said of it, else what broke it
// here, else how reading ended.
func (l *link) why(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, closed := errors.AsType[*websocket.CloseError](err)
	said := closed && c.Code != websocket.CloseAbnormalClosure // that one stands for no close at all
	switch {
	case l.cause != nil && !said:
		return l.cause
	case closed:
		return &wire.CloseError{Code: c.Code, Reason: c.Text}
	}
	return fmt.Errorf("read from the gateway: %w", err)
}

func (l *link) Close(code int, reason string) error {
	if l.ended.Load() {
		return l.release()
	}
	l.mu.Lock()
	first := l.hangUp()
	l.mu.Unlock()
	if !first {
		return nil
	}
	err := l.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, clip(reason, 123)), time.Now().Add(writeDeadline))
	l.Flush()
	return err
}

// release gives what is unwritten a last moment and lets go of everything.
func (l *link) release() error {
	l.mu.Lock()
	if l.hangup != nil {
		l.hangup.Stop()
	}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), finalFlush)
	defer cancel()
	return errors.Join(l.conn.out.Close(ctx), l.conn.Conn.Close())
}

// clip cuts a text to n bytes at most, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
