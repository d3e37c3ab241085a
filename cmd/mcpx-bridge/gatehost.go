package main

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A hostGate hands the calls of the client to whoever judges those of the topic.
// Without a place in the topic nobody does, and there is no record either: they
// wait for it a while.
type hostGate struct{ pt *passthrough }

// An earlyCall waits for a place.
type earlyCall struct {
	line []byte
	m    jsonrpc.Message
	late *time.Timer
}

func (e *earlyCall) is(id []byte) bool {
	return jsonrpc.Loosely(e.m.Get(jsonrpc.ID)) == jsonrpc.Loosely(id)
}

const (
	placeWait = 10 * time.Second // for which a call of the client's waits for a place
	earlyMost = 64               // such calls at one time
)

// HostSaid implements stdio.Gate.
func (g hostGate) HostSaid(line []byte, m jsonrpc.Message) (taken bool) {
	pt := g.pt
	pt.mu.Lock()
	b := pt.place
	if b == nil {
		defer pt.mu.Unlock()
		return pt.keepEarlyLocked(line, m)
	}
	pt.mu.Unlock()
	return b.sidecar.HostSaid(line, m)
}

// keepEarlyLocked takes what the client says while we have no place.
func (pt *passthrough) keepEarlyLocked(line []byte, m jsonrpc.Message) (taken bool) {
	switch m.Text(jsonrpc.Method) {
	case "tools/call":
	case "notifications/cancelled":
		return pt.dropEarlyLocked(func(e *earlyCall) bool { return e.is(m.Get(jsonrpc.RequestID)) })
	default:
		return true // an answer to a place that is no more
	}
	if len(pt.early) >= earlyMost {
		pt.unplaced(m)
		return true
	}
	e := &earlyCall{line: line, m: m}
	e.late = time.AfterFunc(placeWait, func() {
		pt.mu.Lock()
		defer pt.mu.Unlock()
		if pt.dropEarlyLocked(func(other *earlyCall) bool { return other == e }) {
			pt.unplaced(m)
		}
	})
	pt.early = append(pt.early, e)
	return true
}

func (pt *passthrough) dropEarlyLocked(which func(*earlyCall) bool) (some bool) {
	pt.early = slices.DeleteFunc(pt.early, func(e *earlyCall) bool {
		if !which(e) {
			return false
		}
		some = true
		e.late.Stop()
		return true
	})
	return some
}

// unplaced refuses a call that nobody can judge.
func (pt *passthrough) unplaced(m jsonrpc.Message) {
	pt.p.log.Warn("a call of the client was refused: there is no place in the topic, so nobody judges it and there is no record")
	pt.server.Tell(engine.Unjudged().Result(m.Get(jsonrpc.ID), pt.hello != nil && pt.hello.Modern))
}

func (pt *passthrough) sendEarlyLocked(b *bridging) {
	for _, e := range pt.early {
		e.late.Stop()
		b.sidecar.HostSaid(e.line, e.m)
	}
	pt.early = nil
}

// HostRefused implements stdio.Gate.
func (g hostGate) HostRefused(reason, detail string) {
	if b := g.pt.here(); b != nil {
		b.sidecar.Handle(engine.Garbled{Refused: &wire.Refused{From: "host", Reason: reason, Detail: detail}})
		b.sidecar.Flush()
	}
}

// ServerAnswered implements stdio.Gate.
func (g hostGate) ServerAnswered(id []byte, m *jsonrpc.Message) (pass bool) {
	pt := g.pt
	pt.mu.Lock()
	b := pt.place
	held := slices.ContainsFunc(pt.early, func(e *earlyCall) bool { return id == nil || e.is(id) })
	pt.mu.Unlock()
	if b == nil {
		return !held
	}
	return b.sidecar.HostAnswered(id, m)
}

// HostLeft implements stdio.Gate.
func (g hostGate) HostLeft() {
	g.pt.mu.Lock()
	g.pt.dropEarlyLocked(func(*earlyCall) bool { return true })
	b := g.pt.place
	g.pt.mu.Unlock()
	if b != nil {
		b.sidecar.Handle(engine.HostLeft{})
		b.sidecar.Flush()
	}
}
