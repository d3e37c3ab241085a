package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/linger"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

const (
	readBuffer  = 16 << 10
	joinLimit   = 64 << 10               // bytes of a first frame, whose sender nobody knows yet
	smallFrame  = 16 << 10               // copied out of the scratch buffer; larger ones take it along
	flushAfter  = 64                     // frames said without a flush, at most
	controlRoom = 64                     // places in an outbox beyond the limit, for control frames
	easeTime    = 250 * time.Millisecond // a frame may hold up who says it, for a seat in this process or a log
	drainTime   = 5 * time.Second
	closeTime   = time.Second
	mostUnread  = 64 << 20 // bytes that all who have left may keep for drainTime
)

// A socket is a session over a WebSocket. The goroutine of its HTTP request
// reads it from beginning to end; all others put into its outbox, and look whether
// there is something to read (linger).
type socket struct {
	g        *Gateway
	ticket   int64 // see Gateway
	ws       *websocket.Conn
	conn     *wsConn
	linger   *linger.Linger // for what its client says next; nil under TLS
	flushing atomic.Bool    // its reading goroutine hands on what was said, and sleeps only once it is through
	out      *outbox.Outbox
	frames   int // most that may wait in out
	size     int // most bytes that may wait in out

	// For the reading goroutine alone.
	session *hub.Session // nil until seated
	said    int          // frames said since the last flush
	scratch []byte       // a buffer for the next frame
	expect  int          // bytes the last frame had
}

// upgrade turns a request into a session that has no seat yet. If it cannot,
// the request is answered.
func (g *Gateway) upgrade(w http.ResponseWriter, r *http.Request) *socket {
	ticket := g.tickets.Add(1) // before the client hears that it is connected
	c := &wsConn{every: g.opt.PingEvery, dead: g.opt.DeadAfter, joinBy: time.Now().Add(g.opt.JoinTimeout)}
	ws, err := g.upgrader.Upgrade(hijacker{w, c}, r, nil)
	if err != nil {
		if c.Conn != nil {
			g.crowd.gone(c.Conn)
		}
		return nil
	}
	s := &socket{g: g, ticket: ticket, ws: ws, conn: c, linger: linger.On(c.Conn), frames: g.opt.MaxQueue, size: g.opt.MaxQueueBytes}
	s.out = outbox.New(c.Conn, outbox.Options{
		Own:      true,
		MaxItems: s.frames + controlRoom,
		MaxBytes: s.size + maxFrame + controlRoom<<10,
		OnFail:   func(error) { c.stop(0, "") },
	})
	ws.SetReadLimit(joinLimit)
	c.upgraded(s.out, s.idle)
	return s
}

// idle hands on what this session said.
func (s *socket) idle() {
	if s.said == 0 {
		s.out.Flush() // a pong, or an answer to a close
		return
	}
	s.said = 0
	s.flushing.Store(true)
	s.session.Flush()
	s.flushing.Store(false)
}

// Await implements hub.Sink: it waits, awake, until the client says something, for 60 µs at most, and
// reports whether it listened at all. It does not while the reading goroutine
// hands on what was said, by itself or beside it: it could go on for as long as its client
// calls in a row, and only one who goes to sleep looks whether others have said
// something.
func (s *socket) Await() bool { return !s.flushing.Load() && s.linger.Wait() }

// sit takes a seat for the session, until its token expires.
func (s *socket) sit(topic string, p pass, d wire.Dialect) error {
	s.g.crowd.sit(s.conn.Conn) // before its client hears that it is welcome
	session, err := s.g.take(topic, hub.Guest{ID: p.id, Caps: grant(p.caps, d), Dialect: d, Sink: s, Came: s.ticket})
	if err != nil {
		return &turnedAway{reason: err.Error(), late: errors.Is(err, hub.ErrReplaced)}
	}
	s.session = session
	s.conn.joinBy, s.conn.endBy = time.Time{}, p.ends
	s.ws.SetReadLimit(int64(s.g.opt.MaxFrame))
	return s.conn.arm()
}

// run seats the session and reads it to its end. It returns when the
// connection is closed and the seat free.
func (s *socket) run(join func() error) {
	err := join()
	if err == nil {
		err = s.read()
	}
	if s.session != nil {
		s.session.Leave()
	}
	code, reason := s.goodbye(err)
	s.log(err, code, reason)
	s.finish(err, code, reason)
}

// log puts the end of the session on record.
func (s *socket) log(err error, code int, reason string) {
	if s.session == nil {
		s.g.journal.say(slog.LevelWarn, addressOf(s.conn.Conn), "turned away", "code", code, "reason", reason, "error", err)
		return
	}
	level := slog.LevelInfo
	if reason == hub.ReasonSlow {
		level = slog.LevelWarn
	}
	s.g.journal.say(level, sourceOf(s.session), "left", "code", code, "reason", reason, "error", err)
}

func (s *socket) read() error {
	for {
		frame, err := s.next()
		if err != nil {
			return err
		}
		if err := s.session.Ingest(frame); err != nil {
			return err
		}
		s.session.Ease(easeTime)
		if s.said++; s.said >= flushAfter {
			s.idle()
		}
	}
}

