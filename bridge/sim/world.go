package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A world is everything around one bridge, and the bridge. Its parts know each other by
// what they set off in each other: one trouble seldom comes alone.
type world struct {
	scene
	check   *checker
	dialect wire.Dialect
	owner   owner
	proc    *process // nil while there is none
	started int      // processes so far

	topic   gateway
	child   keeper
	disk    storage
	drawer  *drawer
	local   door
	company folk
	spy     spy
}

// A gateway is what others have to do with the bridge's link to the topic.
type gateway interface {
	redial(wait time.Duration)
	cut(notice time.Duration) // the bridge hears of it after that
	gone()                    // the bridge is no more
	repeat()                  // delivers again what it has just delivered
	fromUs(frame []byte)
}

// A keeper has the MCP server.
type keeper interface {
	start(wait time.Duration)
	end(why string, retry time.Duration)
	orphaned(power bool) // the bridge is no more
	babble(wait time.Duration)
	read() // what is in the pipe
}

// A storage keeps the log, and loses it.
type storage interface {
	open() []engine.Seen
	append(p *process, records [][]byte) error
	sync(p *process, done func(error))
	fill(length time.Duration)
	crash(power bool)
}

// A door is where somebody at this machine is asked.
type door interface {
	told(p *process, a approval.Act)
}

// Folk are those in the topic.
type folk interface {
	got(id string, l *letter)
	relyOn(g approval.Grant) // which somebody has just given
	relyAll()                // something has changed
	regret(d dice)           // the server has died
	claimed(ids []string)    // the bridge would serve proposals
}

// A spy sees all frames.
type spy interface {
	saw(f *frame)
	overheard(l *letter)
}

// A crash unwinds whatever the bridge was doing when it was killed.
type crash struct{ power bool }

// A process is one life of the bridge.
type process struct {
	w *world
	life
	sidecar *bridge.Sidecar
	inbox   inbox.Publisher // of the person at this machine
	dice    dice            // its own source of ids

	seated   bool
	served   bool // the server was up once
	tick     *plan
	flush    *plan
	flushing bool
	out      [][]byte         // frames put, not yet let out
	noted    []*record.Record // that who listens has not heard
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
	if p.w.check.halted() && p.alive() && p.sidecar.Halted() == nil {
		p.w.check.goesOn()
	}
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
	if p.alive() && p.w.joins(longSleep, .02) { // the machine sleeps between what was decided and what is done
		p.w.now += pick(p.w.luck, 2*time.Minute, 15*time.Minute+10*time.Second, 15*time.Minute+30*time.Second, 20*time.Minute+10*time.Second)
		p.w.dozedAt = p.w.now
		p.w.topic.repeat()
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
	if n := len(p.noted); n > 0 {
		p.w.check.blame("I4", "who listens was not told of the last %d records", n)
	}
	p.arm()
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
		wait += p.w.luck.between(0, tickLate)
	}
	p.tick = p.w.after(wait, func() {
		p.tick = nil
		if p.alive() {
			p.tell(engine.Tick{})
		}
	})
}

// An owner is whoever keeps the policy file.
type owner struct {
	dice  dice
	now   int // of Options.Policies
	books []*rulebook

	halts  int            // so far
	halted *engine.Halted // what is kept of the last; nil: nothing
}

// book is the policy in force.
func (w *world) book() *rulebook { return w.owner.books[w.owner.now%len(w.owner.books)] }

// A drawer is the file of yeses that are to last (DESIGN 7), written and read back in
// its real form.
type drawer struct {
	check *checker
	text  []byte          // of the file; nil: there is none
	gone  map[string]bool // taken back, perhaps before they were written down
}

// read is what a life of the bridge finds there.
func (d *drawer) read() []approval.Grant {
	if d.text == nil {
		return nil
	}
	kept, err := approval.ReadGrants("grants.json", d.text)
	if err != nil {
		d.check.blame("AI-18", "what was to last cannot be read again: %v", err)
	}
	return kept
}

func (d *drawer) write(kept []approval.Grant) {
	text, err := approval.WriteGrants(kept)
	if err != nil {
		d.check.blame("AI-18", "what is to last cannot be written: %v", err)
	}
	d.text = text
}

// keep writes a yes down.
func (d *drawer) keep(g approval.Grant) {
	if !d.gone[g.ID] {
		d.write(append(d.read(), g))
	}
}

func (d *drawer) drop(id string) {
	d.gone[id] = true
	d.write(slices.DeleteFunc(d.read(), func(g approval.Grant) bool { return g.ID == id }))
}
