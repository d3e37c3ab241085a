package topic

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const (
	earlyFrames = 256 // kept from before the welcome
	earlyBytes  = 4 << 20
)

// A session is one connection, from the upgrade to its end.
type session struct {
	seat   *Seat
	h      Handler
	conn   Conn
	url    int // which candidate; see dialer
	token  string
	rejoin bool // there was a session before
	log    *slog.Logger

	heard    chan struct{} // closed by the first frame
	seated   chan struct{} // closed by the welcome
	presence chan struct{} // has one element when somebody came or left under our id
	joined   atomic.Bool   // we said who we are before we were welcomed

	doubted bool // of keepalive: it was said that the gateway does not say whether it counts frames

	// Of the reader; where the Conn serves, of whoever is served.
	first     bool // a frame came
	dialect   wire.Dialect
	you       string // "" before the welcome
	since     time.Time
	early     []wire.Envelope
	earlySize int // in early

	mu    sync.Mutex
	spoke bool  // a frame came or the join was sent
	cause error // why we dropped the link ourselves
}

// leave sends what still waits, then closes the connection because ctx has ended.
func (s *session) leave(cause error) {
	s.setCause(cause)
	if p := s.seat.sender.Load(); p != nil && p.conn == s.conn && p.pacer != nil {
		p.pacer.stop()
	}
	s.conn.Close(1000, "leaving")
}

// drop ends the session for a reason of our own.
func (s *session) drop(cause error) {
	s.setCause(cause)
	s.conn.Close(1000, cause.Error())
}

func (s *session) setCause(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.cause = cause
	}
}

func (s *session) why(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != nil {
		return s.cause
	}
	if c, ok := errors.AsType[*wire.CloseError](err); ok { // a gateway may repeat our token
		return &wire.CloseError{Code: c.Code, Reason: redactToken(c.Reason, s.token)}
	}
	return err
}

// read hands on frames until the link ends, or until one of them is fatal.
func (s *session) read() error {
	if c, ok := s.conn.(interface {
		Serve(take func(frame []byte) error, idle func()) error
	}); ok {
		return s.failSession(c.Serve(s.take, s.h.TopicIdle))
	}
	idle, tells := s.conn.(interface{ Idle(func()) })
	if tells {
		idle.Idle(s.h.TopicIdle)
	}
	for {
		if !tells {
			s.h.TopicIdle()
		}
		frame, err := s.conn.Read()
		switch {
		case err == nil:
			err = s.take(frame)
		case errors.Is(err, ErrTooLarge):
			s.h.Refused(&wire.Refused{Reason: "message_too_large", Detail: err.Error()})
			err = nil
		}
		if err != nil {
			return s.failSession(err)
		}
	}
}

// failSession takes the error that ended the reading. If it is a [*FatalError] of our own,
// it closes the link and waits until the gateway has closed too.
func (s *session) failSession(err error) error {
	if f, ok := errors.AsType[*FatalError](err); ok {
		s.drop(f)
		for {
			if _, err := s.conn.Read(); err != nil && !errors.Is(err, ErrTooLarge) {
				return f
			}
		}
	}
	return err
}

// take reads one frame. Its error ends the session.
func (s *session) take(frame []byte) error {
	if t := s.tracer(); t != nil {
		t("recv", frame)
	}
	s.noteFirstFrame()
	d, ok := s.dialectOf(frame)
	if !ok {
		s.h.Refused(&wire.Refused{Reason: wire.DialectMismatch, Detail: "nothing in the frame says which dialect it is"})
		return nil
	}
	e, err := d.Decode(frame)
	if err == nil && e.Kind == wire.Failure { // a gateway may repeat our token, and what it says is logged
		e, err = d.Decode(redact(frame, s.token))
	}
	if err != nil {
		s.refuse(err)
		return s.wrongDialect(frame)
	}
	switch {
	case e.Kind == wire.Greeting:
		return s.welcomed(d, &e, frame)
	case s.you == "":
		s.keep(e, len(frame))
	default:
		s.watchPresence(&e)
		s.h.Received(&e)
	}
	return nil
}

// watchPresence looks for news that somebody came or left under our id, and then has
// [session.keepalive] ask the gateway whether it still lists us.
func (s *session) watchPresence(e *wire.Envelope) {
	if e.Kind != wire.Presence {
		return
	}
	if _, who, err := e.Presence(); err != nil || who.ID != s.you {
		return
	}
	select {
	case s.presence <- struct{}{}:
	default: // it will be
	}
}

func (s *session) refuse(err error) {
	r, ok := errors.AsType[*wire.Refused](err)
	if !ok {
		r = &wire.Refused{Reason: wire.EnvelopeInvalid, Detail: err.Error()}
	}
	shown := *r
	shown.Detail = redactToken(r.Detail, s.token)
	s.h.Refused(&shown)
}

// noteFirstFrame notes that the gateway has sent something, so that no join is sent after it.
func (s *session) noteFirstFrame() {
	if s.first {
		return
	}
	s.first = true
	s.mu.Lock()
	s.spoke = true
	s.mu.Unlock()
	close(s.heard)
}

