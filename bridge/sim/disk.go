package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private/powercut"
)

// A disk holds the audit log as bytes, and loses of it what disks lose.
type disk struct {
	w *world
	*log
	dice dice
	late dice // of what comes while it promises late

	drive    *powercut.Drive // has the log too, in files, of which the full ones have names of their own
	enrolled [][]byte        // passkeys, before the first record of the bridge
	again    bool            // the last write failed, and it was well at once
	fullTo   time.Duration
	writing  int // bytes that were being written when we were killed
}

var (
	errWrite = errors.New("input/output error")
	errFull  = errors.New("no space left on device")
	errSync  = errors.New("fsync: input/output error")
)

// append writes records, all or none.
func (d *disk) append(p *process, records [][]byte) error {
	switch {
	case d.err != nil:
		d.troubleAt = d.w.now
		return d.err
	case !d.again && d.w.strikes(mended):
		d.again, d.troubleAt = true, d.w.now
		return errWrite
	case d.w.strikes(writeFails):
		d.fail(p, errWrite, time.Second)
		return errWrite
	}
	d.again = false
	before := len(d.text)
	for _, r := range records {
		d.write(r)
	}
	d.drive.Write(logFile, -1, d.text[before:])
	d.turnOver()
	if d.w.strikes(killedInWrite) {
		d.writing = len(d.text) - before
		panic(crash{power: d.w.o.Faults[lostTail] && d.dice.chance(.5)})
	}
	return nil
}

func (d *disk) write(record []byte) {
	at := len(d.text)
	d.seq++
	d.text = fmt.Appendf(d.text, `{"seq":%d,"ts":"%s","mono_ms":%d,"prev":"%x",`, d.seq, d.w.wall().Format("2006-01-02T15:04:05.000000Z"),
		d.w.now.Milliseconds(), d.prev)
	d.text = append(d.text, record[1:]...)
	d.prev = sha256.Sum256(d.text[at:])
	d.text = append(d.text, '\n')
	d.w.trace.note(d.w.now, "record", record)
}

// fail refuses everything for a while. The log tells the bridge of its own
// accord, as its keeper does.
func (d *disk) fail(p *process, err error, length time.Duration) {
	d.err, d.troubleAt = err, d.w.now
	d.w.after(0, func() {
		if p.alive() && d.err != nil {
			p.tell(engine.Unrecorded{Err: err})
		}
	})
	d.fullTo = d.w.now + length
	d.w.after(length, func() {
		if d.err != nil && d.w.now >= d.fullTo {
			d.mend()
		}
	})
}

func (d *disk) fill(length time.Duration) {
	if d.err != nil || d.w.proc == nil {
		return
	}
	d.fail(d.w.proc, errFull, length)
	if d.w.joins(noise, .3) {
		d.w.child.babble(0)
	}
	if d.w.joins(stopped, .1) {
		d.w.after(length/2, d.w.stop)
	}
}

// fillsMeanwhile fills it while it promises late, until after that. The dice are its own:
// the other faults stay where they are.
func (d *disk) fillsMeanwhile(wait time.Duration) {
	if d.w.healed || !d.w.o.Faults[full] || d.err != nil || d.w.proc == nil || !d.late.chance(.05) {
		return
	}
	d.w.fired(full)
	d.fill(wait)
}

// mend makes it well again.
func (d *disk) mend() {
	if d.err == nil {
		return
	}
	d.err, d.troubleAt = nil, d.w.now
	if p := d.w.proc; p != nil {
		p.tell(engine.AuditUp{})
	}
}

// sync promises to keep what is there now.
func (d *disk) sync(p *process, done func(error)) {
	wait, size := d.dice.between(0, 2*time.Millisecond), len(d.text)
	if d.w.strikes(syncSlow) {
		wait = d.dice.between(0, 40*time.Second)
		if d.w.joins(kick, .3) {
			d.w.topic.cut(max(0, wait-2*time.Second))
		}
		if d.w.joins(stopped, .2) {
			d.w.after(wait/2, d.w.stop)
		}
		d.w.after(wait/2, func() { d.fillsMeanwhile(wait) })
	}
	failed := d.w.strikes(syncFails)
	d.w.after(wait, func() {
		if !p.alive() {
			return
		}
		p.met("Synced")
		if d.err != nil || failed {
			d.troubleAt = d.w.now
			done(errSync)
		} else {
			d.synced = max(d.synced, size)
			d.drive.Sync(logFile)
			d.drive.SyncDir("")
			done(nil)
		}
		p.settle()
	})
}

