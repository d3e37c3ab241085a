package sim

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A play is a world with all its parts, and what becomes of it.
type play struct {
	*company
	disk    *disk
	child   *child
	mallory *attacker
}

// newPlay makes the world of a seed, with all its parts.
func newPlay(o Options, t *Tally) *play {
	w := &world{scene: scene{o: o, luck: newDice(o.Seed, "luck"), here: map[string]bool{}, tally: t, trace: newTrace()}}
	w.dialect, _ = wire.Lookup(o.Protocol)
	w.owner.dice = newDice(o.Seed, "owner")
	for _, n := range o.Policies {
		w.owner.books = append(w.owner.books, rulebookOf(n))
	}
	w.check = newChecker(&w.scene)
	w.drawer = &drawer{check: w.check, gone: map[string]bool{}}
	w.link.echoes = newDice(o.Seed, "echo").chance(.8)
	p := &play{
		disk:  &disk{w: w, log: &w.log, dice: newDice(o.Seed, "disk"), late: newDice(o.Seed, "late")},
		child: &child{w: w, server: &w.server, dice: newDice(o.Seed, "server"), modern: newModern(o)},
	}
	held := newKeys(o)
	if held != nil {
		p.disk.enrolled = held.onRecord
	}
	p.company = &company{world: w, topic: &topic{w: w, link: &w.link, dice: newDice(o.Seed, "gateway"), caps: capsOf(o.Protocol)}}
	p.company.phone = &phone{w: p.company, dice: newDice(o.Seed, "phone"), open: map[string][]*rung{}}
	p.company.lounge = &lounge{w: p.company, of: map[string]*card{}}
	p.mallory = &attacker{w: p.company, dice: newDice(o.Seed, "attacker")}
	w.disk, w.child, w.topic, w.company, w.spy = p.disk, p.child, p.topic, p.company, p.mallory
	w.local = &desk{w: w, dice: newDice(o.Seed, "local"), by: newDice(o.Seed, "surfaces"), keys: held}
	p.populate()
	return p
}

// healing is how long everything has to come to its end once all is mended: two
// redials, the longest question, the server's time, the longest pause.
const healing = 30 * time.Minute

// run lets the world be for one life: faults first, then none.
func (w *play) run() {
	w.start()
	w.plan()
	w.until(w.o.Span)
	w.heal()
	w.until(w.now + healing)
	if p := w.proc; p != nil {
		w.check.idle(len(p.sidecar.Pending(0, 0)), p.sidecar.Next())
	}
	w.check.finish()
	if !w.check.stopped() && w.check.probed().unkept { // calls came again, and all have one share (seed 400893)
		w.until(w.now + longestKnown)
		w.prober().probe()
		w.until(w.now + time.Minute)
	}
	w.check.listable()
}

// until lets happen what is planned until a time.
func (w *play) until(end time.Duration) {
	for len(w.agenda.heap) > 0 && w.agenda.heap[0].at <= end && !w.check.stopped() {
		p := w.agenda.next()
		w.now = max(w.now, p.at)
		w.step(p.do)
	}
	w.now = max(w.now, end)
}

// step does one thing, in which the bridge may be killed.
func (w *play) step(do func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case crash:
			w.crashed(r.power)
		default:
			panic(r)
		}
	}()
	do()
}

// A mishap is a fault that needs no occasion, unless it would break nothing now.
type mishap struct {
	fault  Fault
	vain   func(w *play) bool // nil: never
	strike func(w *play)
}

var mishaps = []mishap{
	{kick, (*play).unlinked, func(w *play) { w.topic.cut(0) }},
	{halfOpen, (*play).unlinked, func(w *play) { w.topic.freeze() }},
	{welcome, (*play).unheard, func(w *play) { w.topic.welcomeAgain() }},
	{absent, nil, func(w *play) { pick(w.luck, w.approvers()...).goAway() }},
	{leave, nil, func(w *play) { w.leaver().goAway() }},
	{die, (*play).unserved, func(w *play) {
		w.child.end("exited with status 1", w.luck.between(250*time.Millisecond, 3*time.Second))
	}},
	{changeTools, (*play).unserved, func(w *play) { w.child.change(false) }},
	{removeTool, (*play).unserved, func(w *play) { w.child.change(true) }},
	{killed, (*play).dead, func(w *play) { w.crashed(false) }},
	{lostTail, (*play).kept, func(w *play) { w.crashed(true) }},
	{stopped, (*play).dying, (*play).stopBusy},
	{wallStep, nil, (*play).stepWall},
	{longSleep, nil, (*play).sleep},
	{reload, (*play).dying, func(w *play) { w.reload() }},
	{revoke, func(w *play) bool { return !w.mayRevoke() }, func(w *play) { w.revoke() }},
	attack(mutate), attack(impersonate), attack(selfApprove), attack(cancelOther), attack(pause),
	{serverAsks, (*play).unserved, func(w *play) { w.child.ask() }},
	{full, func(w *play) bool { return w.dead() || w.disk.err != nil }, func(w *play) { w.disk.fill(w.luck.between(time.Second, 20*time.Second)) }},
	{stuck, (*play).unserved, (*play).jam},
	{noise, (*play).unserved, func(w *play) { w.child.babble(0) }},
	{powerCut, (*play).kept, func(w *play) { w.crashed(true) }},
	{flood, (*play).unheard, func(w *play) { w.flood() }},
	{halts, (*play).dead, func(w *play) { w.halt() }},
}

