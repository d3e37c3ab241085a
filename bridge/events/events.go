package events

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/asyncwriter"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record/plain"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Events put what happens before the owner: as JSON lines, or in words in a log. The first of
// them is ready; what happens before it is held until it has come, or until Close. Whoever
// likes may call them at any time.
type Events struct {
	out *asyncwriter.Writer // nil without --json
	log *slog.Logger

	mu     sync.Mutex
	begun  bool
	joined bool   // was connected once
	held   []byte // lines
	missed int    // lines that were too many to be held
	line   []byte // room for one
	guests guests
	visits *visits // nil: each coming and going is told as it happens
}

// JSON are events as JSON lines. What is no record goes to the log.
func JSON(to io.Writer, log *slog.Logger) *Events {
	return &Events{out: asyncwriter.New(to, lost), log: log}
}

// Log are events in words. Where people look on, at a terminal, it does not say of anybody that
// they came and went within a second; of who did within half a minute, under an id that was made
// up for one command, it says so once they are gone, unless they asked something of us: the record
// of that says more.
func Log(log *slog.Logger, lookedOn bool) *Events {
	e := &Events{log: log}
	if lookedOn {
		e.visits = &visits{}
	}
	return e
}

// heldMost is how many bytes are held for ready, which may be long in coming: a
// gateway can be away for hours, and a server talks.
const heldMost = 1 << 20

// Emit is the Emit of a Sidecar: it neither waits nor calls back.
func (e *Events) Emit(r *record.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.visits != nil {
		e.visits.asked(r.From)
	}
	switch {
	case r.Event == record.Peer:
		e.peer(r)
		return
	case r.Event == record.Connected && !e.joined:
		e.joined = true
		return // ready says so
	case r.Event == record.Connected:
		again := *r
		again.Event = record.Reconnected
		r = &again
	}
	e.sayOrHold(r)
}

// EmitOf is Emit for a record of what by has brought about: it is told while there is room for
// lines about by, then counted.
func (e *Events) EmitOf(by string, r *record.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.visits != nil {
		e.visits.asked(r.From)
	}
	e.sayWithin(by, "", r)
}

// peer tells that somebody came or left.
func (e *Events) peer(r *record.Record) {
	switch {
	case e.visits != nil && r.State == "joined":
		e.came(r.ID, func() { e.listPeer(r) })
	case e.visits != nil && r.State == "left" && e.visits.waiting[r.ID] != nil:
		e.went(r.ID)
	default:
		e.listPeer(r)
	}
}

// listPeer is peer while there is room for lines about whom it is about.
func (e *Events) listPeer(r *record.Record) { e.sayWithin(r.ID, r.State, r) }

func (e *Events) sayWithin(about, state string, r *record.Record) {
	if !e.listsLocked(about, state) {
		e.detail(plain.Words(r))
		return
	}
	e.sayOrHold(r)
}

func (e *Events) sayOrHold(r *record.Record) {
	if e.out != nil && !e.begun {
		e.hold(append(text.EscapeJSON(r.JSON()), '\n'))
		return
	}
	e.say(r)
}

func (e *Events) hold(line []byte) {
	if len(e.held)+len(line) > heldMost {
		e.missed++
		return
	}
	e.held = append(e.held, line...)
}

func (e *Events) say(r *record.Record) {
	if e.out != nil {
		e.line = append(r.Append(e.line[:0]), '\n')
		e.out.Write(text.EscapeJSON(e.line))
		return
	}
	ctx, level := context.Background(), plain.Level(r)
	if e.log.Enabled(ctx, level) {
		e.log.LogAttrs(ctx, level, plain.Words(r), plain.Details(r)...)
	}
}

// Begin emits ready, a line of JSON or the same in words, and what was held for it. It reports
// whether this is the first time; later ones do nothing.
func (e *Events) Begin(ready []byte, words ...string) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun {
		return false
	}
	e.begun = true
	if e.out == nil {
		for _, line := range words {
			e.log.Info(line)
		}
	} else {
		e.out.Write(ready)
	}
	e.release()
	return true
}

func (e *Events) release() {
	if len(e.held) > 0 {
		e.out.Write(e.held)
	}
	if e.missed > 0 {
		e.out.Write(lost(e.missed))
	}
	e.held, e.missed = nil, 0
}

// Close emits what is still held, for a start that failed has its history too,
// and then that all is over.
func (e *Events) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.visits != nil {
		e.visits.stop()
	}
	e.sumUpLocked()
	e.release()
	e.say(&record.Record{Event: record.Stopped})
	if e.out != nil {
		e.out.Close()
	}
}

