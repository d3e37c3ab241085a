package bridge

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Bounds on what is kept while there is no way out (RELIABILITY section 3).
const (
	heldMax      = 1000
	heldMaxBytes = 16 << 20
	heldFor      = 60 * time.Second
	resendAfter  = 250 * time.Millisecond // when an answer for which the way out was full is sent again
	leaveGrace   = 5 * time.Second        // a peer's leave counts after this (WIRE W-2)
	pauseMax     = 5 * time.Minute        // nobody can silence us for longer
	grantsMax    = 64 << 10               // bytes of what we may send, as others add to it
)

// room is what the Engine knows of its seat and of who else is there.
type room struct {
	me      string
	dialect wire.Dialect
	caps    wire.Caps
	seated  bool
	peers   map[string]*peer
	paused  *alarm    // set while a participant has asked us to be quiet
	pauseBy time.Time // when that ends at the latest, however often it is asked

	held      []held
	heldBytes int
	sweep     *alarm // when the first of them has waited too long
}

type peer struct {
	caps    wire.Caps
	leaving *alarm
}

// held is an answer that waits for a seat, for the end of a pause, or for a way
// out that is full.
type held struct {
	env      *wire.Envelope
	since    time.Time // when its time began to run; zero: there is a seat, and it is for us to say it
	unlisted bool      // no roster had its addressee then, who may be here all the same
	of       string    // the call that env is the server's answer to; "" if it is ours
}

// over: the answer has waited for too long.
func (h *held) over(now time.Time) bool { return !h.since.IsZero() && now.Sub(h.since) >= heldFor }

func (e *Engine) seated(ev Seated) {
	again := e.room.seated
	e.room.seated = true
	e.room.dialect, e.room.me, e.room.caps = ev.Dialect, ev.Welcome.You.ID, ev.Welcome.You.Caps
	e.renewRoster(ev.Welcome.Peers)
	if again {
		return
	}
	e.note(Record{Event: "connected", ID: e.room.me, Dialect: ev.Dialect.Protocol, Count: len(ev.Welcome.Peers)})
	if !e.maySend("response", "tools/call") {
		e.note(Record{Event: "warning", Reason: "cannot_respond",
			Detail: "the gateway does not let " + e.room.me + " send mcp/response, so callers will get no answers"})
	}
	if e.policy.AsksOthers() && !e.maySend("request", elicitation) {
		e.note(Record{Event: "warning", Reason: "cannot_ask",
			Detail: "the gateway does not let " + e.room.me + " send mcp/request:" + elicitation + ", so participants can approve nothing"})
	}
	e.release()
	e.act(e.desk.Reask(e.now))
}

// maySend reports whether the gateway lets us send something, in any spelling.
func (e *Engine) maySend(op, method string) bool {
	caps := &e.room.caps
	return caps.Predicts("mcp/"+op+":"+method) || caps.Predicts("mcp/"+op) || caps.Predicts("mcp")
}

// renewRoster takes the welcome's word for who is here. Those who are not on it
// have the time to come back that everybody has: after an outage of the gateway
// all join again, one after the other.
func (e *Engine) renewRoster(present []wire.Participant) {
	here := map[string]bool{}
	for _, p := range present {
		if p.ID == e.room.me || e.isHost(p.ID) {
			continue
		}
		here[p.ID] = true
		if was := e.room.peers[p.ID]; was == nil || was.leaving != nil {
			e.joined(p, "here")
		} else {
			was.caps = p.Caps
		}
	}
	for _, id := range sorted(e.room.peers) {
		if !here[id] {
			e.left(id)
		}
	}
}

// gone forgets somebody who has left.
func (e *Engine) gone(id string) {
	delete(e.room.peers, id)
	e.note(Record{Event: "peer", ID: id, State: "left"})
	for _, uri := range e.server.forgetSubscriber(id) {
		e.unsubscribe(uri)
	}
	e.act(e.desk.Left(e.now, approval.Participant(id)))
	e.live(e.book.Left(id))
	e.withdrawFor(id)
}

func (e *Engine) unseated(ev Unseated) {
	if !e.room.seated {
		return
	}
	e.room.seated = false
	e.room.waitFrom(e.now)
	if e.room.paused != nil {
		e.alarms.stop(e.room.paused)
		e.room.paused = nil
	}
	r := Record{Event: "disconnected"}
	if ev.Err != nil {
		r.Detail = ev.Err.Error()
	}
	e.note(r)
}

// quiet: while paused we say nothing but where we stand (WIRE 5.8).
func (r *room) quiet(k wire.Kind) bool {
	return r.paused != nil && k != wire.Control && k != wire.Grant
}