// attack is what the attacker does.
func attack(f Fault) mishap {
	return mishap{f, func(w *play) bool { return w.unheard() || w.mallory.vain(f) }, func(w *play) { w.mallory.strike(f) }}
}

// What a mishap would break is not there, or would lose nothing.

func (w *play) dead() bool     { return w.proc == nil }
func (w *play) dying() bool    { return !w.mayReload() }
func (w *play) unlinked() bool { return w.dead() || !w.topic.up }
func (w *play) unheard() bool  { return w.unlinked() || w.topic.frozen }
func (w *play) unserved() bool { return w.dead() || !w.child.alive }
func (w *play) kept() bool     { return w.dead() || w.disk.synced == len(w.disk.text) }

// plan puts on the agenda what happens by itself.
func (w *play) plan() {
	d := newDice(w.o.Seed, "plan")
	for _, m := range mishaps {
		if !w.o.Faults[m.fault] {
			continue
		}
		befall := func() {
			if (m.vain == nil || !m.vain(w)) && w.strikes(m.fault) {
				m.strike(w)
			}
		}
		for range 2 {
			w.after(d.between(time.Second, w.o.Span), befall)
		}
		if d.chance(.5) {
			w.after(d.between(time.Second, w.o.Span), befall)
		}
	}
	w.offers()
	w.plans()
	w.checkpoint()
}

// jam: the server reads nothing for a while, and is restarted for that sometimes.
func (w *play) jam() {
	length := w.luck.between(time.Second, 15*time.Second)
	w.child.stuckTill = w.now + length
	if w.luck.chance(.4) {
		w.outer(length, func() { w.child.end("did not read", time.Second) })
	}
}

// stepWall puts the wall clock forward or back.
func (w *play) stepWall() {
	w.skew += pick(w.luck, -time.Hour, -time.Minute, time.Minute, time.Hour)
	w.stepped = true
}

// sleep lets a long time pass in which nothing happens.
func (w *play) sleep() {
	w.now += pick(w.luck, 2*time.Minute, 14*time.Minute+30*time.Second, 16*time.Minute)
	w.dozedAt = w.now
	if w.proc != nil {
		w.proc.tell(engine.Tick{})
	}
}

// leaver is who leaves: whoever was promised something is missed most.
func (w *play) leaver() *person {
	if n := len(w.check.grants); n > 0 && w.luck.chance(.7) {
		g := w.check.grants[w.luck.IntN(n)]
		// the caller may be one whom the attacker made up
		if p := w.person(g.caller); p != nil {
			return p
		}
	}
	return pick(w.luck, w.callers()...)
}

// heal mends everything.
func (w *play) heal() {
	w.healed = true
	w.trace.note(w.now, "heal", nil)
	w.disk.mend()
	w.child.stuckTill = 0
	w.topic.frozen = false
	if w.proc == nil {
		w.start()
	} else if !w.topic.up && !w.topic.dialling {
		w.topic.redial(time.Second)
	}
	for _, p := range w.people {
		if !p.here() {
			p.comeBack()
		}
	}
	if w.check.filed != nil {
		w.save(w.check.inForce()) // nobody need agree to that
	}
	w.after(healing-time.Minute, w.prober().probe)
}

// prober is who has never called.
func (w *play) prober() *person { return w.people[len(w.people)-1] }

// stopBusy stops the bridge while its server has more to do than it can.
func (w *play) stopBusy() {
	if !w.joins(stuck, .8) {
		w.stop()
		return
	}
	w.child.stuckTill = w.now + 15*time.Second
	for _, p := range w.callers() {
		w.after(w.luck.between(0, time.Second), p.call)
	}
	w.after(2*time.Second, w.stop)
}
