package engine

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Gateways deliver each frame to everybody in the topic, whomever it is for, and cut off
// who cannot keep up. So what a server says often has a pace. Progress of a call passes at
// once as long as it is not much; beyond that the newest passes now and then, and the last
// before the answer always.
const (
	progressAtOnce = 64
	progressEvery  = time.Second / 20

	// The same for all that a server says of progress and of changed resources, in frames.
	allAtOnce = 1024
	allEvery  = time.Second / 500

	waitsMax = 16 << 10 // bytes of what may wait; longer progress passes at once or not at all
)

// allWait is how long the pace of a whole server has something wait, if at all: never so
// shortly that all who wait look for room each time that there is some for one.
func allWait(p *inflight.Pace, now time.Time) time.Duration {
	if wait := p.Wait(now, allAtOnce, allEvery); wait > 0 {
		return max(wait, progressEvery)
	}
	return 0
}

// weightOf is for how many a long notification counts.
func weightOf(payload []byte) int { return 1 + len(payload)/(4<<10) }

// passOn tells a caller of progress, now or when there is room.
func (e *Engine) passOn(c *inflight.Call, payload []byte) {
	p := &c.Progress
	wait := max(p.Wait(e.now, progressAtOnce, progressEvery), allWait(&e.server.passed, e.now))
	if p.Alarm == nil && wait == 0 {
		e.tellProgress(c, payload)
		return
	}
	if len(payload) > waitsMax {
		return
	}
	p.Waits = payload
	if p.Alarm == nil {
		p.Alarm = e.alarms.set(e.now.Add(wait), func() {
			payload := p.Waits
			p.Waits, p.Alarm = nil, nil
			e.passOn(c, payload)
		})
	}
}

// passLast tells a caller, before its answer, of the progress that waits.
func (e *Engine) passLast(c *inflight.Call) {
	if c.Progress.Waits != nil {
		e.tellProgress(c, c.Progress.Waits)
	}
}

func (e *Engine) tellProgress(c *inflight.Call, payload []byte) {
	c.Progress.Take(e.now, weightOf(payload), progressEvery)
	e.server.passed.Take(e.now, weightOf(payload), allEvery)
	e.tellOne(wire.Progress, c.From, "notifications/progress", payload)
}