// hold keeps an answer for later. Other frames are worth nothing later.
func (e *Engine) hold(class wire.Class, env *wire.Envelope) {
	if class != wire.Reply {
		return
	}
	h := held{env: env, unlisted: e.room.peers[env.To[0]] == nil}
	if !e.room.seated {
		h.since = e.now
	}
	e.room.held = append(e.room.held, h)
	e.room.heldBytes += size(env)
	for len(e.room.held) > heldMax || e.room.heldBytes > heldMaxBytes {
		e.dropHeld("outbox_full")
	}
}

// sendHeld sends an answer, or holds it again. That of the server leaves after
// its record wherever it waited meanwhile.
func (e *Engine) sendHeld(h held) {
	if f, ok := e.spell(wire.Reply, h.env); ok {
		f.Result, f.Of = h.of != "", h.of
		e.do(f)
	} else if n := len(e.room.held); n > 0 && e.room.held[n-1].env == h.env {
		e.room.held[n-1].of = h.of
	}
}

// waitFrom lets the time of those answers run whose time does not.
func (r *room) waitFrom(now time.Time) {
	for i := range r.held {
		if h := &r.held[i]; h.since.IsZero() {
			h.since = now
		}
	}
}

// markHeld says in the answers that wait that the record ends before them.
func (e *Engine) markHeld(ends []string) {
	for i := range e.room.held {
		h := &e.room.held[i]
		if h.of == "" || !slices.Contains(ends, h.of) {
			continue
		}
		e.room.heldBytes -= size(h.env)
		h.env = incomplete(h.env)
		e.room.heldBytes += size(h.env)
	}
}

func (e *Engine) dropHeld(why string) {
	oldest := e.room.held[0].env
	e.room.heldBytes -= size(oldest)
	e.room.held = slices.Delete(e.room.held, 0, 1)
	e.note(Record{Event: "dropped", From: oldest.To[0], Env: oldest.Corr[0], Method: oldest.Method, Reason: why,
		Detail: "an answer could not be delivered"})
}

// release sends what was held to those who are here. For the others it waits on,
// until they come or their time is over. While we are to be quiet nobody's time runs.
func (e *Engine) release() {
	if e.room.paused != nil {
		return
	}
	waiting := e.room.held
	e.room.held, e.room.heldBytes = nil, 0
	for _, h := range waiting {
		switch p := e.room.peers[h.env.To[0]]; {
		case h.over(e.now):
			e.note(Record{Event: "dropped", From: h.env.To[0], Env: h.env.Corr[0], Method: h.env.Method, Reason: "caller_gone",
				Detail: "an answer could not be delivered"})
		case p != nil && p.leaving == nil, h.unlisted && h.since.IsZero(), h.env.To[0] == e.room.me:
			e.sendHeld(h)
		default:
			e.room.held = append(e.room.held, h)
			e.room.heldBytes += size(h.env)
		}
	}
	e.room.waitFrom(e.now)
	e.alarms.stop(e.room.sweep)
	if len(e.room.held) > 0 && e.room.seated {
		e.room.sweep = e.alarms.set(e.room.held[0].since.Add(heldFor), e.release)
	}
}

// notSent hears of a frame that the seat did not take. Answers are kept, all but
// those that are too large for it: where there is a seat, it is soon tried again.
func (e *Engine) notSent(ev NotSent) {
	switch {
	case ev.Send.Class == wire.Reply && (ev.Gone || len(ev.Send.Frame) <= jsonrpc.MaxSize):
		e.hold(ev.Send.Class, ev.Send.Envelope)
		if e.room.seated {
			e.alarms.stop(e.room.sweep)
			e.room.sweep = e.alarms.set(e.now.Add(resendAfter), e.release)
		}
	case ev.Gone || ev.Send.Class == wire.Progress:
	default:
		e.note(Record{Event: "dropped", Reason: "way_out_full", Method: ev.Send.Envelope.Method,
			Detail: "the gateway does not take frames as fast as they come"})
	}
}

// heardFrom says that a participant is alive, whatever presence said.
func (e *Engine) heardFrom(id string) {
	if p := e.room.peers[id]; p != nil && p.leaving != nil {
		e.alarms.stop(p.leaving)
		p.leaving = nil
	}
}

func (e *Engine) presence(env *wire.Envelope) {
	event, who, err := env.Presence()
	if err != nil || who.ID == e.room.me || e.isHost(who.ID) {
		return
	}
	switch event {
	case "join":
		e.joined(who, "joined")
	case "leave":
		e.left(who.ID)
	case "update":
		if p := e.room.peers[who.ID]; p != nil {
			p.caps = who.Caps
		}
	}
}

func (e *Engine) joined(who wire.Participant, how string) {
	p := e.room.peers[who.ID]
	if p == nil {
		p = &peer{}
		e.room.peers[who.ID] = p
		e.note(Record{Event: "peer", ID: who.ID, State: how})
	}
	e.alarms.stop(p.leaving)
	p.caps, p.leaving = who.Caps, nil
	e.act(e.desk.Joined(e.now, approval.Participant(who.ID)))
	if len(e.room.held) > 0 {
		e.release()
	}
}

