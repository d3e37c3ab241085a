package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	ahead "github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// start begins a life of the bridge, with what is on disk.
func (w *world) start() {
	w.started++
	p := &process{w: w, life: life{number: w.started, began: w.now, wall: w.wall()}, dice: newDice(w.o.Seed, fmt.Sprint("process", w.started))}
	w.proc = p
	seen := w.disk.open()
	w.check.begun(&p.life, w.book())
	kept := w.drawer.read()
	w.check.restored(kept)
	halted := w.keptHalt()
	if halted != nil {
		w.check.haltedNow()
	}
	var tell func(approval.Act)
	p.sidecar = bridge.New(bridge.Options{
		Engine: engine.Config{
			Policy: w.book().loaded, NewID: func() string { r := p.dice.random(); return fmt.Sprintf("%x", r[:8]) }, Random: p.dice.random,
			Timeout: callTime, MaxCalls: w.o.MaxCalls, Session: fmt.Sprintf("s%d-", p.number), Topic: "lobby", Gateway: "a gateway", Server: "a server", Dir: "/srv", Command: "c1",
			Desk:  approval.Options{Grants: kept},
			Local: w.o.Local, TrustUnverified: w.o.Trusted, Seen: seen, Halted: halted, ToolsRequest: w.o.Offers, Share: w.o.Share,
		},
		Audit: ledger{p}, Told: func(a approval.Act) { tell(a); w.local.told(p, a) }, Noted: p.note, Emit: p.hear,
		Remember: p.remember,
		Look:     p.look,
		Now:      p.now,
	})
	p.inbox, tell = node.InboxOf("fs", "lobby", p.sidecar)
	p.sidecar.Bind(seat{p}, pipe{p})
	w.child.start(100 * time.Millisecond)
	w.topic.redial(100 * time.Millisecond)
}

// note shows a record to the checker, in its place among what the bridge does.
func (p *process) note(r *record.Record) {
	p.noted = append(p.noted, r)
	p.w.check.emitted(*r)
}

// hear is who listens to the bridge: to each record once, in order.
func (p *process) hear(r *record.Record) {
	if len(p.noted) == 0 || p.noted[0] != r {
		p.w.check.blame("I4", "who listens is told %s, out of order or twice", r.JSON())
		return
	}
	p.noted = p.noted[1:]
}

// remember writes a yes that is to last down, a little later as the program does, and not
// where the disk takes nothing.
func (p *process) remember(g approval.Grant) {
	if g.Keep == "always" {
		p.w.after(p.w.luck.between(0, 50*time.Millisecond), func() {
			if p.alive() && p.w.log.err == nil {
				p.w.drawer.keep(g)
			}
		})
	}
	p.w.company.relyOn(g)
}

// crashed ends the bridge at once, and its server with it; power: and the
// machine.
func (w *world) crashed(power bool) {
	p := w.proc
	if p == nil {
		return
	}
	w.trace.note(w.now, "crash", fmt.Append(nil, power))
	w.agenda.drop(p.tick)
	w.agenda.drop(p.flush)
	w.proc = nil
	w.check.ended()
	w.child.orphaned(power)
	w.disk.crash(power)
	w.topic.gone()
	w.after(w.luck.between(100*time.Millisecond, 20*time.Second), func() {
		if w.proc == nil {
			w.start()
		}
	})
}

// stop asks the bridge to end, and gives it its ten seconds.
func (w *world) stop() {
	p := w.proc
	if p == nil || p.stopping {
		return
	}
	p.stopping = true
	p.tell(engine.Stopping{})
	w.check.stopping()
	w.worse()
	w.after(10*time.Second, func() {
		if !p.alive() {
			return
		}
		p.gaveUp = true
		p.tell(engine.GivingUp{})
		w.after(lingering, func() { // the timer may ring late
			if p.alive() {
				w.check.gaveUp()
				p.leave()
				w.check.allTold()
				w.crashed(false)
			}
		})
	})
}

// leave has the bridge say its last.
func (p *process) leave() {
	p.leaving = true
	p.tell(engine.Leaving{})
	p.release()
}

// unstarted ends a life in which the server never came up. Nobody has told it to stop, so
// that a pause ends only as it leaves (seed 92).
func (w *world) unstarted(p *process) {
	w.after(lingering, func() {
		if p.alive() && !p.stopping {
			p.leave()
			w.check.gaveUp()
			w.check.allTold()
			w.crashed(false)
		}
	})
}

