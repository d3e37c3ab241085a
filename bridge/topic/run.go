package topic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// errLate is the cause when MaxWaitFirst has passed.
var errLate = errors.New("no welcome in time")

// Run takes the seat and keeps it: it joins, reads, and joins again whenever
// the link is lost. It returns nil once ctx has ended, and a *FatalError when
// it must give up; everything it started is gone by then. On the way out it
// says goodbye, which takes 2 s at most.
func (s *Seat) Run(ctx context.Context, h Handler) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.opt.MaxWaitFirst > 0 {
		late := time.AfterFunc(s.opt.MaxWaitFirst, func() { cancel(errLate) })
		defer late.Stop()
		h = &firstSeat{Handler: h, taken: func() { late.Stop() }}
	}
	r := runner{seat: s, h: h, retryState: retryState{yields: s.opt.Yields}}
	if s.opt.Dial == nil {
		r.dialer = dialer{opt: s.opt, urls: s.at.candidates(s.opt.Topic, s.opt.Dialect)}
	}
	fatal := r.loop(within)
	switch {
	case ctx.Err() != nil:
		return nil
	case context.Cause(within) == errLate:
		return &FatalError{Exit: fault.Gateway, Err: fmt.Errorf("no seat at the topic within %v: %w", s.opt.MaxWaitFirst, r.last), Hint: "check that the gateway runs and can be reached"}
	}
	return fatal
}

// A firstSeat calls taken with the first welcome.
type firstSeat struct {
	Handler
	taken func()
}

func (f *firstSeat) SeatTaken(d wire.Dialect, w wire.Welcome) {
	f.taken()
	f.Handler.SeatTaken(d, w)
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
	minding.Go(func() { s.keepalive(mind) })

	err := s.read()

	if !bye() {
		<-left
	}
	stop()
	minding.Wait()
	e := ending{err: s.why(err)}
	if s.you != "" {
		e.lived = time.Since(s.since)
		if p := s.seat.sender.Swap(nil); p.pacer != nil {
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

// A runner is one Run.
type runner struct {
	retryState
	seat       *Seat
	h          Handler
	dialer     dialer
	url        int      // the candidate to begin with
	last       error    // the latest ending
	told       string   // the latest one that was warned of, since we were welcomed
	lastToken  string   // the latest token
	fetched    *fetched // the next token, or why there is none, once it was asked for
	shortLived bool     // the latest session did not last
}

// What Options.Token returned.
type fetched struct {
	token string
	err   error
}

// loop makes one session after the other. It never opens a socket before the
// former is gone.
func (r *runner) loop(ctx context.Context) error {
	for {
		e := r.once(ctx)
		if ctx.Err() != nil {
			if r.last == nil {
				r.last = e.err
			}
			return nil
		}
		r.last, r.shortLived = e.err, e.lived < settled
		wait, fatal := r.next(e, r.seat.opt.Token != nil)
		if outcomeOf(e.err) == refused && (fatal != nil || !r.renew(ctx)) {
			return r.seat.opt.notTaken(r.lastToken, e.err, time.Now())
		}
		switch {
		case fatal != nil:
			return fatal
		case ctx.Err() != nil: // meanwhile
			return nil
		}
		r.tellRetry(e.err, wait)
		if !pause.For(ctx, wait) {
			return nil
		}
	}
}

// once makes one session, if it comes to that.
func (r *runner) once(ctx context.Context) ending {
	token, err := r.token(ctx)
	if err != nil {
		return ending{err: err}
	}
	conn, url, err := r.dial(ctx, token)
	if err != nil {
		return ending{err: err}
	}
	s := &session{
		seat: r.seat, h: r.h, conn: conn, url: url, token: token, rejoin: r.welcomed, log: r.seat.log,
		heard: make(chan struct{}), seated: make(chan struct{}), presence: make(chan struct{}, 1),
	}
	e := s.run(ctx)
	switch {
	case s.you != "":
		r.welcomed, r.url, r.told = true, url, ""
	case errors.Is(e.err, errNoWelcome):
		r.url = url + 1 // took the upgrade and meant nothing by it
	}
	return e
}

// renew fetches the token to come after one that was refused, before anybody is told that we
// try again. It reports false if there is no other, or one that would be refused once more.
func (r *runner) renew(ctx context.Context) bool {
	token, err := r.seat.opt.Token(ctx, true)
	r.fetched = &fetched{token, err}
	return !errors.Is(err, ErrNoOther) && (err != nil || token != r.lastToken || !r.shortLived)
}

// tellRetry warns of what keeps us from the topic, once for as long as it is the same.
func (r *runner) tellRetry(err error, wait time.Duration) {
	level := slog.LevelWarn
	if err.Error() == r.told {
		level = slog.LevelDebug
	}
	r.told = err.Error()
	r.seat.log.Log(context.Background(), level, "no link to the topic, trying again", "error", err, "in", wait.Round(time.Millisecond))
}

func (r *runner) token(ctx context.Context) (string, error) {
	if r.seat.opt.Token == nil {
		return "", nil
	}
	next := r.fetched
	r.fetched = nil
	if next == nil {
		token, err := r.seat.opt.Token(ctx, false)
		next = &fetched{token, err}
	}
	if next.err != nil {
		return "", fmt.Errorf("get a token: %w", next.err)
	}
	r.lastToken = next.token
	return next.token, nil
}

func (r *runner) dial(ctx context.Context, token string) (Conn, int, error) {
	if r.seat.opt.Dial != nil {
		conn, err := r.seat.opt.Dial(ctx)
		return conn, 0, err
	}
	return r.dialer.dial(ctx, token, r.url)
}
