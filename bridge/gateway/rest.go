package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// token mints a token for anybody who asks, where that was chosen.
func (f face) token(w http.ResponseWriter, r *http.Request) {
	if !f.opt.OpenTokens {
		refuse(w, http.StatusNotFound, "this gateway hands out no tokens")
		return
	}
	var ask struct {
		ParticipantID string          `json:"participantId"`
		Topic         string          `json:"topic"`
		Capabilities  json.RawMessage `json:"capabilities"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&ask); err != nil {
		refuse(w, http.StatusBadRequest, `the body must be {"participantId": …, "topic": …}`)
		return
	}
	token, err := f.Mint(Claims{ID: ask.ParticipantID, Topic: ask.Topic, Capabilities: ask.Capabilities})
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	answer := map[string]any{"token": token}
	if f.dialect == v01 {
		stated, _ := wire.ParseCaps(ask.Capabilities) // Mint took them
		answer["capabilities"] = json.RawMessage(grant(stated, v01).Raw())
	}
	reply(w, http.StatusOK, answer)
}

// topicNames lists the open topics the token is good for.
func (f face) topicNames(w http.ResponseWriter, r *http.Request) {
	p, status, why := f.bearer(r)
	if status != 0 {
		refuse(w, status, why)
		return
	}
	names := []string{}
	f.mu.Lock()
	for name, t := range f.topics {
		if t.holds > 0 && p.admits(name) {
			names = append(names, name)
		}
	}
	f.mu.Unlock()
	slices.Sort(names)
	reply(w, http.StatusOK, map[string]any{"topics": names})
}

// someone is a participant as REST lists it.
type someone struct {
	ID           string          `json:"id"`
	Name         string          `json:"name,omitempty"`
	Connected    bool            `json:"connected,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

func (f face) participants(w http.ResponseWriter, r *http.Request) {
	f.list(w, r, r.PathValue("topic"))
}

func (f face) space(w http.ResponseWriter, r *http.Request) { f.list(w, r, r.URL.Query().Get("space")) }

// list lists who is in a topic.
func (f face) list(w http.ResponseWriter, r *http.Request, topic string) {
	if _, status, why := f.enter(r, topic); status != 0 {
		refuse(w, status, why)
		return
	}
	all := []someone{}
	if t := f.look(topic); t != nil {
		for _, s := range t.roster() {
			all = append(all, f.listed(s))
		}
	}
	reply(w, http.StatusOK, map[string]any{"participants": all})
}

// listed shows a participant as the face's dialect does.
func (f face) listed(s *seat) someone {
	switch f.dialect {
	case v0:
		return someone{ID: s.id, Name: s.id}
	case v01:
		return someone{ID: s.id, Capabilities: v01.AppendCaps(nil, s.caps)}
	}
	return someone{ID: s.id, Capabilities: f.dialect.AppendCaps(nil, s.caps), Connected: true}
}

// history returns what was said lately, newest first, as frames of the face's
// dialect.
func (f face) history(w http.ResponseWriter, r *http.Request) {
	name, q := r.PathValue("topic"), r.URL.Query()
	if _, status, why := f.enter(r, name); status != 0 {
		refuse(w, status, why)
		return
	}
	limit := 100
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > 1000 {
			refuse(w, http.StatusBadRequest, "limit must be a number from 1 to 1000")
			return
		}
		limit = n
	}
	frames := []json.RawMessage{}
	if t := f.look(name); t != nil {
		frames = t.latest(f, q.Get("before"), limit)
	}
	reply(w, http.StatusOK, map[string]any{"history": frames})
}

// latest returns posts of the topic as frames of the face's dialect.
func (t *topic) latest(f face, before string, limit int) []json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := []json.RawMessage{}
	for _, p := range t.past.before(before, limit) {
		if body := p.as(f.dialect); body != nil {
			frames = append(frames, body)
		}
	}
	return frames
}

// health answers in the form by which clients detect what is spoken here: of
// the dialects this gateway speaks, mcpx/v0.1 says most about a frame, so that
// is what it names (WIRE 1.4). To a challenge it adds the [Proof].
func (g *Gateway) health(w http.ResponseWriter, r *http.Request) {
	said := map[string]any{
		"status":    "healthy",
		"timestamp": wire.Stamp(time.Now()),
		"uptime":    time.Since(g.started).Seconds(),
		"protocol":  v01.Protocol,
		"server":    "mcpx-bridge",
	}
	if proof := g.prove(r); proof != "" {
		said["proof"] = proof
	}
	reply(w, http.StatusOK, said)
}

// counters are what /metrics shows. By in a topic also knows whether anything was
// said elsewhere (see foresee), so it counts every frame before it is delivered.
type counters struct {
	in, out, slow, joins, inexpressible, awake atomic.Int64

	mu      sync.Mutex
	refused map[string]int64 // by reason
}

func (c *counters) refuse(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[string]int64{}
	}
	c.refused[reason]++
}

// metrics writes the counters as Prometheus reads them. They name no topic and
// nobody in it.
func (g *Gateway) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	g.mu.Lock()
	topics, sockets := len(g.topics)-len(g.empty), len(g.sockets)
	g.mu.Unlock()
	write := func(name, kind, help string, n int64) {
		fmt.Fprintf(w, "# HELP mcpx_gateway_%s %s\n# TYPE mcpx_gateway_%[1]s %[3]s\nmcpx_gateway_%[1]s %[4]d\n", name, help, kind, n)
	}
	write("topics", "gauge", "Topics somebody is in.", int64(topics))
	write("sockets", "gauge", "Open WebSocket sessions.", int64(sockets))
	write("unseated", "gauge", "Connections without a seat.", int64(g.crowd.size()))
	write("joins_total", "counter", "Seats taken.", g.count.joins.Load())
	write("frames_received_total", "counter", "Frames received from participants.", g.count.in.Load())
	write("frames_delivered_total", "counter", "Frames queued for participants.", g.count.out.Load())
	write("frames_inexpressible_total", "counter", "Frames a recipient's dialect has no word for.", g.count.inexpressible.Load())
	write("slow_readers_cut_total", "counter", "Sessions cut because their queue was full.", g.count.slow.Load())
	write("stayed_awake_total", "counter", "Times the gateway listened awake for the next frame of one just answered, heard or not; 60 us each at most.", g.count.awake.Load())
	fmt.Fprint(w, "# HELP mcpx_gateway_refused_total Frames and requests refused.\n# TYPE mcpx_gateway_refused_total counter\n")
	g.count.mu.Lock()
	defer g.count.mu.Unlock()
	for reason, n := range g.count.refused {
		fmt.Fprintf(w, "mcpx_gateway_refused_total{reason=%q} %d\n", reason, n)
	}
}
