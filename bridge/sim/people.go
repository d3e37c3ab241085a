package sim

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// relyOn lets a caller make a call again that somebody agreed to for longer: soon,
// and whenever that may have ended; and the owner take that back.
func (w *company) relyOn(g approval.Grant) {
	if w.o.Faults[revoke] {
		w.after(w.luck.between(time.Second, 50*time.Second), func() {
			if w.mayRevoke() && w.strikes(revoke) {
				w.revoke()
			}
		})
	}
	for _, p := range w.callers() {
		i := slices.IndexFunc(p.made, func(f *frame) bool {
			return p.id == g.Caller && f.said.tool == "note" && bytes.Equal(f.said.args, g.Args)
		})
		if i < 0 {
			continue
		}
		p.relied = p.made[i]
		p.rely(50 * time.Second)
	}
}

// relyAll is what callers do when something has changed.
func (w *company) relyAll() {
	for _, p := range w.callers() {
		p.rely(4 * time.Second)
	}
}

// got hands what the bridge says to one of them.
func (w *company) got(id string, l *letter) { w.person(id).got(l) }

// regret lets callers take back what they called last, as the server has died.
func (w *company) regret(d dice) {
	for _, p := range w.callers() {
		if n := len(p.made); n > 0 && w.strikes(cancel) {
			w.after(d.between(0, 3*time.Second), func() { p.takeBack(p.made[n-1]) })
		}
	}
}

// got hears what the bridge says.
func (p *person) got(l *letter) {
	p.turnedAway(l)
	if !p.here() {
		return
	}
	p.w.lounge.hears(p, l)
	if l.Payload.Method != "elicitation/create" {
		return
	}
	wait := p.mind.between(time.Second, 8*time.Second)
	if p.w.o.Calm {
		wait = 2 * time.Second
	}
	if p.w.strikes(slow) {
		wait += p.ponder(l)
	}
	answer := p.decide(l)
	p.w.after(wait, func() { p.answer(l, answer) })
	p.w.justThen(l, wait)
	if p.w.strikes(doubleAnswer) {
		p.w.after(wait+p.mind.between(0, 4*time.Second), func() { p.answer(l, pick(p.mind, yesTo(l, ""), no)) })
	}
	if p.w.strikes(copied) {
		other := pick(p.mind, p.w.people...)
		p.w.after(wait/2, func() { other.answer(l, yesTo(l, "")) })
	}
	p.w.phone.rings(p, l)
}

// ponder is how long somebody thinks too long. Where they may take their time, the call
// may come once more when it was heard of first long ago, and was begun not so long ago.
func (p *person) ponder(l *letter) time.Duration {
	wait := p.mind.between(10*time.Second, pick(p.mind, 100*time.Second, 100*time.Second, 19*time.Minute))
	if p.w.book().ways[l.original().Tool].within < 10*time.Minute || !p.mind.chance(.6) {
		return wait
	}
	wait = p.mind.between(8*time.Minute, 18*time.Minute)
	again := p.mind.between(20*time.Minute+10*time.Second, min(wait+14*time.Minute, 25*time.Minute))
	p.w.after(again, func() {
		for _, f := range p.w.made(l.original()) {
			p.w.topic.send(f)
		}
	})
	return wait
}

// made finds the call that a question is about.
func (w *company) made(o *original) (all []*frame) {
	for _, p := range w.callers() {
		for _, f := range p.made {
			if p.id == o.From && f.said.id == o.EnvelopeID {
				all = append(all, f)
			}
		}
	}
	return all
}

// justThen is what may happen to a call while somebody decides about it: what
// goes wrong at that moment goes wrong worst.
func (w *company) justThen(l *letter, wait time.Duration) {
	if w.strikes(die) {
		w.outer(wait-min(wait, w.luck.between(0, 500*time.Millisecond)), func() { w.child.end("exited with status 3", w.luck.between(time.Second, 8*time.Second)) })
	}
	if w.strikes(cancel) {
		w.after(wait+w.luck.between(0, 3*time.Second), func() { w.takeBack(l.original()) })
	}
	if w.check.changed(l.original().Tool) && w.joins(reload, .7) { // what a policy says of tools that have changed may be another now
		w.after(w.luck.between(0, wait), func() {
			if w.mayReload() {
				w.reload()
			}
		})
	}
}