var errBinary = errors.New("text frames only")

// next reads one text frame. Its bytes belong to the caller.
func (s *socket) next() ([]byte, error) {
	op, r, err := s.ws.NextReader()
	if err != nil {
		return nil, err
	}
	if op != websocket.TextMessage {
		return nil, errBinary
	}
	buf := s.scratch[:0]
	if cap(buf) == 0 {
		buf = make([]byte, 0, min(max(s.expect+s.expect/8, 4<<10), 1<<20))
	}
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			s.expect = len(buf)
			return s.own(buf), nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
	}
}

// own returns the frame in buf as bytes that nobody will overwrite, with
// little room wasted behind them, and keeps buf for the next one if it can.
func (s *socket) own(buf []byte) []byte {
	if len(buf) > smallFrame && len(buf) > cap(buf)-cap(buf)/4 {
		s.scratch = nil
		return buf
	}
	s.scratch = nil
	if cap(buf) <= 2*smallFrame {
		s.scratch = buf
	}
	return bytes.Clone(buf)
}

// Put implements hub.Sink.
func (s *socket) Put(frame []byte) hub.Outcome {
	if s.full(len(frame)) {
		s.out.Relieve()
		if s.full(len(frame)) {
			return hub.Slow
		}
	}
	head := heads.Get().(*[10]byte)
	defer heads.Put(head)
	if s.out.Put(frameHead(head[:0], opText, len(frame)), frame) != nil {
		return hub.Gone
	}
	return hub.Taken
}

// full reports whether n more bytes are too many for a reader this far behind.
func (s *socket) full(n int) bool {
	items, waiting := s.out.Queued()
	return items >= s.frames || waiting > 0 && waiting+n > s.size
}

// Flush implements hub.Sink.
func (s *socket) Flush() { s.out.Flush() }

// Cut implements hub.Sink.
func (s *socket) Cut(code int, reason string) { s.conn.stop(code, reason) }

// Inline implements hub.Sink.
func (s *socket) Inline() bool { return false }

// WaitForRoom implements hub.Sink: it is never crowded, as kernels keep what it cannot send yet.
func (s *socket) WaitForRoom(context.Context) {}

// finish says goodbye, gives the peer a while to read it, and closes the
// connection. A peer that reads loses nothing that was put before, unless very much
// waits for others that have left too: who takes his seat again and again, and reads
// nothing, would have a welcome kept for each.
func (s *socket) finish(why error, code int, reason string) {
	defer s.g.crowd.gone(s.conn.Conn)
	defer s.conn.Conn.Close()
	if code != 0 && !s.conn.closed {
		s.conn.Write(closeFrame(code, reason))
	}
	s.out.Flush()
	ctx, cancel := context.WithTimeout(s.g.drain, drainTime)
	defer cancel()
	if _, unread := s.out.Queued(); unread > smallFrame {
		if s.g.unread.Add(int64(unread)) > mostUnread && s.g.open.Err() == nil { // nobody comes to a gateway that closes
			cancel()
		}
		defer s.g.unread.Add(int64(-unread))
	}
	err := s.out.Close(ctx)
	if _, byPeer := errors.AsType[*websocket.CloseError](why); err == nil && !byPeer && s.conn.closed {
		s.awaitClose()
	}
}

// A turnedAway is a joiner that gets no seat. It implements error.
type turnedAway struct {
	code   string // of a fault, "" for none
	reason string // of the close frame
	late   bool   // a newer session has the seat
}

func (t *turnedAway) Error() string { return t.reason }

// goodbye returns what the close frame is to say, code 0 if there is nobody to
// say it to.
func (s *socket) goodbye(why error) (code int, reason string) {
	if c := s.conn.stopped(); c != nil {
		return c.code, c.reason
	}
	switch {
	case errors.Is(why, hub.ErrNotText):
		return websocket.CloseInvalidFramePayloadData, why.Error()
	case errors.Is(why, errBinary):
		return websocket.CloseUnsupportedData, why.Error()
	case errors.Is(why, websocket.ErrReadLimit):
		return websocket.CloseMessageTooBig, "a frame may have 16 MiB at most"
	case errors.Is(why, errDead):
		return websocket.CloseGoingAway, why.Error()
	case errors.Is(why, errNoJoin), errors.Is(why, errExpired):
		return websocket.ClosePolicyViolation, why.Error()
	}
	if t, ok := errors.AsType[*turnedAway](why); ok {
		if t.late {
			return hub.CodeReplaced, hub.ReasonReplaced
		}
		return websocket.ClosePolicyViolation, t.reason
	}
	return 0, ""
}

// awaitClose waits for the peer to close its side, as RFC 6455 7.1.1 asks of a
// server: bytes of the peer that nobody has read would otherwise reset the
// connection and could take the goodbye with them.
func (s *socket) awaitClose() {
	conn := s.conn.Conn
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	conn.SetReadDeadline(time.Now().Add(closeTime))
	stop := context.AfterFunc(s.g.drain, func() { conn.SetReadDeadline(longAgo) })
	defer stop()
	io.Copy(io.Discard, conn)
}
