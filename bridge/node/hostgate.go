package node

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A hostGate hands the calls of the client to whoever judges those of the topic.
// Without a place in the topic nobody does, and there is no record either: they
// wait for it a while.
type hostGate struct {
	tell func(line []byte) // the client
	log  *slog.Logger

	mu    sync.Mutex
	place *Node        // nil while we are not in the topic
	hello *stdio.Hello // nil while the client has not greeted the server
	early []*earlyCall // of the client, made while we had no place
}

// enter has n hear of the server from now on, and of what has been. nil: there is no place
// any more.
func (g *hostGate) enter(n *Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.place = n
	if n == nil {
		return
	}
	if g.hello != nil {
		n.fromServer().ServerUp(*g.hello)
		n.fromServer().ServerIdle()
	}
	for _, e := range g.early {
		e.late.Stop()
		n.sidecar.HostSaid(e.line, e.m)
	}
	g.early = nil
}

func (g *hostGate) here() *Node {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.place
}

// greeted hears that the client has greeted the server.
func (g *hostGate) greeted(h stdio.Hello) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hello = &h
	if g.place != nil {
		g.place.fromServer().ServerUp(h)
	}
}

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
func (g *hostGate) HostSaid(line []byte, m jsonrpc.Message) (taken bool) {
	g.mu.Lock()
	n := g.place
	if n == nil {
		defer g.mu.Unlock()
		return g.keepEarlyLocked(line, m)
	}
	g.mu.Unlock()
	return n.sidecar.HostSaid(line, m)
}

// keepEarlyLocked takes what the client says while we have no place.
func (g *hostGate) keepEarlyLocked(line []byte, m jsonrpc.Message) (taken bool) {
	switch m.Text(jsonrpc.Method) {
	case "tools/call":
	case "notifications/cancelled":
		return g.dropEarlyLocked(func(e *earlyCall) bool { return e.is(m.Get(jsonrpc.RequestID)) })
	default:
		return true // an answer to a place that is no more
	}
	if len(g.early) >= earlyMost {
		g.unplaced(m)
		return true
	}
	e := &earlyCall{line: line, m: m}
	e.late = time.AfterFunc(placeWait, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.dropEarlyLocked(func(other *earlyCall) bool { return other == e }) {
			g.unplaced(m)
		}
	})
	g.early = append(g.early, e)
	return true
}

func (g *hostGate) dropEarlyLocked(which func(*earlyCall) bool) (some bool) {
	g.early = slices.DeleteFunc(g.early, func(e *earlyCall) bool {
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
func (g *hostGate) unplaced(m jsonrpc.Message) {
	g.log.Warn("a call of the client was refused: the bridge has no seat in the topic, so nobody judges the call and no record is kept")
	g.tell(engine.Unjudged().Result(m.Get(jsonrpc.ID), "the bridge", "the call", g.hello != nil && g.hello.Modern))
}

// HostRefused implements stdio.Gate.
func (g *hostGate) HostRefused(reason, detail string) {
	if n := g.here(); n != nil {
		n.tell(engine.Garbled{Refused: &wire.Refused{From: "host", Reason: reason, Detail: detail}})
	}
}

// ServerAnswered implements stdio.Gate.
func (g *hostGate) ServerAnswered(id []byte, m *jsonrpc.Message) (pass bool) {
	g.mu.Lock()
	n := g.place
	held := slices.ContainsFunc(g.early, func(e *earlyCall) bool { return id == nil || e.is(id) })
	g.mu.Unlock()
	if n == nil {
		return !held
	}
	return n.sidecar.HostAnswered(id, m)
}

// HostLeft implements stdio.Gate.
func (g *hostGate) HostLeft() {
	g.mu.Lock()
	g.dropEarlyLocked(func(*earlyCall) bool { return true })
	n := g.place
	g.mu.Unlock()
	if n != nil {
		n.tell(engine.HostLeft{})
	}
}
