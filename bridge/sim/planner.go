package sim

import (
	"fmt"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// plans has callers plan in a world that has that, and make what they planned: soon, often,
// late, and when it is over.
func (w *company) plans() {
	if !w.o.Plans {
		return
	}
	d := newDice(w.o.Seed, "planned")
	for _, p := range w.callers() {
		for range 2 + d.IntN(3) {
			w.after(d.between(3*time.Second, w.o.Span/2), func() { p.plan(d) })
		}
	}
}

// plan asks for leave to make some notes.
func (p *person) plan(d dice) {
	if !p.here() {
		return
	}
	s := said{id: p.fresh("plan"), from: p.id, to: []string{us}, kind: wire.Request, perfect: true, method: planMethod, tool: "note"}
	s.rpc = fmt.Append(nil, p.serial)
	s.uses, s.counts = 1+d.IntN(3), pick(d, 10*time.Second, time.Minute, 10*time.Minute)
	n := pick(d, `{"is":"note-0"}`, `{"in":["note-0","note-1"]}`, `{"any":true}`, `{"is":"note-7"}`, `{"under":"/srv/notes"}`, `{"under":"/srv/notes"}`)
	if d.chance(.05) {
		n = `{"regex":"."}`
		s.flaw = "is no plan"
	}
	s.args = fmt.Appendf(nil, `{"items":[{"tool":"note","args":{"/n":%s},"uses":%d}],"seconds":%d}`, n, s.uses, s.counts/time.Second)
	s.withWhy(p.w.o)
	if w := p.w; d.chance(.6) && w.o.Protocol != "mcp-x/v0" {
		s.kind, s.rpc, s.to = wire.Proposal, nil, []string{us}
		w.topic.say(s, append(s.reason(fmt.Appendf(nil, `{"method":"%s","params":%s`, planMethod, s.args)), '}'))
	} else {
		p.make(s)
	}
	for range 2*s.uses + 1 + d.IntN(3) {
		p.w.after(d.between(4*time.Second, pick(d, 30*time.Second, s.counts+20*time.Second)), func() { p.note(d) })
	}
}

// note makes a call that a plan may cover.
func (p *person) note(d dice) {
	if !p.here() || p.w.healed {
		return
	}
	s := said{id: p.fresh("note"), from: p.id, to: []string{us}, kind: wire.Request, perfect: true, method: "tools/call", tool: "note"}
	s.rpc, s.args = fmt.Append(nil, p.serial), fmt.Appendf(nil, `{"n":"%s"}`, pick(d, "note-0", "note-0", "note-0", "note-1", "note-2", "/srv/notes/a", "/srv/notes/b/c", "/srv/notes/out/d", "/srv/other"))
	s.withWhy(p.w.o)
	if d.chance(.15) {
		s.beside = `{"task":{"ttl":1}}`
	}
	f := p.make(s)
	if d.chance(.2) {
		p.w.after(d.between(0, 5*time.Second), func() { p.w.topic.send(f) })
	}
}