// dialectOf returns the dialect in which a frame is to be read: before the welcome the one
// it looks like, or the one that was configured; afterwards that of the welcome.
func (s *session) dialectOf(frame []byte) (wire.Dialect, bool) {
	none := wire.Dialect{}
	switch {
	case s.dialect != none:
		return s.dialect, true
	case s.seat.fixed != none:
		return s.seat.fixed, true
	}
	return wire.Detect(frame)
}

// wrongDialect returns a [*FatalError] if a frame that could not be read is a welcome in
// another dialect than the configured one: trying again would not change that.
func (s *session) wrongDialect(frame []byte) error {
	d, ok := wire.Detect(frame)
	if s.you != "" || !ok || d == s.seat.fixed || s.seat.fixed.Protocol == "" {
		return nil
	}
	if e, err := d.Decode(frame); err != nil || e.Kind != wire.Greeting {
		return nil
	}
	return &FatalError{
		Exit: fault.Gateway,
		Err:  fmt.Errorf("the gateway speaks %s, not %s", d.Protocol, s.seat.fixed.Protocol),
		Hint: "use --dialect auto or --dialect " + d.Protocol,
	}
}

// keep stores what came before the welcome: our own id is not known yet, so
// nobody could say what it is for (WIRE 1.4).
func (s *session) keep(e wire.Envelope, size int) {
	if len(s.early) >= earlyFrames || s.earlySize+size > earlyBytes {
		s.h.Refused(&wire.Refused{Reason: "too_early", Detail: "too much came before the welcome", ID: e.ID, From: e.From})
		return
	}
	s.early = append(s.early, e)
	s.earlySize += size
}

// welcomed takes a welcome. The first one starts the session, later ones bring a new roster.
func (s *session) welcomed(d wire.Dialect, e *wire.Envelope, frame []byte) error {
	w, err := e.Welcome()
	if err != nil {
		s.refuse(err)
		return nil
	}
	if s.you != "" {
		if w.You.ID != s.you || len(e.To) > 0 && !slices.Contains(e.To, s.you) {
			s.h.Refused(&wire.Refused{Reason: "welcome_for_another", Detail: fmt.Sprintf("a welcome for %q", w.You.ID), ID: e.ID, From: e.From})
			return nil
		}
		s.h.SeatTaken(d, w)
		return nil
	}
	if err := s.checkID(w.You.ID); err != nil {
		return err
	}
	s.start(named(d, frame), w)
	return nil
}

// named returns the dialect whose protocol string the welcome has: all our frames must carry
// it (WIRE W-1), even if another dialect of the same family was configured.
func named(d wire.Dialect, frame []byte) wire.Dialect {
	n, ok := wire.Detect(frame)
	if !ok || restPrefixes[d.Protocol] != restPrefixes[n.Protocol] || !bytes.Contains(frame, strconv.AppendQuote(nil, n.Protocol)) {
		return d
	}
	return n
}

// checkID compares who we are with who we wanted to be.
func (s *session) checkID(you string) error {
	o := &s.seat.opt
	switch {
	case !wire.ValidID(you):
		return &FatalError{Exit: fault.Gateway, Err: fmt.Errorf("the gateway welcomes us as %s, which cannot be a participant id", text.Quote(you, 100)), Hint: "check which gateway this is"}
	case you == o.ID:
	case o.PinID:
		return &FatalError{Exit: fault.Gateway, Err: fmt.Errorf("the gateway welcomes us as %q, not as %q", you, o.ID), Hint: "get a token for this id, or leave out --pin-id"}
	case !o.AnyID:
		s.log.Warn("the gateway calls us "+text.Line(you)+", not "+o.ID, "topic", o.Topic)
	}
	return nil
}

// start begins the session: from here on frames can be sent, and the frames that came
// before the welcome are handed on.
func (s *session) start(d wire.Dialect, w wire.Welcome) {
	s.dialect, s.you, s.since = d, w.You.ID, time.Now()
	p := &sender{conn: s.conn, trace: s.tracer()}
	if n := s.seat.paceFor(d); n > 0 {
		p.pacer = newPacer(n, p.put, p.conn.Flush, s.log)
	}
	s.seat.sender.Store(p)
	s.seat.joins.Store(s.joined.Load())
	close(s.seated)
	s.h.SeatTaken(d, w)
	for i := range s.early {
		s.h.Received(&s.early[i])
	}
	s.early = nil
}

// paceFor is how many frames a minute may be sent, 0 for any number. Towards
// the gateways that are known to count, pacing begins at once and is lifted
// when this one turns out not to.
func (s *Seat) paceFor(d wire.Dialect) int {
	switch {
	case s.opt.Dial != nil:
		return 0
	case s.opt.Pace > 0:
		return s.opt.Pace
	case restPrefixes[d.Protocol] != "":
		return foreignPace
	}
	return 0
}

// tracer is the trace hook for this session's frames, nil if nobody listens.
func (s *session) tracer() func(dir string, frame []byte) {
	trace := s.seat.opt.Trace
	if trace == nil {
		return nil
	}
	return func(dir string, frame []byte) { trace(dir, redact(frame, s.token)) }
}
