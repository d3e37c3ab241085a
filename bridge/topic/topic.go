// Package topic keeps one seat at one topic: it dials the gateway, finds out
// which dialect is spoken, waits for the welcome, reads, sends, notices a dead
// link, and joins again when the link is lost.
//
// A session takes one road, in the goroutine of [Seat.Run]:
//
//	token -> dial -> first frame (or, after a silence, our join) -> welcome
//	      -> SeatTaken -> Received … -> SeatLost -> wait -> token …
//
// Beside it each session has one goroutine that minds the clock (join, welcome
// time-out, ping, ghost check). Nothing here waits for a slow gateway: frames
// are put into an outbox and leave together when the reader is about to block.
//
// A frame that the gateway delivers twice is handed on twice. Which calls run
// once only is for the engine to see to, which remembers across sessions and
// restarts. Neither is a roster kept here.
package topic

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A Conn is one connection to a gateway: frames in, frames out.
//
// A Conn may have more methods, which are used where they are there:
//
//   - Serve(take func(frame []byte) error, idle func()) error: it gives every
//     frame to take and calls idle when there is none left, from any goroutine
//     but never two at a time, until the end or until take fails. Without it
//     one goroutine reads.
//   - Idle(f func()): Read calls f whenever it is about to wait. Without it
//     [Handler.TopicIdle] is called before every Read.
//   - Ping() error and Heard() bool: Ping asks for a sign of life, Heard
//     reports whether anything came since it was last called. Without them
//     nothing is pinged.
type Conn interface {
	// Read returns the next frame, which the caller may keep and must not
	// change. At the end it returns a *wire.CloseError if the gateway said
	// why, else another error.
	// ErrTooLarge is not the end: one frame was skipped. Called from one
	// goroutine.
	Read() ([]byte, error)

	// Put takes a frame, which belongs to the Conn from here on. It never
	// waits. The frame leaves with the next Flush or the next waiting Read.
	Put(frame []byte) error

	// Flush waits for nobody's progress; where the gateway is in this process it may take 60 µs awake.
	Flush()

	// Close says goodbye and makes Read end soon. Once Read has ended it lets
	// go of everything. It may be called more than once.
	Close(code int, reason string) error
}

// A Class says how urgent a frame is where sending is paced (WIRE W-3).
type Class = wire.Class

const (
	Reply        = wire.Reply
	Cancellation = wire.Cancellation
	Question     = wire.Question
	Own          = wire.Own
	Notice       = wire.Notice
	Progress     = wire.Progress
)

var (
	// ErrNoSeat: the topic has not welcomed us, or the link is down.
	ErrNoSeat = errors.New("no seat at the topic")
	// ErrLeft: we gave up the seat because Run's context ended.
	ErrLeft = errors.New("we left the topic")
	// ErrTooLarge: a frame is over the 16 MiB a topic takes.
	ErrTooLarge = errors.New("the frame is over 16 MiB")
)

// Options say which seat to take. They may not be changed after New.
type Options struct {
	URL      string // ws or wss. Without a path the usual ones are tried (WIRE 1.4)
	Insecure bool   // clear text is fine off loopback too
	Topic    string
	ID       string // who we want to be; the gateway has the last word
	PinID    bool   // being welcomed under another id is fatal
	Dialect  string // a protocol string; "" and "auto" find it out

	// Token is asked for a token before every dial; nil means none. After the
	// gateway refused one it is called once with again set; a second refusal
	// is fatal. An error is tried again later unless it is a *FatalError.
	Token        func(ctx context.Context, again bool) (string, error)
	TokenInQuery bool // also as ?token=, for gateways that read nothing else; URLs get logged

	// Pace is how many frames may be sent per minute, with a burst of a fifth
	// of that. 0 paces only towards a foreign gateway that says it counts
	// (WIRE W-3), at 50. No effect with Dial.
	Pace int

	// MaxWaitFirst bounds the time from Run to the first welcome; 0 tries for
	// ever. Later outages are never bounded.
	MaxWaitFirst time.Duration

	// Dial replaces the network, for a seat in this process or a gateway that
	// has to be found first. Nothing else is then asked of the gateway: no
	// ghost check, no pacing.
	Dial func(ctx context.Context) (Conn, error)

	TLS     *tls.Config                                                       // for wss; nil means the system's roots
	NetDial func(ctx context.Context, network, addr string) (net.Conn, error) // nil means TCP

	Log *slog.Logger // nil discards; never sees a token or a payload

	// Trace sees every frame, dir being "send" or "recv", without the token
	// and with the value of every member called token blotted out. It is
	// called from several goroutines and must neither keep nor change frame.
	Trace func(dir string, frame []byte)
}

