package topic

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const (
	foreignPace = 50          // frames a minute; the reference gateways drop the 61st (WIRE W-3)
	patience    = 4           // so many frames of others leave before one of a class that waits
	claimAgain  = time.Second // a claim that was refused has come again by then, if it does: longer than the Engine's resendAfter
)

// A pacer lets frames through no faster than a gateway counts them, the most
// urgent first, save for what has waited for many of those. It has no goroutine:
// what waits is let go by a timer.
//
// In any minute no more than burst plus one frame per interval pass, which is
// 60 at the default of 50.
type pacer struct {
	put   func(frame []byte) error
	flush func()
	log   *slog.Logger
	every time.Duration // one more frame may pass
	burst int

	mu      sync.Mutex
	state   paceState
	tokens  int       // frames that may pass at once
	since   time.Time // when the last token was added
	waiting [wire.Progress][][]byte
	passed  [wire.Progress]int // of a class that waits: how many frames went before its first
	frames  int                // in waiting
	bytes   int                // in waiting
	timer   *time.Timer
	refused time.Time // when a claim had to come again
	claimed bool      // what passed last was a claim
	dropped int       // progress frames
}

type paceState uint8

const (
	pacing paceState = iota
	open             // everything passes
	closed           // nothing does
)

// newPacer paces what goes to put. flush is called when frames were let go later.
func newPacer(perMinute int, put func(frame []byte) error, flush func(), log *slog.Logger) *pacer {
	burst := max(1, perMinute/5)
	return &pacer{
		put: put, flush: flush, log: log,
		every: time.Minute / time.Duration(perMinute), burst: burst,
		tokens: burst, since: time.Now(),
	}
}

// send lets a frame pass or keeps it for later. Progress never waits: it is
// dropped when the tokens that are left may be needed for an answer. Nor does a claim,
// whose sender must know when it leaves: it comes again, and has a token then.
func (p *pacer) send(c wire.Class, frame []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refill()
	switch {
	case p.state == closed:
		return ErrNoSeat
	case p.state == open:
		return p.put(frame)
	case c == wire.Claim:
		if p.tokens == 0 || p.claimed && p.frames > 0 {
			p.refused = time.Now()
			return outbox.ErrFull
		}
	case c == wire.Progress:
		if p.free() <= 0 || p.frames > 0 || 2*p.tokens <= p.burst {
			p.dropped++
			return nil
		}
	case p.frames > 0 || p.free() <= 0:
		return p.keep(c, frame)
	}
	p.tokens--
	p.claimed = c == wire.Claim
	return p.put(frame)
}

// free is how many of the tokens are for others than a claim that comes again. Of two in a
// row it has one at the most, so that claims do not keep answers back either.
func (p *pacer) free() int {
	if !p.claimed && time.Since(p.refused) < claimAgain {
		return p.tokens - 1
	}
	return p.tokens
}

func (p *pacer) refill() {
	if n := int(time.Since(p.since) / p.every); n > 0 {
		p.since = p.since.Add(time.Duration(n) * p.every)
		p.tokens = min(p.burst, p.tokens+n)
	}
}

func (p *pacer) keep(c wire.Class, frame []byte) error {
	if p.frames >= queueFrames || p.bytes+len(frame) > queueBytes {
		return outbox.ErrFull
	}
	if c == wire.Cancellation {
		c = p.behind(frame)
	}
	p.waiting[c] = append(p.waiting[c], frame)
	p.frames++
	p.bytes += len(frame)
	p.arm()
	return nil
}

// behind returns the class with which a cancellation waits: that of what it takes back, if that waits
// itself. Whoever got the cancellation first would know nothing of that, and do it once it comes.
func (p *pacer) behind(cancellation []byte) wire.Class {
	id := takenBack(cancellation)
	for _, class := range [...]wire.Class{wire.Own, wire.Question} {
		if slices.ContainsFunc(p.waiting[class], func(frame []byte) bool { return bytes.Contains(frame, id) }) {
			return class
		}
	}
	return wire.Cancellation
}

// takenBack is the id of what a cancellation takes back, as it stands in the frame of that: ids of ours
// are spelled in one way. It is empty where none is found, and then it may be any.
func takenBack(cancellation []byte) []byte {
	var frame struct {
		Corr    json.RawMessage `json:"correlation_id"` // of a withdrawal: the proposal
		Payload struct {
			Params struct{ RequestID json.RawMessage }
		}
	}
	if json.Unmarshal(cancellation, &frame) != nil {
		return nil
	}
	id := frame.Payload.Params.RequestID
	if id == nil {
		id = bytes.Trim(frame.Corr, "[]")
	}
	return id
}

// arm sets the timer for the next token.
func (p *pacer) arm() {
	if p.timer == nil {
		p.timer = time.AfterFunc(time.Until(p.since.Add(p.every)), p.release)
	}
}

// release sends as many of the waiting frames as the tokens allow.
func (p *pacer) release() {
	p.mu.Lock()
	p.timer = nil
	p.refill()
	for p.state == pacing && p.free() > 0 && p.frames > 0 {
		p.tokens--
		p.claimed = false
		p.putNext()
	}
	if p.state == pacing && p.frames > 0 {
		p.arm()
	}
	p.mu.Unlock()
	p.flush()
}

// putNext sends one of the frames that wait. There must be one.
func (p *pacer) putNext() {
	c := p.next()
	q := p.waiting[c]
	frame := q[0]
	q[0], p.waiting[c] = nil, q[1:]
	p.frames--
	p.bytes -= len(frame)
	if err := p.put(frame); err != nil {
		p.log.Warn("a frame that waited for its turn was lost", "error", err)
	}
}

// next is the class whose turn it is: of those that wait the most urgent, and before that one
// that has let too many go first. Anybody can cause more answers than may leave.
func (p *pacer) next() (class int) {
	class = -1
	for c := range p.waiting {
		if len(p.waiting[c]) == 0 {
			continue
		}
		p.passed[c]++
		if class < 0 || p.passed[c] > patience && p.passed[class] <= patience {
			class = c
		}
	}
	p.passed[class] = 0
	return class
}

func (p *pacer) paces() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state == pacing
}

// lift ends the pacing: what waits passes at once, and all that follows.
func (p *pacer) lift() { p.end(open) }

// stop sends what waits, because the link is about to end, and takes nothing more.
func (p *pacer) stop() { p.end(closed) }

func (p *pacer) end(state paceState) {
	p.mu.Lock()
	for p.state == pacing && p.frames > 0 {
		p.putNext()
	}
	p.state = state
	if p.timer != nil {
		p.timer.Stop()
	}
	dropped := p.dropped
	p.dropped = 0
	p.mu.Unlock()
	if dropped > 0 {
		p.log.Info("progress frames dropped to keep the pace of the gateway", "count", dropped)
	}
	p.flush()
}
