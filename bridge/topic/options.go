package topic

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

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

	// Flush hands what was put to the network. It never waits for the other end; where the
	// gateway is in this process it may use the processor for up to 60 µs.
	Flush()

	// Close says goodbye and makes Read end soon. Once Read has ended it lets
	// go of everything. It may be called more than once.
	Close(code int, reason string) error
}

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
	ID       string // who we want to be; the gateway decides
	AnyID    bool   // nobody chose ID, so being welcomed under another is no news
	PinID    bool   // being welcomed under another id is fatal
	Dialect  string // a protocol string; "" and "auto" find it out

	// Token is asked for a token before every dial; nil means none. After the
	// gateway refused one it is called once with again set; a second refusal
	// is fatal, and so is [ErrNoOther]. Another error is tried again later
	// unless it is a *FatalError.
	Token        func(ctx context.Context, again bool) (string, error)
	TokenInQuery bool // also as ?token=, for gateways that read nothing else; URLs get logged

	// Pace is how many frames may be sent per minute, with a burst of a fifth
	// of that. 0 paces only towards a foreign gateway that says it counts
	// (WIRE W-3), at 50. No effect with Dial.
	Pace int

	// MaxWaitFirst bounds the time from Run to the first welcome; 0 tries for
	// ever. Later outages are never bounded.
	MaxWaitFirst time.Duration

	// Yields gives the seat up, with [fault.ID], as soon as somebody joins under our id. Without
	// it the seat is taken back once, half a minute later.
	Yields bool

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

// A FatalError ends [Seat.Run]: trying again would not help. Any other error, a [*fault.Error]
// too, is one that the Seat tries again after.
type FatalError struct {
	Exit int // a code of package fault: [fault.Gateway], [fault.ID]; others from Options.Token and Options.Dial
	Err  error
	Hint string // what a person can do; may be empty
}

func (e *FatalError) Error() string { return e.Err.Error() }
func (e *FatalError) Unwrap() error { return e.Err }
