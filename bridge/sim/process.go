package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A process is one life of the bridge.
type process struct {
	w *world
	life
	sidecar *bridge.Sidecar
	dice    dice // its own source of ids

	seated   bool
	tick     *plan
	flush    *plan
	flushing bool
	out      [][]byte // frames put, not yet let out
}

// start begins a life of the bridge, with what is on disk.
func (w *world) start() {
	w.started++
	p := &process{w: w, life: life{number: w.started, began: w.now, wall: w.wall()}, dice: newDice(w.o.Seed, fmt.Sprint("process", w.started))}
	w.proc = p
	seen := w.disk.open()
	w.check.begun(&p.life, w.book())
	kept := w.drawer.read()
	w.check.restored(kept)
	p.sidecar = bridge.New(bridge.Options{
		Engine: engine.Config{
			Policy: w.book().loaded, NewID: func() string { r := p.dice.random(); return fmt.Sprintf("%x", r[:8]) }, Random: p.dice.random,
			Timeout: callTime, MaxCalls: w.o.MaxCalls, Session: fmt.Sprintf("s%d-", p.number), Topic: "lobby", Gateway: "a gateway", Server: "a server", Dir: "/srv", Command: "c1",
			Desk:  approval.Options{Grants: kept},
			Local: w.o.Local, TrustUnverified: w.o.Trusted, Seen: seen, ToolsRequest: w.o.Offers, Share: w.o.Share,
		},
		Audit: ledger{p}, Told: func(a approval.Act) { w.local.told(p, a) }, Emit: func(r *record.Record) { w.check.emitted(*r) },
		Remember: func(g approval.Grant) { w.drawer.keep(p, g); w.relyOn(g) },
		Serving:  func(engine.Serving) { w.topic.redial(100 * time.Millisecond) },
		Now:      p.now,
	})
	p.sidecar.Bind(seat{p}, pipe{p})
	w.child.start(100 * time.Millisecond)
}

func (p *process) now() time.Time { return p.w.clock(&p.life) }

// alive reports whether this is the life that the bridge has now.
func (p *process) alive() bool { return p.w.proc == p }

// tell hands over an event, and has what follows from it let out.
func (p *process) tell(ev engine.Event) {
	p.w.tally.Events++
	p.met(nameOf(ev))
	_, name, _ := strings.Cut(fmt.Sprintf("%T", ev), ".") // wherever its package is
	p.w.trace.note(p.w.now, "event", []byte(name))
	p.sidecar.Handle(ev)
	p.settle()
}

// met counts an event, by the situations that it meets.
func (p *process) met(event string) {
	question, running := p.w.check.busy()
	p.w.tally.met(event, [...]bool{noSeat: !p.seated, noServer: !p.w.server.alive, noDisk: p.w.log.err != nil,
		atQuestion: question, atServer: running, inStopping: p.stopping})
}

func (p *process) settle() {
	p.arm()
	if p.flush != nil {
		return
	}
	wait := time.Duration(0)
	if p.w.strikes(lazyFlush) {
		wait = p.w.luck.between(0, 20*time.Millisecond)
	}
	p.flush = p.w.after(wait, p.letOut)
}

// letOut is what the readers of topic and server do before they wait.
func (p *process) letOut() {
	if p.alive() && p.w.joins(longSleep, .02) {
		p.w.dozeOff()
	}
	p.release()
}

// release carries out what was decided.
func (p *process) release() {
	p.w.agenda.drop(p.flush)
	p.flush = nil
	if !p.alive() {
		return
	}
	p.flushing = true
	p.sidecar.Flush()
	p.flushing = false
	p.arm()
}

// dozeOff lets the machine sleep between what was decided and what is done. A
// gateway may deliver again what it had delivered just before, also when that would be
// forgotten by now if it were not known since it was done.
func (w *world) dozeOff() {
	defer func() { w.dozedAt = w.now }()
	w.now += pick(w.luck, 2*time.Minute, 15*time.Minute+10*time.Second, 15*time.Minute+30*time.Second, 20*time.Minute+10*time.Second)
	for _, f := range w.topic.past[max(0, len(w.topic.past)-3):] {
		if w.luck.chance(.5) {
			w.topic.deliver(f, w.luck.between(0, 2*time.Second))
		}
	}
}

// arm sets the timer.
func (p *process) arm() {
	p.w.agenda.drop(p.tick)
	p.tick = nil
	next := p.sidecar.Next()
	if next.IsZero() {
		return
	}
	wait := max(next.Sub(p.now()), 0)
	if p.w.strikes(lateTick) {
		wait += p.w.luck.between(0, 3*time.Second)
	}
	p.tick = p.w.after(wait, func() {
		p.tick = nil
		if p.alive() {
			p.tell(engine.Tick{})
		}
	})
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

// stopBusy stops the bridge while its server has more to do than it can.
func (w *world) stopBusy() {
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

// lingering is how long a bridge that has given up is still there.
const lingering = 5 * time.Second

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
				w.check.leaving = true
				p.tell(engine.Leaving{})
				p.release()
				w.check.allTold()
				w.crashed(false)
			}
		})
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
		if p := w.proc; p != nil && w.disk.seq > 0 && !w.healed {
			p.tell(engine.Checkpoint{Seq: w.disk.seq, Hash: fmt.Sprintf("%x", w.disk.prev)})
		}
		if !w.healed {
			w.checkpoint()
		}
	})
}

func reloadedTo(b *rulebook) engine.Event { return engine.Reloaded{Policy: b.loaded} }

// seat is the bridge's way to the topic.
type seat struct{ p *process }

var errWayFull = errors.New("the way out is full")

func (s seat) Send(_ wire.Class, frame []byte) error {
	p := s.p
	switch {
	case !p.w.topic.up:
		return bridge.ErrNoSeat
	case p.w.strikes(wayFull):
		p.w.topic.fullAt = p.w.now
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
	c := &i.p.w.child
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
func (l ledger) Err() error            { return l.p.w.disk.err }