// takeBack lets the caller of a call that somebody was asked about take it back.
func (w *company) takeBack(o *original) {
	for _, f := range w.made(o) {
		w.person(o.From).takeBack(f)
	}
}

// What people say.
const no = `"result":{"action":"decline","content":{"reason":"no"}}`

func yesTo(l *letter, more string) string {
	word := `"approve":true`
	if l.delegable() {
		word = `"action":"approve"`
	}
	return `"result":{"action":"accept","content":{` + word + more + `}}`
}

// decide is what an honest person says; a calm one says the same about the same
// call in every world.
func (p *person) decide(l *letter) string {
	if p.w.o.Calm {
		if agrees(l.original().EnvelopeID) {
			return yesTo(l, "")
		}
		return no
	}
	switch {
	case p.w.strikes(wrongAnswer):
		return pick(p.mind, wrongs...)
	case p.w.strikes(errorAnswer):
		return `"error":{"code":-32601,"message":"no such method"}`
	case l.delegable() && p.mind.chance(.35):
		return `"result":{"action":"accept","content":{"action":"delegate","delegateTo":"` + pick(p.mind, "carol", "dave", "agent-a", "alice", "eve") + `"}}`
	case l.offers("uses1") && p.mind.chance(.4):
		return yesTo(l, fmt.Sprintf(`,"uses1":%d`, p.mind.IntN(4)))
	case l.offers("amount") && p.mind.chance(.5):
		return yesTo(l, fmt.Sprintf(`,"amount":%d`, pick(p.mind, 1, 7, 42, 50, 99, 100, 101, -3)))
	case l.offersFor("folder") && p.mind.chance(.5):
		return yesTo(l, `,"remember":"folder"`)
	case l.offersFor("tool") && p.mind.chance(.5):
		return yesTo(l, `,"remember":"tool"`)
	case l.offers("remember") && p.mind.chance(.6):
		return yesTo(l, `,"remember":"`+pick(p.mind, "session", "always", "always", "once", "forever")+`"`)
	case p.mind.chance(.2):
		return no
	}
	return yesTo(l, "")
}

// wrongs can be read as no yes.
var wrongs = []string{
	`"result":{"action":"accept","content":{"approve":"true"}}`,
	`"result":{"action":"accept","content":{"approve":1}}`,
	`"result":{"action":"accept","content":{"approve":null}}`,
	`"result":{"action":"accept","content":{"approve":false}}`,
	`"result":{"action":"accept","content":{"Approve":true}}`,
	`"result":{"action":"accept","content":{}}`,
	`"result":{"action":"accept"}`,
	`"result":{"action":"Accept","content":{"approve":true}}`,
	`"result":{"action":"cancel","content":{"approve":true}}`,
	`"result":{"action":"decline","content":{"approve":true}}`,
	`"result":{"content":{"approve":true}}`,
	`"result":{"action":"accept","content":{"approve":false,"approve":true}}`,
	`"result":{"action":"accept","content":{"approve":true,"digest":"00000000"}}`,
	`"result":{"action":"accept","content":{"approve":true,"n":"something else"}}`,
	`"result":{"action":"accept","content":[{"approve":true}]}`,
	`"result":"accept"`,
	`"result":{"action":"accept","content":{"approve":true,"action":"deny"}}`,
	`"result":{"action":"accept","content":{"approve":false,"action":"approve"}}`,
}

// answer says it, to the question in l.
func (p *person) answer(l *letter, text string) {
	if !p.here() {
		return
	}
	s := said{id: p.word("a"), from: p.id, to: []string{us}, kind: wire.Response, method: "elicitation/create", corr: []string{l.ID}, rpc: l.Payload.ID,
		result: []byte(text)}
	if p.w.strikes(wrongAnswer) {
		switch p.mind.IntN(3) {
		case 0:
			s.corr = []string{p.w.check.someEnvelope(p.mind)}
		case 1:
			s.rpc = []byte(pick(p.mind, "0", `"elicit-"`, `"`+l.ID+`"`, p.w.check.someQuestion(p.mind)))
		case 2:
			s.method, s.tool = "tools/call", "read"
		}
	}
	p.w.topic.say(s, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, s.rpc, text))
}
