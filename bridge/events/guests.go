package events

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

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
func (e *Events) Note(by, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if by != "" && !e.listsLocked(by, "") {
		e.detail(text)
		return
	}
	e.log.Info(text)
}

// detail logs a line that is only counted.
func (e *Events) detail(text string) {
	if e.out == nil {
		e.log.Log(context.Background(), slog.LevelDebug, text)
	}
}