// Discard is the end of events of which there were none, for nothing was started.
func (e *Events) Discard() {
	if e.out != nil {
		e.out.Close()
	}
}

func lost(n int) []byte {
	return fmt.Appendf(nil, "{\"event\":\"events_lost\",\"count\":%d}\n", n)
}

// What the others in a topic can have us write by coming, going and changing what they
// offer has the bounds of a log. What is beyond is counted, and the count is written, with
// how it stands by then.

// guests are the shares, guarded by the lock of the events.
type guests struct {
	shares quota.Shares[string]
	states map[string]string // the latest that was not listed, of those who have a share
	sums   *time.Timer       // nil: nothing is counted
}

// listsLocked takes one line about somebody off their share, or counts it. state is what
// has become of them, "" for other lines.
func (e *Events) listsLocked(id, state string) bool {
	g := &e.guests
	if g.shares.Limits == (quota.Limits{}) {
		g.shares = quota.Shares[string]{Limits: quota.Log, Keep: strings.Clone, Compare: strings.Compare}
		g.states = map[string]string{}
	}
	if g.shares.Take(time.Now(), id, 0) {
		delete(g.states, id)
		return true
	}
	if _, known := g.states[id]; state != "" && (known || len(g.states) < quota.Log.Names) {
		g.states[strings.Clone(id)] = state
	}
	if g.sums == nil {
		g.sums = time.AfterFunc(quota.SumEvery, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.sumUpLocked()
		})
	}
	return false
}

// sumUpLocked writes what was counted.
func (e *Events) sumUpLocked() {
	g := &e.guests
	if g.sums == nil {
		return
	}
	g.sums.Stop()
	g.sums = nil
	for _, s := range g.shares.Draw(time.Now()) {
		e.sayOrHold(&record.Record{Event: record.Peer, ID: s.By, State: g.states[s.By], Count: s.Count})
	}
	clear(g.states)
}

// Note logs what a peer has brought about, as far as there is room for lines about it.
func (e *Events) Note(by, words string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if by != "" && !e.listsLocked(by, "") {
		e.detail(words)
		return
	}
	e.log.Info(words)
}

// detail logs a line that is only counted.
func (e *Events) detail(words string) {
	if e.out == nil {
		e.log.Log(context.Background(), slog.LevelDebug, words)
	}
}

// How long somebody has to be here for their coming to be told. Who came for one command has an
// id that was made up for it, and is gone some seconds after: a gateway keeps a seat for a while,
// for those who come back.
const (
	staying       = time.Second
	stayingMadeUp = 30 * time.Second
)

// mostVisits bounds how many are waited for; the coming of more is told at once.
const mostVisits = 256

// visits hold back that somebody came until they have stayed. The lock of the events guards
// them.
type visits struct{ waiting map[string]*visit }

// A visit is of somebody of whom nothing was told yet.
type visit struct {
	since time.Time
	told  *time.Timer // tells it
	asked bool        // something of us, of which there is a record
}

// came has locked tell that id came, once they have stayed.
func (e *Events) came(id string, told func()) {
	v := e.visits
	if len(v.waiting) >= mostVisits {
		told()
		return
	}
	if v.waiting == nil {
		v.waiting = map[string]*visit{}
	}
	stay := staying
	if strings.HasPrefix(id, text.MadeUp) {
		stay = stayingMadeUp
	}
	this := &visit{since: time.Now()}
	this.told = time.AfterFunc(stay, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if v.waiting[id] == this {
			delete(v.waiting, id)
			told()
		}
	})
	v.waiting[id] = this
}

// asked notes that somebody has asked something of us.
func (v *visits) asked(from string) {
	if len(v.waiting) == 0 {
		return
	}
	if this := v.waiting[from]; this != nil {
		this.asked = true
	}
}

// went ends the visit of somebody of whom nothing was told. An id that looks made up hides
// nobody: whoever likes can have one.
func (e *Events) went(id string) {
	this := e.visits.waiting[id]
	this.told.Stop()
	delete(e.visits.waiting, id)
	long := time.Since(this.since)
	words := id + " was here for " + text.Span(long.Round(time.Second))
	if long < staying || this.asked || !e.listsLocked(id, "left") {
		e.detail(words)
		return
	}
	e.log.Info(words)
}

// stop ends all waiting.
func (v *visits) stop() {
	for _, each := range v.waiting {
		each.told.Stop()
	}
	clear(v.waiting)
}