// A Handler hears what happens at the topic. All methods are called from the
// goroutine in Run, one at a time, and must not wait for anything.
type Handler interface {
	// SeatTaken: we are welcome, under w.You.ID. Send works from here on. It
	// comes after every joining; again without a SeatLost in between, it is
	// the same session with a new roster and new capabilities (WIRE 5.3).
	SeatTaken(d wire.Dialect, w wire.Welcome)
	// SeatLost: the link is down, and ErrLeft if that is our own doing. What was
	// sent may or may not have arrived.
	SeatLost(err error)
	// Received hands on a frame, welcomes excepted. What came before the
	// welcome follows right after the first SeatTaken.
	Received(e *wire.Envelope)
	// Refused hands on why a frame was dropped.
	Refused(r *wire.Refused)
	// TopicIdle: everything that came has been handed on and the seat is about
	// to wait for the gateway. It must not call Seat.Run.
	TopicIdle()
}

// A FatalError ends Run: trying again would not help. Exit is the exit code
// of the program (DESIGN section 9).
type FatalError struct {
	Exit int // 4: the gateway refused us; 7: somebody else uses our id
	Err  error
	Hint string
}

func (e *FatalError) Error() string { return e.Err.Error() }
func (e *FatalError) Unwrap() error { return e.Err }

// A UsageError says what is wrong with Options and what to write instead.
type UsageError struct {
	What, Hint string
}

func (e *UsageError) Error() string { return e.What }

// A Seat is one seat at one topic. Send and Flush may be called from any
// goroutine at any time; Run once.
type Seat struct {
	opt   Options
	at    address      // zero with Options.Dial
	fixed wire.Dialect // zero: find it out
	log   *slog.Logger

	place  atomic.Pointer[place] // nil between sessions
	joins  atomic.Bool           // the gateway waits for us to join: it welcomed us after we did
	listed atomic.Bool           // the gateway has listed us among the participants
}

// New checks the options. Its errors are *UsageErrors. It does no I/O.
func New(o Options) (*Seat, error) {
	s := &Seat{opt: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	if o.Dial == nil {
		at, err := parseAddress(o)
		if err != nil {
			return nil, err
		}
		s.at, s.opt.Topic = at, cmp.Or(o.Topic, at.topic)
	}
	if err := checkNames(s.opt); err != nil {
		return nil, err
	}
	if o.Dialect != "" && o.Dialect != "auto" {
		d, ok := wire.Lookup(o.Dialect)
		if !ok {
			return nil, &UsageError{
				What: fmt.Sprintf("there is no dialect %q", o.Dialect),
				Hint: "use auto, or one of " + strings.Join(wire.Protocols(), ", "),
			}
		}
		s.fixed = d
	}
	return s, nil
}

func checkNames(o Options) error {
	if !wire.ValidID(o.ID) {
		return &UsageError{
			What: fmt.Sprintf("%q cannot be a participant id", o.ID),
			Hint: "use 1 to 64 letters, digits, '_', '.', '-', not beginning with system",
		}
	}
	if o.Topic == "" || len(o.Topic) > 256 || strings.ContainsFunc(o.Topic, unicode.IsControl) {
		return &UsageError{
			What: fmt.Sprintf("%q cannot be the name of a topic", o.Topic),
			Hint: "use 1 to 256 printable characters",
		}
	}
	return nil
}

// Send puts a frame on its way. It never waits; the frame leaves with the
// next Flush, or when the reader is next about to block, or when the pace
// allows. The frame belongs to the Seat from here on. Errors: ErrNoSeat,
// ErrTooLarge, outbox.ErrFull, or what broke the link.
func (s *Seat) Send(c Class, frame []byte) error {
	p := s.place.Load()
	if p == nil {
		return ErrNoSeat
	}
	return p.send(c, frame)
}

// Flush hands what was sent to the network. It never waits.
func (s *Seat) Flush() {
	if p := s.place.Load(); p != nil {
		p.conn.Flush()
	}
}

// Dial opens one connection as a Seat without Options.Dial would, trying the
// usual paths. It is for an Options.Dial that first has to find its gateway.
// A refusal is a *wire.CloseError with the HTTP status.
func Dial(ctx context.Context, o Options, token string) (Conn, error) {
	at, err := parseAddress(o)
	if err != nil {
		return nil, err
	}
	conn, _, err := (&dialer{opt: o, urls: at.candidates(cmp.Or(o.Topic, at.topic), o.Dialect)}).dial(ctx, token, 0)
	return conn, err
}
