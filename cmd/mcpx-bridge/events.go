package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/asyncwriter"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record/plain"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// events puts what happens before the owner: as JSON lines on stdout, or in
// words in the log. The first event is ready; what happens before it is held
// until it has come, or until close.
type events struct {
	out *asyncwriter.Writer // nil without --json
	log *slog.Logger

	mu     sync.Mutex
	begun  bool
	joined bool   // was connected once
	held   []byte // lines
	missed int    // lines that were too many to be held
	line   []byte // room for one
	guests guests
}

// heldMost is how many bytes are held for ready, which may be long in coming: a
// gateway can be away for hours, and a server talks.
const heldMost = 1 << 20

// emit is the Emit of a Sidecar: it neither waits nor calls back.
func (e *events) emit(r *record.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case r.Event == record.Peer && !e.listsLocked(r.ID, r.State):
		e.detail(plain.Words(r))
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

func (e *events) sayOrHold(r *record.Record) {
	if e.out != nil && !e.begun {
		e.hold(append(text.EscapeJSON(r.JSON()), '\n'))
		return
	}
	e.say(r)
}

func (e *events) hold(line []byte) {
	if len(e.held)+len(line) > heldMost {
		e.missed++
		return
	}
	e.held = append(e.held, line...)
}

func (e *events) say(r *record.Record) {
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

// begin emits ready, in words with a line for each text, and what was held for it. It
// reports whether this is the first time; later ones do nothing.
func (e *events) begin(ready any, text ...string) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun {
		return false
	}
	e.begun = true
	if e.out == nil {
		for _, line := range text {
			e.log.Info(line)
		}
	} else {
		e.out.Write(jsonLine(ready))
	}
	e.release()
	return true
}

func (e *events) release() {
	if len(e.held) > 0 {
		e.out.Write(e.held)
	}
	if e.missed > 0 {
		e.out.Write(eventsLost(e.missed))
	}
	e.held, e.missed = nil, 0
}

// close emits what is still held, for a start that failed has its history too,
// and then that all is over.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sumUpLocked()
	e.release()
	e.say(&record.Record{Event: record.Stopped})
	if e.out != nil {
		e.out.Close()
	}
}

// A readyEvent is the first event of run (DESIGN 5).
type readyEvent struct {
	Event     string `json:"event"`
	ID        string `json:"id"`
	Topic     string `json:"topic"`
	Gateway   string `json:"gateway"`
	Hosted    bool   `json:"hosted"`
	Dialect   string `json:"dialect"`
	Tools     int    `json:"tools"`
	PID       int    `json:"pid"`
	ServerPID int    `json:"server_pid,omitempty"`
	Control   string `json:"control"`
	Resources string `json:"resources"` // who can read them, in words
	Prompts   string `json:"prompts"`   // who can get them
}

// ready says that calls are served.
func (e *events) ready(r node.Ready) {
	text := fmt.Sprintf("%s serves %d tools in %s at %s", r.ID, r.Tools, r.Topic, r.Gateway)
	if r.Waits {
		text = fmt.Sprintf("%s is in %s at %s and serves calls as soon as the client has greeted the server", r.ID, r.Topic, r.Gateway)
	}
	if r.Hosted {
		text += ", hosted here"
	}
	e.begin(readyEvent{"ready", r.ID, r.Topic, r.Gateway, r.Hosted, r.Dialect, r.Tools, os.Getpid(), r.ServerPID, r.Control, r.Resources, r.Prompts},
		text, "resources: "+visible(r.Resources), "prompts: "+visible(r.Prompts))
}

// discard is the end of events of which there were none, for nothing was started.
func (e *events) discard() {
	if e.out != nil {
		e.out.Close()
	}
}

// newEvents chooses where events go: to stdout, unless that is a client's.
func (p *program) newEvents(to io.Writer) *events {
	e := &events{log: p.log}
	if p.s.JSON {
		e.out = asyncwriter.New(to, eventsLost)
	}
	return e
}

// jsonLine is a value on one line, fit for a terminal.
func jsonLine(v any) []byte {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own structs of strings and numbers come here
	}
	return append(text.EscapeJSON(line), '\n')
}

func eventsLost(n int) []byte {
	return fmt.Appendf(nil, "{\"event\":\"events_lost\",\"count\":%d}\n", n)
}
func logLinesLost(n int) []byte {
	return fmt.Appendf(nil, "mcpx-bridge: warning: %d log lines were lost: nobody read them\n", n)
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
func (e *events) listsLocked(id, state string) bool {
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
func (e *events) sumUpLocked() {
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

// note logs what a peer has brought about, as far as there is room for lines about it.
func (e *events) note(by, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if by != "" && !e.listsLocked(by, "") {
		e.detail(text)
		return
	}
	e.log.Info(text)
}

// detail logs a line that is only counted.
func (e *events) detail(text string) {
	if e.out == nil {
		e.log.Log(context.Background(), slog.LevelDebug, text)
	}
}
