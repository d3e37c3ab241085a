package gateway

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A Local is a seat taken from inside this process. It behaves as one taken
// over a socket: the same checks, the same limits, the same ends.
type Local struct {
	session *hub.Session

	said   atomic.Bool   // something was put that was not flushed
	relief chan struct{} // there is more than others are to serve: Serve is to go on
	over   chan struct{} // closed by finish

	finishing sync.Once

	turn sync.Mutex         // held by whoever serves
	take func([]byte) error // guarded by turn, as the next two; nil unless somebody serves
	idle func()
	bad  error // what take ended with

	mu     sync.Mutex    // taken after turn
	more   sync.Cond     // something was queued, or the end has come
	ease   chan struct{} // closed when the queue is short again; nil if nobody waits for that
	queue  [][]byte
	room   [][]byte // empty; what queue begins in, so that a few frames at a time cost no allocation
	bytes  int
	end    *wire.CloseError // why no more will be queued
	frames int              // most that may wait
	size   int              // most bytes that may wait
}

// Attach takes a seat in a topic from inside this process, under the same
// rules as one taken over a socket: d is its dialect, caps what it may send
// (the zero Caps mean the default grant). A session under the same id is
// replaced. The first frame to read is the welcome.
func (g *Gateway) Attach(topic, id string, caps wire.Caps, d wire.Dialect) (*Local, error) {
	if !wire.ValidTopic(topic) {
		return nil, fmt.Errorf("attach: %q is no name for a topic: %s", topic, wire.TopicGrammar)
	}
	if !wire.ValidID(id) {
		return nil, fmt.Errorf("attach: %q is no participant id: %s", id, wire.IDGrammar)
	}
	l := &Local{relief: make(chan struct{}, 1), over: make(chan struct{}), room: make([][]byte, 0, 16), frames: g.opt.MaxQueue, size: g.opt.MaxQueueBytes}
	l.more.L = &l.mu
	var err error
	if l.session, err = g.take(topic, hub.Guest{ID: id, Caps: grant(caps, d), Dialect: d, Sink: localSink{l}, Came: g.tickets.Add(1)}); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	return l, nil
}

// Read returns the next frame of the topic. It waits for one; after the seat
// is lost it returns what was still queued and then a *wire.CloseError. The
// bytes are shared with other participants: they may be kept, not changed.
// One goroutine may read, and not while [Local.Serve] does.
func (l *Local) Read() ([]byte, error) {
	if l.waits() {
		l.Flush()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 {
		if l.end != nil {
			return nil, l.end
		}
		l.more.Wait()
	}
	return l.nextLocked(), nil
}

func (l *Local) nextLocked() []byte {
	frame := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	l.bytes -= len(frame)
	if !l.crowdedLocked() {
		l.easeLocked()
	}
	return frame
}

// next returns the next frame if there is one.
func (l *Local) next() ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil, false
	}
	return l.nextLocked(), true
}

// pending reports whether a frame is queued.
func (l *Local) pending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) > 0
}

// finish lets Serve return: no more will be queued, or taken.
func (l *Local) finish() { l.finishing.Do(func() { close(l.over) }) }

// waits reports whether there is nothing to read.
func (l *Local) waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) == 0 && l.end == nil
}

