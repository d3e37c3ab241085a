package topic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const (
	earlyFrames = 256 // kept from before the welcome
	earlyBytes  = 4 << 20
)

// A place is the sending end of a session that has been welcomed.
type place struct {
	conn  Conn
	pacer *pacer // nil: no pacing
	trace func(dir string, frame []byte)
}

func (p *place) send(c Class, frame []byte) error {
	if p.pacer != nil {
		return p.pacer.send(c, frame)
	}
	return p.put(frame)
}

func (p *place) put(frame []byte) error {
	if p.trace != nil {
		p.trace("send", frame)
	}
	return p.conn.Put(frame)
}

// A session is one connection, from the upgrade to its end.
type session struct {
	seat   *Seat
	h      Handler
	conn   Conn
	url    int // which candidate; see dialer
	token  string
	rejoin bool // there was a session before
	log    *slog.Logger

	heard  chan struct{} // closed by the first frame
	seated chan struct{} // closed by the welcome
	rumour chan struct{} // somebody came or left under our id; holds one
	joined atomic.Bool   // we said who we are before we were welcomed

	// Of the reader; where the Conn serves, of whoever is served.
	first   bool // a frame came
	dialect wire.Dialect
	you     string // "" before the welcome
	since   time.Time
	early   []wire.Envelope
	bytes   int // in early

	mu    sync.Mutex
	spoke bool  // a frame came or the join was sent
	cause error // why we dropped the link ourselves
}

// run reads until the link ends and returns why it did. It leaves nothing
// behind.
func (s *session) run(ctx context.Context) ending {
	left := make(chan struct{})
	bye := context.AfterFunc(ctx, func() {
		defer close(left)
		s.leave(context.Cause(ctx))
	})
	mind, stop := context.WithCancel(ctx)
	var minding sync.WaitGroup
	minding.Go(func() { s.mind(mind) })

	err := s.read()

	if !bye() {
		<-left
	}
	stop()
	minding.Wait()
	e := ending{err: s.why(err)}
	if s.you != "" {
		e.lived = time.Since(s.since)
		if p := s.seat.place.Swap(nil); p.pacer != nil {
			p.pacer.stop()
		}
	}
	s.conn.Close(1000, "") // reading has ended: this lets go
	switch {
	case s.you == "":
	case ctx.Err() != nil:
		s.h.SeatLost(ErrLeft)
	default:
		s.h.SeatLost(e.err)
	}
	return e
}

// leave says goodbye after what is still to be said.
func (s *session) leave(cause error) {
	s.blame(cause)
	if p := s.seat.place.Load(); p != nil && p.conn == s.conn && p.pacer != nil {
		p.pacer.stop()
	}
	s.conn.Close(1000, "leaving")
}

// drop ends the session for a reason of our own.
func (s *session) drop(cause error) {
	s.blame(cause)
	s.conn.Close(1000, cause.Error())
}

func (s *session) blame(cause error) {
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
		return &wire.CloseError{Code: c.Code, Reason: blot(c.Reason, s.token)}
	}
	return err
}

// read hands on frames until the link ends, or until one of them is fatal.
func (s *session) read() error {
	if c, ok := s.conn.(interface {
		Serve(take func(frame []byte) error, idle func()) error
	}); ok {
		return s.bitter(c.Serve(s.take, s.h.TopicIdle))
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
			return s.bitter(err)
		}
	}
}

// bitter ends the link if it was one of our own errors that ended the reading.
func (s *session) bitter(err error) error {
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
	s.hear()
	d, ok := s.speaks(frame)
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
		return s.stranger(frame)
	}
	switch {
	case e.Kind == wire.Greeting:
		return s.greet(d, &e, frame)
	case s.you == "":
		s.keep(e, len(frame))
	default:
		s.overhear(&e)
		s.h.Received(&e)
	}
	return nil
}

// overhear has the gateway asked whether we are still here when it says that somebody
// under our id came or left.
func (s *session) overhear(e *wire.Envelope) {
	if e.Kind != wire.Presence {
		return
	}
	if _, who, err := e.Presence(); err != nil || who.ID != s.you {
		return
	}
	select {
	case s.rumour <- struct{}{}:
	default: // it will be
	}
}

