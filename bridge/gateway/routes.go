package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// New returns a gateway that is ready to serve. It fails if the secret is too
// short to keep anybody out.
func New(o Options) (*Gateway, error) {
	if len(o.Secret) < minSecret {
		return nil, fmt.Errorf("the gateway's secret has %d bytes, it needs at least %d", len(o.Secret), minSecret)
	}
	g := &Gateway{opt: o.withDefaults(), started: time.Now(), sockets: map[hub.Sink]bool{}}
	g.hub = hub.New(hub.Options{
		Log: o.Topics, Presence: o.Presence, History: o.History,
		HistoryLimit: g.opt.HistoryLimit, HistoryBytes: g.opt.HistoryBytes, MaxParticipants: g.opt.MaxParticipants, MaxTopics: g.opt.MaxTopics,
		Refused: g.frameRefused,
	})
	g.crowd.most, g.crowd.mostFrom, g.crowd.all = g.opt.MaxUnseated, g.opt.MaxFromAddress, g.opt.MaxConns
	g.crowd.turned = func() { g.refused.add("crowded") }
	g.journal.open(g.opt.Log)
	g.open, g.shut = context.WithCancel(context.Background())
	g.drain, g.hurry = context.WithCancel(context.Background())
	g.upgrader = websocket.Upgrader{
		ReadBufferSize: readBuffer,
		CheckOrigin:    func(*http.Request) bool { return true }, // the door has looked already
		Error:          func(w http.ResponseWriter, _ *http.Request, status int, err error) { refuse(w, status, err.Error()) },
	}
	g.mux = g.lay()
	return g, nil
}

// frameRefused counts and logs a frame that the hub refused.
func (g *Gateway) frameRefused(r hub.Refusal) {
	g.refused.add(r.Reason)
	level := slog.LevelDebug
	if r.First { // a line for each would let a participant fill the disk
		level = slog.LevelWarn
	}
	g.journal.say(level, source{topic: r.Topic, id: r.ID}, "frame refused", "reason", r.Reason, "kind", r.Kind)
}

// Limits of what somebody may keep who has no seat (FINDINGS M8). A seat has limits of
// its own: what waits for it, and its pings.
const (
	headerTime  = 10 * time.Second // for the head of a request, TLS before it included
	requestTime = 30 * time.Second // for the whole of it
	answerTime  = 60 * time.Second // to take the answer, which may be a history
	idleTime    = 30 * time.Second // between two requests
	maxHeader   = 64 << 10         // bytes; a token has 16 KiB at most
)

// Server returns an HTTP server for the gateway that bounds what those without a seat may
// keep: time, memory and connections. The caller may set more fields, but not ConnState.
func (g *Gateway) Server() *http.Server {
	s := &http.Server{
		Handler: g, ConnState: g.crowd.state, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true) // a WebSocket needs no other, and HTTP/2 is long in getting ready
	return s
}

// ServeHTTP checks where a request claims to be going and coming from, then
// serves it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, why := g.door(r); status != 0 {
		g.refused.add("door")
		refuse(w, status, why)
		return
	}
	g.mux.ServeHTTP(w, r)
}

// lay lays out the routes of all dialects.
func (g *Gateway) lay() *http.ServeMux {
	m := http.NewServeMux()
	for prefix, d := range map[string]routes{"/v0": {g, v0}, "/v0.1": {g, v01}} {
		m.HandleFunc("POST "+prefix+"/auth/token", d.token)
		m.HandleFunc("GET "+prefix+"/topics", d.topicNames)
		m.HandleFunc("GET "+prefix+"/topics/{topic}/participants", d.participants)
		m.HandleFunc("GET "+prefix+"/topics/{topic}/history", d.history)
	}
	m.HandleFunc("GET /v0/ws", routes{g, v0}.welcome)
	m.HandleFunc("GET /ws", routes{g, v01}.welcome)
	m.HandleFunc("GET /{$}", routes{g, newMew}.join)
	m.HandleFunc("GET /participants", routes{g, newMew}.space)
	m.HandleFunc("GET /health", g.health)
	m.HandleFunc("GET /metrics", g.metrics)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "nothing is here") })
	return m
}

// welcome serves a participant whose token and topic come with the request.
func (d routes) welcome(w http.ResponseWriter, r *http.Request) {
	topic := r.URL.Query().Get("topic")
	p, status, why := d.enter(r, topic)
	if status != 0 {
		d.refused.add("token")
		refuse(w, status, why)
		return
	}
	d.serve(w, r, topic, p.id, func(s *socket) error { return s.sit(topic, p, d.dialect) })
}

// join serves a participant that speaks first, and may bring its token in the
// frame with which it joins (WIRE 5.3). Unlike other gateways of that family
// this one verifies it.
func (d routes) join(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	space := q.Get("space")
	if t := q.Get("topic"); t != "" {
		if space != "" && space != t {
			refuse(w, http.StatusBadRequest, "topic and space name two different rooms")
			return
		}
		space = t
	}
	if space != "" && !wire.ValidTopic(space) {
		refuse(w, http.StatusBadRequest, "the space is no name for one: "+wire.TopicGrammar)
		return
	}
	var p pass
	if r.Header.Get("Authorization") != "" || q.Has("token") || q.Has("access_token") {
		var status int
		var why string
		if p, status, why = d.bearer(r); status == 0 && space != "" && !p.admits(space) {
			status, why = http.StatusForbidden, p.elsewhere(space)
		}
		if status != 0 {
			d.refused.add("token")
			refuse(w, status, why)
			return
		}
	}
	d.serve(w, r, space, p.id, func(s *socket) error { return s.join(space, p) })
}

// serve runs one session.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, topic, id string, join func(*socket) error) {
	if !g.begin() {
		refuse(w, http.StatusServiceUnavailable, hub.ErrClosed.Error())
		return
	}
	defer g.sessions.Done()
	if err := g.hub.CanJoin(topic, id); err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	s := g.upgrade(w, r)
	if s == nil {
		return
	}
	g.enlist(s)
	defer g.strike(s)
	s.run(func() error { return join(s) })
}