// worse is what may come along while the bridge tries to end in good order.
func (w *world) worse() {
	soon := func() time.Duration { return w.luck.between(0, 10*time.Second) }
	if w.joins(kick, .3) {
		w.after(w.luck.between(0, 10*time.Second+lingering), func() { w.topic.cut(0) })
	}
	if w.joins(full, .3) {
		w.disk.fill(10*time.Second + 2*lingering)
	}
	if w.joins(die, .5) {
		w.outer(soon(), func() { w.child.end("exited with status 5", 15*time.Second) })
	}
	if w.joins(noise, .3) {
		w.child.babble(0)
	}
}

// checkpoint shows the head of the log to the topic from time to time.
func (w *world) checkpoint() {
	w.after(50*time.Second, func() {
		if p := w.proc; p != nil && w.log.seq > 0 && !w.healed {
			p.tell(engine.Checkpoint{Seq: w.log.seq, Hash: fmt.Sprintf("%x", w.log.prev)})
		}
		if !w.healed {
			w.checkpoint()
		}
	})
}

// seat is the bridge's way to the topic.
type seat struct{ p *process }

func (s seat) Send(_ wire.Class, frame []byte) error {
	p := s.p
	switch {
	case !p.w.link.up:
		return bridge.ErrNoSeat
	case p.w.strikes(wayFull):
		p.w.link.fullAt = p.w.now
		return errWayFull
	}
	p.out = append(p.out, frame)
	p.w.check.put(frame)
	return nil
}

func (s seat) Flush() {
	out := s.p.out
	s.p.out = nil
	for _, frame := range out {
		s.p.w.topic.fromUs(frame)
	}
}

// pipe is the bridge's way to the server.
type pipe struct{ p *process }

var errPipeFull = errors.New("the pipe is full")

func (i pipe) Put(line []byte) error {
	c := &i.p.w.server
	switch {
	case !c.alive:
		i.p.w.check.notTaken(line)
		return errors.New("the server is not running")
	case len(c.queue) > 64 || i.p.w.strikes(pipeFull):
		i.p.w.check.notTaken(line)
		return errPipeFull
	}
	c.queue = append(c.queue, i.p.w.check.line(line))
	return nil
}

func (i pipe) Flush() { i.p.w.child.read() }

func (i pipe) Restart(why string) {
	w := i.p.w
	w.outer(0, func() { w.child.end("was restarted: "+why, 250*time.Millisecond) })
}

// ledger is the bridge's audit log.
type ledger struct{ p *process }

func (l ledger) Append(records ...[]byte) error {
	err := l.p.w.disk.append(l.p, records)
	if err == nil {
		l.p.w.check.recorded(records)
	}
	l.p.meanwhile(err != nil)
	return err
}

// meanwhile lets something from outside happen while records are written: it is
// another goroutine that hands it over. That they cannot be written is when the
// server dies as well: one trouble seldom comes alone.
func (p *process) meanwhile(failed bool) {
	if !p.flushing || !p.w.strikes(race) {
		return
	}
	within := pick(p.w.luck, 50*time.Millisecond, 50*time.Millisecond, 2*time.Second)
	if p.w.strikes(die) || failed && p.w.joins(die, .7) {
		within = 2 * time.Second // long enough for another server to be up
		p.w.child.end("exited with status 4", 250*time.Millisecond)
	}
	for end := p.w.now + within; ; {
		next := p.w.agenda.soonestOuter(end)
		if next == nil {
			return
		}
		p.w.now = max(p.w.now, next.at)
		next.do()
		if p.w.luck.chance(.5) {
			return
		}
	}
}

func (l ledger) Sync(done func(error)) { l.p.w.disk.sync(l.p, done) }
func (l ledger) Err() error            { return l.p.w.log.err }

var errWayFull = errors.New("the way out is full")

// look follows the links of paths as the world has them, late at times, or not at all.
func (p *process) look(l engine.Look) bool {
	if p.dice.chance(.05) {
		return false
	}
	p.w.after(p.dice.between(0, pick(p.dice, 2*time.Millisecond, 2*time.Second)), func() {
		if p.alive() {
			p.sidecar.Handle(engine.Looked{Ticket: l.Ticket, Inside: slices.DeleteFunc(l.Places, func(at ahead.Place) bool { return !inFolder(at.Path, at.Folder) })})
			p.settle()
		}
	})
	return true
}
