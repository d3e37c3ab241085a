package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// The dialects of the two faces that welcome a participant at once, and the
// one spoken to a joiner that names none.
var (
	v0     = dialect("mcp-x/v0")
	v01    = dialect("mcpx/v0.1")
	newMew = dialect("mew/v0.4")
)

func dialect(protocol string) wire.Dialect {
	d, ok := wire.Lookup(protocol)
	if !ok {
		panic("no dialect " + protocol)
	}
	return d
}

// The default grants: what a token that states none permits. The first has the words of
// the seeds too, for who goes by what it reads in its welcome (WIRE 4.3). In the mew family
// it is what a participant says of itself and to others there, as stock gateways grant it
// (FINDINGS D15); nothing in it gives power over anybody.
var (
	plainGrant = caps(`["mcp/*","chat","mcpx.*","mcp.*","proposal*"]`)
	mewGrant   = caps(`[{"kind":"mcp/*"},{"kind":"chat"},{"kind":"chat/*"},{"kind":"reasoning/*"},{"kind":"participant/status"},{"kind":"participant/compact-done"},{"kind":"capability/grant-ack"}]`)
)

// grant returns what a participant may send: what its token states, else the
// default.
func grant(c wire.Caps, d wire.Dialect) wire.Caps {
	switch {
	case c.Stated():
		return c
	case d.Alike(newMew):
		return mewGrant
	}
	return plainGrant
}

// A face is one dialect's side of the gateway over HTTP.
type face struct {
	*Gateway
	dialect wire.Dialect
}

// routes lays out the three faces.
func (g *Gateway) routes() *http.ServeMux {
	m := http.NewServeMux()
	for prefix, f := range map[string]face{"/v0": {g, v0}, "/v0.1": {g, v01}} {
		m.HandleFunc("POST "+prefix+"/auth/token", f.token)
		m.HandleFunc("GET "+prefix+"/topics", f.topicNames)
		m.HandleFunc("GET "+prefix+"/topics/{topic}/participants", f.participants)
		m.HandleFunc("GET "+prefix+"/topics/{topic}/history", f.history)
	}
	m.HandleFunc("GET /v0/ws", face{g, v0}.welcome)
	m.HandleFunc("GET /ws", face{g, v01}.welcome)
	m.HandleFunc("GET /{$}", face{g, newMew}.join)
	m.HandleFunc("GET /participants", face{g, newMew}.space)
	m.HandleFunc("GET /health", g.health)
	m.HandleFunc("GET /metrics", g.metrics)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "nothing is here") })
	return m
}

// welcome serves a participant whose token and topic come with the request.
func (f face) welcome(w http.ResponseWriter, r *http.Request) {
	topic := r.URL.Query().Get("topic")
	p, status, why := f.enter(r, topic)
	if status != 0 {
		f.count.refuse("token")
		refuse(w, status, why)
		return
	}
	f.serve(w, r, topic, p.id, func(s *socket) error { return s.sit(topic, p, f.dialect) })
}

// join serves a participant that speaks first, and may bring its token in the
// frame with which it joins (WIRE 5.3). Unlike other gateways of that family
// this one verifies it.
func (f face) join(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	space := q.Get("space")
	if t := q.Get("topic"); t != "" {
		if space != "" && space != t {
			refuse(w, http.StatusBadRequest, "topic and space name two different rooms")
			return
		}
		space = t
	}
	if space != "" && !ValidTopic(space) {
		refuse(w, http.StatusBadRequest, "the space is no name for one: "+topicGrammar)
		return
	}
	var p pass
	if r.Header.Get("Authorization") != "" || q.Has("token") || q.Has("access_token") {
		var status int
		var why string
		if p, status, why = f.bearer(r); status == 0 && space != "" && !p.admits(space) {
			status, why = http.StatusForbidden, "the token is for another topic"
		}
		if status != 0 {
			f.count.refuse("token")
			refuse(w, status, why)
			return
		}
	}
	f.serve(w, r, space, p.id, func(s *socket) error { return s.join(space, p) })
}

// serve runs one session.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, topic, id string, join func(*socket) error) {
	if !g.begin() {
		refuse(w, http.StatusServiceUnavailable, errClosed.Error())
		return
	}
	defer g.sessions.Done()
	if err := g.room(topic, id); err != nil {
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

// room reports whether there is room for a participant, so that most of those
// for whom there is none hear of it before the upgrade.
func (g *Gateway) room(topic, id string) error {
	g.mu.Lock()
	t, full := g.topics[topic], len(g.topics) >= g.opt.MaxTopics && len(g.empty) == 0
	g.mu.Unlock()
	switch {
	case t == nil && full:
		return errFull
	case t != nil && len(t.roster()) >= g.opt.MaxParticipants && len(t.absent([]string{id})) > 0:
		return errSeat
	}
	return nil
}

// A turnedAway is a joiner that gets no seat. It implements error.
type turnedAway struct {
	code   string // of a fault, "" for none
	reason string // of the close frame
	late   bool   // a newer session has the seat
}

func (t *turnedAway) Error() string { return t.reason }

// join waits for the first frame, which must be a join, and takes the seat it
// asks for. p is what the request's own token said, if it had one.
func (s *socket) join(space string, p pass) error {
	frame, err := s.next()
	if err != nil {
		return err
	}
	d, away := s.ask(frame, &space, &p)
	if away != nil {
		s.g.count.refuse("join")
		f := wire.Fault{Code: away.code, Message: away.reason}
		s.put(frameOf(d.AppendFault(nil, uuid.NewString(), wire.Stamp(time.Now()), "", f)))
		return away
	}
	return s.sit(space, p, d)
}

// ask reads a join and settles the dialect, the space and the participant.
func (s *socket) ask(frame []byte, space *string, p *pass) (wire.Dialect, *turnedAway) {
	j, err := wire.ReadJoin(frame)
	if err != nil {
		return newMew, &turnedAway{code: codeInvalid, reason: "the first frame must be a join"}
	}
	d := newMew
	if j.Protocol != "" {
		if d, _ = wire.Lookup(j.Protocol); !d.Alike(newMew) {
			return newMew, &turnedAway{code: codeInvalid, reason: "Invalid protocol version: " + strconv.QuoteToASCII(j.Protocol[:min(len(j.Protocol), 40)])}
		}
	}
	if j.Token != "" {
		if *p, err = s.g.verify(j.Token); err != nil {
			return d, &turnedAway{code: codeAuth, reason: "Invalid token"}
		}
	}
	if *space == "" {
		*space = j.Space
	}
	if *space == "" && p.topic != anyTopic {
		*space = p.topic
	}
	switch {
	case p.id == "":
		return d, &turnedAway{code: codeAuth, reason: "Authorization required: a token in the join or the Authorization header"}
	case j.ID != "" && j.ID != p.id:
		return d, &turnedAway{code: codeAuth, reason: "Token not valid for this participant"}
	case j.Space != "" && j.Space != *space:
		return d, &turnedAway{code: codeInvalid, reason: "the join names another space than the address"}
	case !ValidTopic(*space):
		return d, &turnedAway{code: codeInvalid, reason: "the space is missing or no name for one"}
	case !p.admits(*space):
		return d, &turnedAway{code: codeAuth, reason: "Token not valid for this topic"}
	}
	return d, nil
}
