package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// routes are where one dialect is spoken over HTTP.
type routes struct {
	*Gateway
	dialect wire.Dialect
}

// token mints a token for anybody who asks, where that was chosen.
func (d routes) token(w http.ResponseWriter, r *http.Request) {
	if !d.opt.OpenTokens {
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
	token, err := d.Mint(Claims{ID: ask.ParticipantID, Topic: ask.Topic, Capabilities: ask.Capabilities})
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	answer := map[string]any{"token": token}
	if d.dialect == v01 {
		stated, _ := wire.ParseCaps(ask.Capabilities) // Mint took them
		answer["capabilities"] = json.RawMessage(grant(stated, v01).Raw())
	}
	reply(w, http.StatusOK, answer)
}

// topicNames lists the open topics the token is good for.
func (d routes) topicNames(w http.ResponseWriter, r *http.Request) {
	p, status, why := d.bearer(r)
	if status != 0 {
		refuse(w, status, why)
		return
	}
	names := []string{} // not nil, which JSON has a null for
	for _, name := range d.hub.Topics() {
		if p.admits(name) {
			names = append(names, name)
		}
	}
	reply(w, http.StatusOK, map[string]any{"topics": names})
}

// someone is a participant as REST lists it.
type someone struct {
	ID           string          `json:"id"`
	Name         string          `json:"name,omitempty"`
	Connected    bool            `json:"connected,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

func (d routes) participants(w http.ResponseWriter, r *http.Request) {
	d.list(w, r, r.PathValue("topic"))
}

func (d routes) space(w http.ResponseWriter, r *http.Request) {
	d.list(w, r, r.URL.Query().Get("space"))
}

// list lists who is in a topic.
func (d routes) list(w http.ResponseWriter, r *http.Request, topic string) {
	if _, status, why := d.enter(r, topic); status != 0 {
		refuse(w, status, why)
		return
	}
	all := []someone{}
	for _, m := range d.hub.Members(topic) {
		all = append(all, d.listed(m))
	}
	reply(w, http.StatusOK, map[string]any{"participants": all})
}

// listed shows a participant as the dialect of these routes does.
func (d routes) listed(m *hub.Member) someone {
	switch d.dialect {
	case v0:
		return someone{ID: m.ID, Name: m.ID}
	case v01:
		return someone{ID: m.ID, Capabilities: v01.AppendCaps(nil, m.Caps)}
	}
	return someone{ID: m.ID, Capabilities: d.dialect.AppendCaps(nil, m.Caps), Connected: true}
}

// history returns what was said lately, newest first, as frames of the dialect
// of these routes. Nobody gets two at a time: each is megabytes, for as long as its
// reader takes.
func (d routes) history(w http.ResponseWriter, r *http.Request) {
	name, q := r.PathValue("topic"), r.URL.Query()
	p, status, why := d.enter(r, name)
	if status != 0 {
		refuse(w, status, why)
		return
	}
	if _, another := d.telling.LoadOrStore(p.id, true); another {
		refuse(w, http.StatusTooManyRequests, "another history is on its way to "+p.id)
		return
	}
	defer d.telling.Delete(p.id)
	limit := 100
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > 1000 {
			refuse(w, http.StatusBadRequest, "limit must be a number from 1 to 1000")
			return
		}
		limit = n
	}
	said, err := d.hub.Before(name, d.dialect, q.Get("before"), limit)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "the history is not to be had at the moment")
		return
	}
	frames := make([]json.RawMessage, len(said))
	for i, frame := range said {
		frames[i] = frame
	}
	reply(w, http.StatusOK, map[string]any{"history": frames})
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

// metrics writes the counters as Prometheus reads them. They name no topic and
// nobody in it.
func (g *Gateway) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	g.mu.Lock()
	sockets := len(g.sockets)
	g.mu.Unlock()
	write := func(name, kind, help string, n int64) {
		fmt.Fprintf(w, "# HELP mcpx_gateway_%s %s\n# TYPE mcpx_gateway_%[1]s %[3]s\nmcpx_gateway_%[1]s %[4]d\n", name, help, kind, n)
	}
	write("topics", "gauge", "Topics somebody is in.", int64(g.hub.TopicCount()))
	write("sockets", "gauge", "Open WebSocket sessions.", int64(sockets))
	write("unseated", "gauge", "Connections without a seat.", int64(g.crowd.size()))
	write("joins_total", "counter", "Seats taken.", g.hub.Count.Joins.Load())
	write("frames_received_total", "counter", "Frames received from participants.", g.hub.Count.In.Load())
	write("frames_delivered_total", "counter", "Frames queued for participants.", g.hub.Count.Out.Load())
	write("frames_inexpressible_total", "counter", "Frames a recipient's dialect has no word for.", g.hub.Count.Inexpressible.Load())
	write("slow_readers_cut_total", "counter", "Sessions cut because their queue was full.", g.hub.Count.Slow.Load())
	write("stayed_awake_total", "counter", "Times the gateway listened awake for the next frame of one just answered, heard or not; 60 us each at most.", g.hub.Count.Awake.Load())
	fmt.Fprint(w, "# HELP mcpx_gateway_refused_total Frames and requests refused.\n# TYPE mcpx_gateway_refused_total counter\n")
	g.refused.mu.Lock()
	defer g.refused.mu.Unlock()
	for reason, n := range g.refused.count {
		fmt.Fprintf(w, "mcpx_gateway_refused_total{reason=%q} %d\n", reason, n)
	}
}