// crash leaves what a killed process or a machine without power leaves.
func (d *disk) crash(power bool) {
	d.err = nil
	if power && d.w.o.Faults[powerCut] {
		d.cut()
		return
	}
	keep := len(d.text)
	if power && d.synced < len(d.text) {
		keep = d.synced + d.dice.IntN(len(d.text)-d.synced+1)
	} else if d.writing > 0 && d.w.strikes(torn) {
		keep -= 1 + d.dice.IntN(d.writing)
	}
	d.text, d.writing = d.text[:keep], 0
}

// open reads the log, cuts off half a line, and gives the calls that were cut
// short their last word. It is what a start of the program does.
func (d *disk) open() (seen []engine.Seen) {
	if hole := bytes.IndexByte(d.text, 0); hole >= 0 {
		d.text = d.text[:hole]
	}
	whole := bytes.LastIndexByte(d.text, '\n') + 1
	d.text = d.text[:whole]
	d.seq, d.prev = 0, [sha256.Size]byte{}
	calls := d.recall()
	d.w.check.remembered(calls)
	d.write([]byte(`{"event":"recovered","reason":"start","last_call":0,"open":[]}`))
	for _, c := range calls {
		if !c.ended && c.name != "" {
			d.write(c.lastWord())
		}
		if c.env != "" && d.w.wall().Sub(c.at) < shortestKnown {
			seen = append(seen, engine.Seen{From: c.from, Env: c.env, At: c.at, Body: c.body})
		}
	}
	for _, r := range d.enrolled {
		d.write(r)
	}
	d.enrolled, d.synced = nil, len(d.text)
	d.lay()
	return seen
}

// The file that is written to, and how many bytes make it full.
const (
	logFile  = "log"
	fullSize = 8 << 10
)

// lay puts the log on a drive where all of it is on the disk, as it is after a start.
func (d *disk) lay() {
	d.drive = powercut.New()
	d.drive.Create(logFile)
	d.drive.Write(logFile, -1, d.text)
	d.drive.Sync(logFile)
	d.drive.SyncDir("")
}

// turnOver begins a new file when this one is full, in the order that the log has
// (bridge/audit/rotate.go): each step is on the disk before the next needs it.
func (d *disk) turnOver() {
	text, _ := d.drive.Read(logFile)
	if len(text) < fullSize {
		return
	}
	d.drive.Sync(logFile)
	d.drive.Rename(logFile, fmt.Sprintf("%s.%012d", logFile, d.seq))
	d.drive.SyncDir("")
	d.drive.Create(logFile)
}

// cut takes the power away. What was said to be on the disk must be there.
func (d *disk) cut() {
	said := d.text[:d.synced]
	d.drive.Cut(d.dice.IntN)
	d.text, d.writing = nil, 0
	for _, name := range d.drive.Names("") {
		if name != logFile {
			part, _ := d.drive.Read(name)
			d.text = append(d.text, part...)
		}
	}
	part, _ := d.drive.Read(logFile)
	d.text = append(d.text, part...)
	if !bytes.HasPrefix(d.text, said) {
		d.w.check.blame("I4", "of %d bytes that were said to be on the disk a power cut has left %d, or others", len(said), len(d.text))
	}
}

func (c *remnant) lastWord() []byte {
	event, reason := "rejected", "expired_by_restart"
	if c.started {
		event, reason = "ended", "outcome_unknown_after_crash"
	}
	return fmt.Appendf(nil, `{"event":%q,"call":%q,"env":%q,"from":%q,"reason":%q}`, event, c.name, c.env, c.from, reason)
}

func (d *disk) recall() (all []*remnant) {
	byName := map[string]*remnant{}
	for line := range bytes.Lines(d.text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		d.seq++
		d.prev = sha256.Sum256(line)
		var r struct {
			TS                           time.Time
			Event, Call, Env, From, Body string
		}
		if err := json.Unmarshal(line, &r); err != nil {
			d.w.check.blame("I4", "a line of the log cannot be read: %v", err)
			return all
		}
		name := r.Call
		if name == "" {
			name = r.From + "\x00" + r.Env
		}
		if r.Env == "" || strings.Contains("dropped security late_answer foreign_answer proposal_diff", r.Event) {
			continue
		}
		c := byName[name]
		if c == nil {
			c = &remnant{name: r.Call, env: r.Env, from: r.From, at: r.TS, body: r.Body}
			byName[name] = c
			all = append(all, c)
		}
		switch r.Event {
		case "started":
			c.started, c.at = true, r.TS
		case "ended":
			c.ended = true
		case "rejected", "withdrawn":
			c.ended = c.ended || !c.started
		}
	}
	return all
}