// left believes a leave only after a while: gateways announce the end of an
// old connection after the beginning of a new one (WIRE 1.5).
func (e *Engine) left(id string) {
	p := e.room.peers[id]
	if p == nil || p.leaving != nil {
		return
	}
	p.leaving = e.alarms.set(e.now.Add(leaveGrace), func() { e.gone(id) })
}

func (e *Engine) fault(env *wire.Envelope) {
	f, err := env.Fault()
	if err != nil {
		return
	}
	e.note(Record{Event: "warning", Reason: "gateway_fault", Detail: strings.TrimSpace(f.Code + " " + f.AttemptedKind + " " + f.Message)})
	if f.Code == "capability_violation" {
		e.rejectAgain(f)
	}
}

// grant adds to what we may send (WIRE 7.9). It changes nothing but our own
// idea of what the gateway will let through.
func (e *Engine) grant(env *wire.Envelope) {
	var g struct {
		Recipient    string           `json:"recipient"`
		Capabilities []jsontext.Value `json:"capabilities"`
	}
	if env.Spelled != "capability/grant" || json.Unmarshal(env.Payload, &g) != nil || g.Recipient != e.room.me {
		return
	}
	if !e.room.caps.Stated() { // we may say anything already
		e.sendGrantAck(env)
		return
	}
	var had []jsontext.Value
	if json.Unmarshal(e.room.caps.Raw(), &had) != nil {
		return
	}
	merged, err := json.Marshal(append(had, g.Capabilities...))
	if err != nil {
		return
	}
	if len(merged) > grantsMax {
		e.drop(env, "grant_too_large", "we were granted more than we can keep")
		return
	}
	caps, err := wire.ParseCaps(merged)
	if err != nil {
		e.drop(env, "grant_unreadable", err.Error())
		return
	}
	e.room.caps = caps
	e.sendGrantAck(env)
}

func (e *Engine) sendGrantAck(env *wire.Envelope) {
	e.send(wire.Reply, &wire.Envelope{Kind: wire.Grant, Spelled: "capability/grant-ack", To: []string{env.From},
		Corr: []string{env.ID}, Payload: []byte(`{"status":"accepted"}`)})
}

// control does what an orchestrator may ask of any participant. Ending or
// clearing us is not among it: that is the owner's (WIRE 7.9).
func (e *Engine) control(env *wire.Envelope) {
	switch env.Spelled {
	case "participant/pause":
		e.pause(env)
	case "participant/resume":
		e.resume()
	case "participant/request-status":
		e.send(wire.Notice, &wire.Envelope{Kind: wire.Control, Spelled: "participant/status", To: []string{env.From},
			Corr: []string{env.ID}, Payload: []byte(`{"messages_in_context":0,"status":"serving"}`)})
	default:
		e.drop(env, "control_not_allowed", env.Spelled)
	}
}

func (e *Engine) pause(env *wire.Envelope) {
	if e.stopping {
		e.drop(env, "control_not_allowed", "last words are not for later")
		return
	}
	var p struct {
		Seconds float64 `json:"timeout_seconds"`
	}
	if len(env.Payload) > 0 && json.Unmarshal(env.Payload, &p) != nil {
		e.drop(env, "control_unreadable", env.Spelled)
		return
	}
	length := pauseMax
	if p.Seconds > 0 && p.Seconds < pauseMax.Seconds() {
		length = time.Duration(p.Seconds * float64(time.Second))
	}
	if e.room.paused == nil {
		e.room.pauseBy = e.now.Add(pauseMax)
	}
	length = min(length, e.room.pauseBy.Sub(e.now))
	e.alarms.stop(e.room.paused)
	e.room.paused = e.alarms.set(e.now.Add(length), e.resume)
	e.note(Record{Event: "warning", Reason: "paused", From: env.From, RetryMS: length.Milliseconds()})
}

// resume says what was held during a pause.
func (e *Engine) resume() {
	if e.room.paused == nil {
		return
	}
	e.alarms.stop(e.room.paused)
	e.room.paused = nil
	e.release()
	e.act(e.desk.Reask(e.now))
}

// tell broadcasts a notification from the server.
func (e *Engine) tell(method string, payload []byte) {
	e.send(wire.Notice, &wire.Envelope{Kind: wire.Notification, Method: method, Payload: payload})
}

// tellOne sends a notification to one participant. It names no request: stock
// clients would take it for the answer (WIRE W-5).
func (e *Engine) tellOne(class wire.Class, to, method string, payload []byte) {
	e.send(class, &wire.Envelope{Kind: wire.Notification, To: []string{to}, Method: method, Payload: payload})
}
