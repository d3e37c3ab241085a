package hub

import (
	"context"
	"errors"
)

// MaxFrame is how many bytes a frame may have at most.
const MaxFrame = 16 << 20

// An Outcome is what became of a frame that was put into a sink.
type Outcome uint8

// The outcomes. After Slow and Gone the topic ends the participant's stay.
const (
	Taken   Outcome = iota
	Crowded         // taken, but the sink is half full: who says more should wait (see Session.Ease)
	Slow            // not taken: the reader is too far behind
	Gone            // not taken: the session has ended
)

func (o Outcome) lost() bool { return o >= Slow }

// A Sink is the way to a participant. Any goroutine may call its methods, also with a topic's
// lock held; so none of them waits for the other end, unless it says so, and none but Flush and
// Await calls the hub.
type Sink interface {
	// Put queues a frame. The sink may keep its bytes, which several participants share: nobody
	// changes them.
	Put(frame []byte) Outcome

	// Flush hands on what was put.
	Flush()

	// Cut ends the session, with what was put before still handed on. The first cut counts.
	Cut(code int, reason string)

	// Inline reports whether the participant does its work within Flush. Such are flushed
	// last. It is asked once.
	Inline() bool

	// Await stays awake for what the participant is likely to say next, 60 µs at most, and
	// reports whether it did.
	Await() bool

	// WaitForRoom waits until it is not Crowded, or ctx ends. It is called with no lock held.
	WaitForRoom(ctx context.Context)
}

// remote is the sink of a member that another hub serves: that one puts the same frames into
// the real one.
type remote struct{}

func (remote) Put([]byte) Outcome          { return Taken }
func (remote) Flush()                      {}
func (remote) Cut(int, string)             {}
func (remote) Inline() bool                { return false }
func (remote) Await() bool                 { return false }
func (remote) WaitForRoom(context.Context) {}

// How the hub ends a session: codes of RFC 6455, or of the range for private use.
const (
	CodeReplaced   = 4001
	ReasonReplaced = "replaced by a newer session under the same id"
	codePolicy     = 1008
	ReasonSlow     = "slow consumer"
	ReasonExpired  = "the lease of the seat has ended"
)

// Why somebody gets no seat. Errors of a Log or a Presence come beside these.
var (
	ErrClosed   = errors.New("the gateway is closed")
	ErrTopics   = errors.New("the gateway keeps as many topics as it may")
	ErrFull     = errors.New("the topic is full")
	ErrReplaced = errors.New(ReasonReplaced) // a newer session has the seat

	errGivenUp = errors.New("the session did not wait")
)
