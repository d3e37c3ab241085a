// Package gateway keeps topics: rooms in which participants exchange frames
// over WebSockets. One [Gateway] serves any number of topics, and one topic
// any mixture of dialects (DESIGN section 11).
//
// What is said in a topic, to whom it goes and in which order, is package hub's: this one
// brings it frames and carries off what they become. A participant sits at the end of a
// WebSocket (socket.go) or in this process ([Gateway.Attach]); both are sinks of the hub, and
// held to the same limits. What the gateway answers for is the way in: that a bearer has a
// token, that it is for this topic and not for another, that requests come from where they
// may, that `from` is who the token says, and that one slow reader costs nobody else anything.
//
// One goroutine, that of the HTTP request, reads a socket from beginning to end. It hands each
// frame to the hub and, when it would wait for the next one, flushes what that brought to
// others. No session has a second goroutine or a timer.
package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
)

// Options of a gateway. Except for Secret, zero means the default.
type Options struct {
	// Secret signs tokens (HS256). At least 32 bytes; [New] refuses less.
	Secret []byte

	// OpenTokens lets anybody who reaches the gateway make a token for any
	// name (POST …/auth/token). For trying things out on one machine.
	OpenTokens bool

	// Hosts are the names, beside those of loopback, under which the gateway
	// may be addressed, without port. A request under another name, or from a
	// page of another origin, is refused (RELIABILITY finding 2).
	Hosts []string

	HistoryLimit    int // frames kept per topic; 0 = 100, negative = none
	HistoryBytes    int // bytes kept per topic; 0 = 4 MiB, at most 12 MiB
	MaxFrame        int // bytes of one frame; 0 = 16 MiB, which is also the most
	MaxQueue        int // frames waiting for one reader before it is cut; 0 = 256
	MaxQueueBytes   int // bytes waiting for one reader before it is cut; 0 = 32 MiB
	MaxParticipants int // in one topic; 0 = 256
	MaxTopics       int // 0 = 1024
	MaxConns        int // connections of a Server, seated or not; 0 = any number
	MaxUnseated     int // of them, without a seat; 0 = 256
	MaxFromAddress  int // of those, from one address; 0 = half of MaxUnseated, negative = any number

	JoinTimeout time.Duration // for the first frame where the client speaks first; 0 = 10 s
	PingEvery   time.Duration // 0 = 30 s
	DeadAfter   time.Duration // nothing heard for so long ends a session; 0 = 75 s

	// What keeps the topics; in memory where nil. See package hub. The limits of the history
	// count for the one in memory only.
	Topics   hub.Log
	Presence hub.Presence
	History  func(topic string) hub.History

	Log *slog.Logger // nil = discard. Never gets a token or a payload
}

// withDefaults fills in what was left zero.
func (o Options) withDefaults() Options {
	o.HistoryLimit = cmp.Or(o.HistoryLimit, 100)
	o.HistoryBytes = min(cmp.Or(o.HistoryBytes, 4<<20), maxHistory)
	o.MaxFrame = min(cmp.Or(o.MaxFrame, maxFrame), maxFrame)
	o.MaxQueue = cmp.Or(o.MaxQueue, 256)
	o.MaxQueueBytes = cmp.Or(o.MaxQueueBytes, 32<<20)
	o.MaxParticipants = cmp.Or(o.MaxParticipants, 256)
	o.MaxTopics = cmp.Or(o.MaxTopics, 1024)
	o.MaxUnseated = cmp.Or(o.MaxUnseated, 256)
	o.MaxFromAddress = cmp.Or(o.MaxFromAddress, max(1, o.MaxUnseated/2))
	o.JoinTimeout = cmp.Or(o.JoinTimeout, 10*time.Second)
	o.PingEvery = cmp.Or(o.PingEvery, 30*time.Second)
	o.DeadAfter = cmp.Or(o.DeadAfter, 75*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

const maxFrame = hub.MaxFrame

const maxHistory = 12 << 20 // it has to fit into one welcome

const stopReason = "the gateway is stopping"

// A Gateway is an http.Handler. It has no goroutine of its own: sessions run
// on those of the http.Server.
type Gateway struct {
	opt      Options
	hub      *hub.Hub
	mux      *http.ServeMux
	upgrader websocket.Upgrader
	refused  refusals
	crowd    crowd
	journal  journal
	started  time.Time
	tickets  atomic.Int64 // in the order in which those who want a seat came
	unread   atomic.Int64 // bytes that wait for those who have left
	telling  sync.Map     // ids of those to whom a history is on its way over REST

	open     context.Context // ends when the gateway closes
	shut     context.CancelFunc
	drain    context.Context // ends when departing sessions must hurry
	hurry    context.CancelFunc
	sessions sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	sockets map[hub.Sink]bool // all that are open, seated or not
}

// Close ends every session with 1001 and returns when all of them are gone,
// which takes a second at most. Nobody can join any more.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	for s := range g.sockets {
		s.Cut(websocket.CloseGoingAway, stopReason)
	}
	g.mu.Unlock()
	g.hub.Cut(websocket.CloseGoingAway, stopReason)
	g.shut()
	late := time.AfterFunc(time.Second, g.hurry)
	g.sessions.Wait()
	late.Stop()
	g.hurry()
	g.hub.Close()
	g.journal.sumUp()
}

// begin counts a session in, unless the gateway is closed.
func (g *Gateway) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.sessions.Add(1)
	}
	return !g.closed
}

// enlist makes Close reach a session; strike takes it off the list.
func (g *Gateway) enlist(s hub.Sink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sockets[s] = true
	if g.closed {
		s.Cut(websocket.CloseGoingAway, stopReason)
	}
}

func (g *Gateway) strike(s hub.Sink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sockets, s)
}
