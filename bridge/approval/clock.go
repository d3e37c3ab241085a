package approval

import (
	"container/heap"
	"time"
)

// A clock holds the pending questions by the time at which something is up
// with them.
type clock struct{ heap clockHeap }

func (c *clock) add(p *pending) {
	p.wake = p.nextWake()
	heap.Push(&c.heap, p)
}

func (c *clock) remove(p *pending) {
	if p.place >= 0 {
		heap.Remove(&c.heap, p.place)
	}
}

// reset puts a question where it belongs after its times have changed.
func (c *clock) reset(p *pending) {
	if p.place >= 0 {
		p.wake = p.nextWake()
		heap.Fix(&c.heap, p.place)
	}
}

// due returns a question whose time is up, nil if there is none.
func (c *clock) due(now time.Time) *pending {
	if len(c.heap) == 0 || c.heap[0].wake.After(now) {
		return nil
	}
	return c.heap[0]
}

// warnAt is when four fifths of the time are over.
func (p *pending) warnAt() time.Time { return p.asked.Add(p.deadline.Sub(p.asked) / 5 * 4) }

func (p *pending) nextWake() time.Time {
	at := p.deadline
	if w := p.warnAt(); !p.warned && w.Before(at) {
		at = w
	}
	for _, s := range p.seats {
		if s.state == beingAsked && s.till.Before(at) {
			at = s.till
		}
	}
	return at
}

// Next is when the Desk wants a Tick at the latest; zero: never.
func (d *Desk) Next() time.Time {
	if len(d.clock.heap) == 0 {
		return time.Time{}
	}
	return d.clock.heap[0].wake
}

// Tick lets time pass.
func (d *Desk) Tick(now time.Time) []Act {
	d.begin(now)
	return d.out
}

// expire does what is due, in the order of the times.
func (d *Desk) expire() {
	for p := d.clock.due(d.now); p != nil; p = d.clock.due(d.now) {
		d.up(p)
	}
}

// up: some time of the question is over. Each call uses one up, so that it ends.
func (d *Desk) up(p *pending) {
	if !p.deadline.After(d.now) {
		d.settle(p, Settled{Outcome: Expired, Reason: TimedOut}, nil)
		return
	}
	if !p.warned && !p.warnAt().After(d.now) {
		p.warned = true
		d.note(p, "expiring", Who{}, "")
	}
	for _, s := range p.seats {
		if s.state == beingAsked && !s.till.After(d.now) {
			d.vacate(p, s, outOfTime, "your time to decide is over")
			d.note(p, "unavailable", s.who, TimedOut)
			if d.advance(p, TimedOut, ""); p.place < 0 {
				return
			}
		}
	}
	d.clock.reset(p)
}

type clockHeap []*pending

func (h clockHeap) Len() int { return len(h) }

func (h clockHeap) Less(i, j int) bool {
	if h[i].wake.Equal(h[j].wake) {
		return h[i].order < h[j].order
	}
	return h[i].wake.Before(h[j].wake)
}

func (h clockHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *clockHeap) Push(x any) {
	p := x.(*pending)
	p.place = len(*h)
	*h = append(*h, p)
}

func (h *clockHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	p.place = -1
	return p
}
