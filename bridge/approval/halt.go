package approval

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// Halted is why a yes does not count, and why a question was taken away, while the bridge is
// halted.
const Halted = "halted"

// Halt makes the time of every question stand still until [Desk.Resume]: none expires, nobody
// is asked anew, and no yes counts. It is taken away from participants and from who is behind a
// client, who read because; a person at this machine goes on seeing it, and their no counts.
// What ends a question otherwise still does: its caller takes it back, a policy forbids it, too
// few are left who could agree.
func (d *Desk) Halt(now time.Time, because string) []Act {
	d.begin(now)
	if d.halted {
		return d.out
	}
	d.halted = true
	for _, p := range d.inOrder() {
		p.frozen = now
		for _, s := range p.ballots {
			if s.state == beingAsked && s.who.Door != Local {
				d.close(p, s, because)
				s.void(Halted)
			}
		}
	}
	return d.out
}

// Resume lets the time of every question go on, with what was left of it, and puts it before
// those once more who had it open.
func (d *Desk) Resume(now time.Time) []Act {
	d.begin(now)
	if !d.halted {
		return d.out
	}
	d.halted = false
	for _, p := range d.inOrder() {
		p.thaw(now)
		for _, s := range p.ballots {
			if s.state == beingAsked {
				d.show(p, s, "resumed", "")
			}
		}
		d.wind(p)
	}
	return d.out
}

// whileHalted takes the answer of somebody who was asked: a no, and nothing else, counts.
func (d *Desk) whileHalted(p *pending, s *ballot, r reply) {
	if r.said != no {
		d.note(p, record.LateAnswer, s.who, Halted)
		return
	}
	d.settle(p, Settled{Outcome: Denied, Reason: r.reason, Detail: r.detail, Said: r.why}, s)
}