func (s *session) refuse(err error) {
	r, ok := errors.AsType[*wire.Refused](err)
	if !ok {
		r = &wire.Refused{Reason: wire.EnvelopeInvalid, Detail: err.Error()}
	}
	shown := *r
	shown.Detail = blot(r.Detail, s.token)
	s.h.Refused(&shown)
}

// hear notes that the gateway speaks first, so that we never send a join.
func (s *session) hear() {
	if s.first {
		return
	}
	s.first = true
	s.mu.Lock()
	s.spoke = true
	s.mu.Unlock()
	close(s.heard)
}

// speaks says in which dialect a frame is read: before the welcome the one it
// looks like, afterwards that of the welcome.
func (s *session) speaks(frame []byte) (wire.Dialect, bool) {
	none := wire.Dialect{}
	switch {
	case s.dialect != none:
		return s.dialect, true
	case s.seat.fixed != none:
		return s.seat.fixed, true
	}
	return wire.Detect(frame)
}

// stranger gives up on a gateway that welcomes us in another dialect than the
// one we were told to speak: waiting would not change it.
func (s *session) stranger(frame []byte) error {
	d, ok := wire.Detect(frame)
	if s.you != "" || !ok || d == s.seat.fixed || s.seat.fixed.Protocol == "" {
		return nil
	}
	if e, err := d.Decode(frame); err != nil || e.Kind != wire.Greeting {
		return nil
	}
	return &FatalError{
		Exit: 4,
		Err:  fmt.Errorf("the gateway speaks %s, not %s", d.Protocol, s.seat.fixed.Protocol),
		Hint: "use --dialect auto or --dialect " + d.Protocol,
	}
}

// keep stores what came before the welcome: our own id is not known yet, so
// nobody could say what it is for (WIRE 1.4).
func (s *session) keep(e wire.Envelope, size int) {
	if len(s.early) >= earlyFrames || s.bytes+size > earlyBytes {
		s.h.Refused(&wire.Refused{Reason: "too_early", Detail: "too much came before the welcome", ID: e.ID, From: e.From})
		return
	}
	s.early = append(s.early, e)
	s.bytes += size
}

// greet takes a welcome: the first makes the session, later ones refresh it.
func (s *session) greet(d wire.Dialect, e *wire.Envelope, frame []byte) error {
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
	s.settle(named(d, frame), w)
	return nil
}

// named is the dialect by the protocol string of the welcome, which is what
// all our frames must carry (WIRE W-1), also where we were told another one of
// the same family.
func named(d wire.Dialect, frame []byte) wire.Dialect {
	n, ok := wire.Detect(frame)
	if !ok || rests[d.Protocol] != rests[n.Protocol] || !bytes.Contains(frame, strconv.AppendQuote(nil, n.Protocol)) {
		return d
	}
	return n
}

// checkID compares who we are with who we wanted to be.
func (s *session) checkID(you string) error {
	o := &s.seat.opt
	switch {
	case !wire.ValidID(you):
		return &FatalError{Exit: 4, Err: fmt.Errorf("the gateway welcomes us as %s, which cannot be a participant id", text.Quote(you, 100)), Hint: "check which gateway this is"}
	case you == o.ID:
	case o.PinID:
		return &FatalError{Exit: 4, Err: fmt.Errorf("the gateway welcomes us as %q, not as %q", you, o.ID), Hint: "get a token for this id, or leave out --pin-id"}
	default:
		s.log.Warn("welcomed under another id", "asked", o.ID, "given", you)
	}
	return nil
}

// settle makes the session ours and hands on what came early.
func (s *session) settle(d wire.Dialect, w wire.Welcome) {
	s.dialect, s.you, s.since = d, w.You.ID, time.Now()
	p := &place{conn: s.conn, trace: s.tracer()}
	if n := s.seat.paceFor(d); n > 0 {
		p.pacer = newPacer(n, p, s.log)
	}
	s.seat.place.Store(p)
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
	case rests[d.Protocol] != "":
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
