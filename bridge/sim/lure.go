package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Who knows the id of a proposal can name it in any request of anybody. That takes the
// proposal from us only if it is for the very same of somebody who is there and may
// serve it (FINDINGS M9).

// lures plans that somebody names a proposal in a request that is not made of us.
func (w *company) lures(of said) {
	d := newDice(w.o.Seed, "lure of "+of.id)
	for w.joins(lure, .4) {
		by := pick(d, w.callers()...)
		w.after(d.between(0, pick(d, 3*time.Second, 15*time.Second)), func() {
			if by.here() {
				by.lure(d, of)
			}
		})
	}
	w.letDown(of)
}

// letDown: others agree on a proposal among themselves, its proposer takes it back, whoever
// was to serve it refuses, and then somebody requests it of us.
func (w *company) letDown(of said) {
	d := newDice(w.o.Seed, "let down "+of.id)
	by, runner, last := pick(d, w.callers()...), pick(d, w.approvers()...), pick(d, w.callers()...)
	if !w.o.Faults[lure] || !w.o.Faults[withdraw] || !w.o.Faults[takeUp] || !of.ableToServe(runner.id) || !d.chance(.5) {
		return
	}
	w.after(d.between(0, time.Second), func() {
		if w.healed || !by.here() {
			return
		}
		s := by.requestOf(runner.id, of)
		w.topic.say(s, s.payload())
		w.fired(withdraw)
		w.fired(takeUp)
		w.after(d.between(0, time.Second), func() { w.person(of.from).withdraw(d, of.id) })
		w.after(d.between(time.Second, 2*time.Second), func() { runner.refuse(runner.word("t"), by.id, s) })
		w.after(d.between(2*time.Second, 5*time.Second), func() { last.takeUp(of) })
	})
}

func (p *person) lure(d dice, of said) {
	s := p.requestOf(pick(d, nobody, nobody, "bob", "carol"), of)
	if d.chance(.5) {
		s.tool = pick(d, tools...)
	}
	p.w.topic.say(s, s.payload())
	p.twin(d, s)
	if q := p.w.person(s.to[0]); q != nil && d.chance(.7) {
		q.turnDown(d, s)
		if s.tool == of.tool && p.w.joins(withdraw, .4) {
			p.w.takesBack(of.id)
			p.w.takenUpYet(of)
		}
	}
}

// requestOf is a request of somebody else for what was proposed.
func (p *person) requestOf(who string, of said) said {
	s := of.requested(p.word("l"), p.id, who)
	s.lures, s.rpc = true, fmt.Append(nil, p.said)
	return s
}

// takenUpYet lets others request what was taken back while somebody served it, when that
// may have come to nothing.
func (w *company) takenUpYet(of said) {
	for w.joins(takeUp, .7) {
		other := pick(w.luck, w.callers()...)
		w.after(w.luck.between(4*time.Second, 15*time.Second), func() { other.takeUp(of) })
	}
}

// takesBack lets whoever made a proposal take it back soon.
func (w *company) takesBack(id string) {
	for _, p := range w.callers() {
		if strings.HasPrefix(id, p.id+"-p-") {
			w.after(w.luck.between(0, 2*time.Second), func() { p.withdraw(w.luck, id) })
		}
	}
}

// claimed: the bridge shows that it would serve proposals. Whoever made one may take it back
// just when its claim has had its time to come back.
func (w *company) claimed(ids []string) {
	for _, of := range w.check.offersOf(ids) {
		if by := w.person(of.from); by != nil && w.joins(withdraw, .8) {
			w.after(echoWait+w.luck.between(0, 500*time.Millisecond), func() { by.withdraw(w.luck, of.id) })
		}
	}
}

// turnedAway: the bridge refuses somebody's request. If that was for a proposal that
// people are asked about, whoever made it may want it no more.
func (p *person) turnedAway(l *letter) {
	if l.Payload.Error == nil || len(l.Corr) == 0 {
		return
	}
	for _, f := range p.made {
		if f.said.id != l.Corr[0] || len(f.said.corr) != 1 {
			continue
		}
		for _, of := range p.w.check.offersOf(f.said.corr) {
			if of.question != "" && !of.denied && !of.started && !p.w.healed && p.w.luck.chance(.5) {
				p.w.takesBack(of.id)
			}
		}
	}
}

// twin makes another request under an id that was used, of the same participant or of
// nobody, so that what is said of that may be taken for a word on the first.
func (p *person) twin(d dice, of said) {
	if !d.chance(.4) {
		return
	}
	s, by := of, p
	s.tool = "wipe"
	if d.chance(.5) {
		by = pick(d, p.w.callers()...)
		s.from, s.to = by.id, []string{nobody}
	}
	p.w.after(d.between(0, 3*time.Second), func() {
		if by.here() {
			p.w.topic.say(s, s.payload())
			p.w.topic.absent(s)
		}
	})
	if q := p.w.person(s.to[0]); q != nil {
		q.turnDown(d, s)
	}
}

// turnDown says that what somebody requested is not done: to them, or to somebody else,
// who may have made a request of the same id.
func (p *person) turnDown(d dice, of said) {
	for range 1 + d.IntN(2) {
		to, id := of.from, p.word("t")
		if d.chance(.6) {
			to = pick(d, "dave", "agent-a", "agent-b", attackerName)
		}
		p.w.after(d.between(0, 8*time.Second), func() { p.refuse(id, to, of) })
	}
}

// refuse says to somebody that what was requested is not done.
func (p *person) refuse(id, to string, of said) {
	s := said{id: id, from: p.id, to: []string{to}, kind: wire.Response, method: of.method, tool: of.tool, corr: []string{of.id}, rpc: of.rpc, turns: true}
	if p.here() {
		p.w.topic.say(s, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-31005,"message":"busy","data":{"reason":"busy","executed":"no"}}}`, s.rpc))
	}
}

// rival plans that another bridge claims a proposal, about when ours does.
func (w *company) rival(of said) {
	d := newDice(w.o.Seed, "rival of "+of.id)
	if !of.contested() || !d.chance(.4) {
		return
	}
	other := pick(d, w.people...)
	w.after(d.between(0, pick(d, 10*time.Millisecond, 3*time.Second, 15*time.Second)), func() {
		if other.here() && other.id != of.from {
			other.claim(of)
		}
	})
}

func (p *person) claim(of said) {
	s := of.requested(p.word("c"), p.id, p.id)
	s.rpc = []byte(`"` + s.id + `"`)
	p.w.topic.say(s, s.payload())
}