// Serve reads in place of Read: every frame is given to take, and idle is called
// when there is none left, and after every 64 frames. Both run on the goroutine
// of whoever has just said something in the topic, when that one would wait for
// more itself, so that no other goroutine need be woken; what is left after 1024
// frames runs on the goroutine that called Serve. Never two run at a time, and
// neither may wait for anybody. Serve returns what take failed with, after which
// the rest can be read, or else, once the seat is lost and all that was queued is
// taken, a *wire.CloseError.
func (l *Local) Serve(take func(frame []byte) error, idle func()) error {
	l.turn.Lock()
	l.take, l.idle = take, idle
	l.turn.Unlock()
	for over := false; !over; {
		l.turn.Lock()
		l.serve(0)
		l.turn.Unlock()
		l.flush()
		select {
		case <-l.relief:
		case <-l.over:
			over = true
		}
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	l.serve(0)
	l.take, l.idle = nil, nil
	if l.bad != nil {
		return l.bad
	}
	return l.ended()
}

// serve hands on what is queued, at most so many frames, 0 for all, and reports
// whether that was enough of them. The caller holds l.turn.
func (l *Local) serve(most int) (enough bool) {
	for n := 1; l.take != nil && l.bad == nil; n++ {
		frame, more := l.next()
		if !more || n%flushAfter == 0 {
			l.idle()
			l.Flush()
		}
		if !more {
			return false
		}
		if l.bad = l.take(frame); l.bad != nil {
			l.finish()
		}
		if n == most {
			l.idle()
			l.Flush()
			return true
		}
	}
	return false
}

// forOthers is how many frames somebody hands on whose own are not read
// meanwhile.
const forOthers = 16 * flushAfter

// flush serves what is queued, on the caller's goroutine. It does nothing while another
// goroutine serves: that one looks at the queue again after it has given back the turn, so every
// frame is served by one of the two. The caller has a participant of its own to read, and others
// may say more than it can hand on: after forOthers frames the rest is left to Serve.
func (l *Local) flush() {
	for l.pending() && l.turn.TryLock() {
		served, enough := l.take != nil && l.bad == nil, l.serve(forOthers)
		l.turn.Unlock()
		switch {
		case enough:
			select {
			case l.relief <- struct{}{}:
			default: // Serve has been told already
			}
			return
		case !served:
			return
		}
	}
}

// Put says frame in the topic, through the checks every participant's frames
// go through: what is refused comes back as a fault to Read. The frame belongs
// to the gateway from here on. Others see it at the next Flush, or when Read is
// about to wait. Any goroutine may put.
func (l *Local) Put(frame []byte) error {
	if err := l.ended(); err != nil {
		return err
	}
	err := l.session.Ingest(frame)
	l.said.Store(true)
	return err
}

// Flush makes the others see what was put. It waits for nobody, but may stay awake
// for 60 µs (see hub.Session.Flush).
func (l *Local) Flush() {
	if l.said.Swap(false) {
		l.session.Flush()
	}
}

// Close leaves the topic. Read returns what was queued and then code and
// reason.
func (l *Local) Close(code int, reason string) error {
	l.cut(code, reason)
	l.session.Leave()
	return nil
}

func (l *Local) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		return l.end
	}
	return nil
}

// A localSink is what the hub sees of a Local.
type localSink struct{ *Local }

// Put implements hub.Sink.
func (l localSink) Put(frame []byte) hub.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.end != nil:
		return hub.Gone
	case len(l.queue) >= l.frames, len(l.queue) > 0 && l.bytes+len(frame) > l.size:
		return hub.Slow
	}
	if len(l.queue) == 0 {
		l.queue = l.room
	}
	l.queue = append(l.queue, frame)
	l.bytes += len(frame)
	l.more.Signal()
	if l.crowdedLocked() {
		return hub.Crowded
	}
	return hub.Taken
}

// Flush implements hub.Sink.
func (l localSink) Flush() { l.flush() }

// Cut implements hub.Sink.
func (l localSink) Cut(code int, reason string) { l.cut(code, reason) }

// Inline implements hub.Sink.
func (l localSink) Inline() bool { return true }

// Await implements hub.Sink: one in this process need not be waited for.
func (l localSink) Await() bool { return false }

// crowdedLocked reports whether the queue is half full.
func (l *Local) crowdedLocked() bool {
	return l.end == nil && (len(l.queue) > l.frames/2 || l.bytes > l.size/2)
}

func (l *Local) easeLocked() {
	if l.ease != nil {
		close(l.ease)
		l.ease = nil
	}
}

// WaitForRoom implements hub.Sink.
//
// A seat on the network has the buffers of two kernels before its queue. One in
// here has none, and a few hundred small frames said in one breath would cost
// it the seat that everybody came for. So the one who says them waits; but not
// another in this process, which this one may wait for.
func (l localSink) WaitForRoom(ctx context.Context) {
	for {
		l.mu.Lock()
		if !l.crowdedLocked() {
			l.mu.Unlock()
			return
		}
		if l.ease == nil {
			l.ease = make(chan struct{})
		}
		ease := l.ease
		l.mu.Unlock()
		select {
		case <-ease:
		case <-ctx.Done():
			return
		}
	}
}

// cut ends the session. The first call counts.
func (l *Local) cut(code int, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == nil {
		l.end = &wire.CloseError{Code: code, Reason: reason}
		l.more.Signal()
		l.easeLocked()
		l.finish()
	}
}
