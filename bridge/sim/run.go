package sim

import (
	"slices"
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
	p.company = &company{world: w, topic: &topic{w: w, link: &w.link, dice: newDice(o.Seed, "gateway"), caps: capsOf(o.Protocol)}}
	p.mallory = &attacker{w: p.company, dice: newDice(o.Seed, "attacker")}
	w.disk, w.child, w.topic, w.company, w.spy = p.disk, p.child, p.topic, p.company, p.mallory
	w.local = &desk{w: w, dice: newDice(o.Seed, "local")}
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

// plan puts on the agenda what happens by itself.
func (w *play) plan() {
	d := newDice(w.o.Seed, "plan")
	for _, f := range []Fault{kick, halfOpen, welcome, absent, leave, die, changeTools, removeTool, killed, lostTail, stopped, wallStep,
		longSleep, reload, revoke, mutate, impersonate, selfApprove, cancelOther, pause, serverAsks, full, stuck, noise, powerCut, flood} {
		if !w.o.Faults[f] {
			continue
		}
		for range 2 {
			w.after(d.between(time.Second, w.o.Span), func() { w.befall(f) })
		}
		if d.chance(.5) {
			w.after(d.between(time.Second, w.o.Span), func() { w.befall(f) })
		}
	}
	w.offers()
	w.checkpoint()
}

// befall lets a fault strike that needs no occasion, if there is anything for it
// to break.
func (w *play) befall(f Fault) {
	if w.vain(f) || !w.strikes(f) {
		return
	}
	switch f {
	case kick:
		w.topic.cut(0)
	case halfOpen:
		w.topic.freeze()
	case welcome:
		w.topic.welcomeAgain()
	case absent:
		pick(w.luck, w.approvers()...).goAway()
	case leave:
		w.leaver().goAway()
	case die:
		w.child.end("exited with status 1", w.luck.between(250*time.Millisecond, 3*time.Second))
	case changeTools, removeTool:
		w.child.change(f == removeTool)
	case serverAsks:
		w.child.ask()
	case noise:
		w.child.babble(0)
	case stuck:
		length := w.luck.between(time.Second, 15*time.Second)
		w.child.stuckTill = w.now + length
		if w.luck.chance(.4) {
			w.outer(length, func() { w.child.end("did not read", time.Second) })
		}
	case full:
		w.disk.fill(w.luck.between(time.Second, 20*time.Second))
	case killed, lostTail, powerCut:
		w.crashed(f != killed)
	case stopped:
		w.stopBusy()
	case wallStep:
		w.skew += pick(w.luck, -time.Hour, -time.Minute, time.Minute, time.Hour)
		w.stepped = true
	case longSleep:
		w.now += pick(w.luck, 2*time.Minute, 14*time.Minute+30*time.Second, 16*time.Minute)
		w.dozedAt = w.now
		if w.proc != nil {
			w.proc.tell(engine.Tick{})
		}
	case reload:
		w.reload()
	case revoke:
		w.revoke()
	case flood:
		w.flood()
	default:
		w.mallory.strike(f)
	}
}

// vain: a fault would break nothing now, and is not to be counted.
func (w *play) vain(f Fault) bool {
	linked := w.proc != nil && w.topic.up
	switch f {
	case kick, halfOpen:
		return !linked
	case welcome:
		return !linked || w.topic.frozen
	case flood:
		return !linked || w.topic.frozen
	case mutate, impersonate, selfApprove, cancelOther, pause:
		return !linked || w.topic.frozen || w.mallory.vain(f)
	case die, noise, serverAsks, changeTools, removeTool, stuck:
		return w.proc == nil || !w.child.alive
	case full:
		return w.proc == nil || w.disk.err != nil
	case killed:
		return w.proc == nil
	case lostTail, powerCut:
		return w.proc == nil || w.disk.synced == len(w.disk.text)
	case stopped, reload:
		return !w.mayReload()
	case revoke:
		return !w.mayRevoke()
	}
	return false
}

// leaver is who leaves: whoever was promised something is missed most.
func (w *play) leaver() *person {
	if n := len(w.check.grants); n > 0 && w.luck.chance(.7) {
		g := w.check.grants[w.luck.IntN(n)]
		// the caller may be one whom the attacker made up
		if i := slices.IndexFunc(w.people, func(p *person) bool { return p.id == g.caller }); i >= 0 {
			return w.people[i]
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
