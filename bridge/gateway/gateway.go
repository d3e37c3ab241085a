// Package gateway keeps topics: rooms in which participants exchange frames
// over WebSockets. One [Gateway] serves any number of topics, and one topic
// any mixture of dialects (DESIGN section 11).
//
// A topic is public. Every frame goes to every other participant, whoever it
// is addressed to; the sender gets a copy only where `to` names it, in mew always. An
// answer of somebody who was not asked goes to nobody. Between
// participants of the same dialect a frame passes byte for byte, between
// others it is spelled anew by package wire. Frames are never changed in
// place: recipients share their bytes.
//
// What a token permits is asked of what a frame is, not of how it is spelled
// (wire.Caps.Permits): mcp/request:tools/call:read_* means the same to a
// participant of mcp-x/v0, whose every frame is called mcp, and to one of mew.
// Grants, revocations and kicks of the mew family pass like any frame; the
// gateway does not act on them.
//
// What the gateway answers for: that `from` is who the token says, that nobody
// but the gateway speaks for the gateway, that a participant sends only what
// its capabilities permit, and that one slow reader costs nobody else
// anything. It judges no payload.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
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

const maxFrame = 16 << 20 // what wire reads at most

const maxHistory = 12 << 20 // it has to fit into one welcome

const stopReason = "the gateway is stopping"

// A Gateway is an http.Handler. It has no goroutine of its own: sessions run
// on those of the http.Server.
type Gateway struct {
	opt      Options
	mux      *http.ServeMux
	upgrader websocket.Upgrader
	bus      bus
	count    counters
	crowd    crowd
	journal  journal
	started  time.Time
	tickets  atomic.Int64

	drain    context.Context // ends when departing sessions must hurry
	hurry    context.CancelFunc
	sessions sync.WaitGroup

	mu      sync.Mutex // taken after a topic's, never before
	closed  bool
	sockets map[*socket]bool // all that are open, seated or not
	topics  map[string]*topic
	empty   []*topic // those nobody is in, longest empty first
}

// New returns a gateway that is ready to serve. It fails if the secret is too
// short to keep anybody out.
func New(o Options) (*Gateway, error) {
	if len(o.Secret) < minSecret {
		return nil, fmt.Errorf("the gateway's secret has %d bytes, it needs at least %d", len(o.Secret), minSecret)
	}
	g := &Gateway{opt: o.withDefaults(), bus: here{}, started: time.Now(), topics: map[string]*topic{}, sockets: map[*socket]bool{}}
	g.crowd.most, g.crowd.mostFrom, g.crowd.all = g.opt.MaxUnseated, g.opt.MaxFromAddress, g.opt.MaxConns
	g.crowd.turned = func() { g.count.refuse("crowded") }
	g.journal.open(g.opt.Log)
	g.drain, g.hurry = context.WithCancel(context.Background())
	g.upgrader = websocket.Upgrader{
		ReadBufferSize: readBuffer,
		CheckOrigin:    func(*http.Request) bool { return true }, // the door has looked already
		Error:          func(w http.ResponseWriter, _ *http.Request, status int, err error) { refuse(w, status, err.Error()) },
	}
	g.mux = g.routes()
	return g, nil
}

// ServeHTTP checks where a request claims to be going and coming from, then
// serves it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, why := g.door(r); status != 0 {
		g.count.refuse("door")
		refuse(w, status, why)
		return
	}
	g.mux.ServeHTTP(w, r)
}

// Close ends every session with 1001 and returns when all of them are gone,
// which takes a second at most. Nobody can join any more.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	topics := slices.Collect(maps.Values(g.topics))
	for s := range g.sockets {
		s.cut(websocket.CloseGoingAway, stopReason)
	}
	g.mu.Unlock()
	for _, t := range topics {
		t.cutAll(websocket.CloseGoingAway, stopReason)
	}
	late := time.AfterFunc(time.Second, g.hurry)
	g.sessions.Wait()
	late.Stop()
	g.hurry()
	g.journal.sumUp()
}

var (
	errClosed = errors.New("the gateway is closed")
	errFull   = errors.New("the gateway keeps as many topics as it may")
)

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
func (g *Gateway) enlist(s *socket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sockets[s] = true
	if g.closed {
		s.cut(websocket.CloseGoingAway, stopReason)
	}
}

func (g *Gateway) strike(s *socket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sockets, s)
}

// keepEmpty is how many topics that everybody has left are remembered, with
// their history: a bridge that restarts alone finds what was said.
const keepEmpty = 16

// open returns the topic of that name, with a hold on it: it is not forgotten
// before release.
func (g *Gateway) open(name string) (*topic, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errClosed
	}
	t := g.topics[name]
	if t == nil {
		if len(g.topics) >= g.opt.MaxTopics && !g.forgetOldest() {
			return nil, errFull
		}
		t = newTopic(g, name)
		g.topics[name] = t
	}
	if t.holds++; t.holds == 1 {
		g.empty = slices.DeleteFunc(g.empty, func(e *topic) bool { return e == t })
	}
	return t, nil
}

// release gives up one hold on a topic.
func (g *Gateway) release(t *topic) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.holds--; t.holds > 0 {
		return
	}
	g.empty = append(g.empty, t)
	if len(g.empty) > keepEmpty {
		g.forgetOldest()
	}
}

// forgetOldest drops the topic that has been empty for longest and reports
// whether there was one. The caller holds g.mu.
func (g *Gateway) forgetOldest() bool {
	if len(g.empty) == 0 {
		return false
	}
	delete(g.topics, g.empty[0].name)
	g.empty = g.empty[1:]
	return true
}

// look returns the topic of that name if there is one. It takes no hold.
func (g *Gateway) look(name string) *topic {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.topics[name]
}
