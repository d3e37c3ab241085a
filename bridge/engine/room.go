package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const (
	leaveGrace = 5 * time.Second // a peer's leave counts after this (WIRE W-2)
	pauseMax   = 5 * time.Minute // nobody can silence us for longer
	grantsMax  = 64 << 10        // bytes of what we may send, as others add to it
	orderMax   = 128 << 10       // bytes of a grant or a control that are read at all (FINDINGS M3)
)

func (e *Engine) seated(ev Seated) {
	again := e.room.seated
	e.room.seated = true
	if e.server.since.IsZero() {
		e.server.since = e.now
	}
	e.room.dialect, e.room.me, e.room.caps = ev.Dialect, ev.Welcome.You.ID, ev.Welcome.You.Caps
	e.desk.SetBelieved(e.believed())
	e.replay.Together(!e.believed())
	e.others.Together(!e.believed())
	e.renewRoster(ev.Welcome.Peers)
	if again {
		e.then(e.release)
	} else {
		e.then(func() { e.connected(ev) })
	}
}

// connected goes on where we left, with a seat that was not there before.
func (e *Engine) connected(ev Seated) {
	e.note(record.Record{Event: record.Connected, ID: e.room.me, Dialect: ev.Dialect.Protocol, Count: len(ev.Welcome.Peers)})
	for _, m := range Muted(ev.Welcome.You, e.policy) {
		e.note(record.Record{Event: record.Warning, Reason: m.Reason, Detail: m.Detail})
	}
	e.release()
	e.queueDesk(e.desk.Reask(e.now))
	if e.halted != nil {
		e.tellHalted()
	}
}

// A Mute is something that a seat may not send and that the work needs.
type Mute struct{ Reason, Detail string }

// Muted are those of a seat under a policy, as far as they can be told from what the
// gateway says that it may send.
func Muted(you wire.Participant, p *policy.Policy) (all []Mute) {
	if !you.Caps.PredictsMCP("response", "tools/call") {
		all = append(all, Mute{"cannot_respond", "the gateway does not let " + you.ID + " send mcp/response, so callers will get no answers"})
	}
	if p.AsksOthers() && !MayAsk(you) {
		all = append(all, Mute{"cannot_ask", "the gateway does not let " + you.ID + " send mcp/request:" + elicitation + ", so participants can approve nothing"})
	}
	return all
}

// MayAsk reports whether p can put questions to others, as far as the gateway says what
// p may send.
func MayAsk(p wire.Participant) bool { return p.Caps.PredictsMCP("request", elicitation) }

// MayAnswer reports whether p can answer questions, likewise.
func MayAnswer(p wire.Participant) bool { return p.Caps.PredictsMCP("response", elicitation) }

// renewRoster takes the welcome's word for who is here. Those who are not on it
// have the time to come back that everybody has: after an outage of the gateway
// all join again, one after the other. What is held for those who are here is the
// caller's to release, once for all of them.
func (e *Engine) renewRoster(present []wire.Participant) {
	here := map[string]bool{}
	for _, p := range present {
		if p.ID == e.room.me || e.isHost(p.ID) {
			continue
		}
		here[p.ID] = true
	}
	for _, id := range sorted(e.room.peers) {
		if !here[id] {
			e.left(id)
			e.room.peers[id].missed = true
		}
	}
	for _, id := range sorted(e.room.missing) {
		if !here[id] && !e.room.missing[id].Stands() { // stopped with the seat before this one
			e.cancelInAMinute(id)
		}
	}
	inTurn(e, present, func(p wire.Participant) {
		if !here[p.ID] {
			return
		}
		if was := e.room.peers[p.ID]; was == nil || was.leaving != nil {
			e.enlist(p, "here")
		} else {
			was.caps = p.Caps
			e.tellOf(p.ID)
		}
	})
}

// Present are those whom presence has in the topic beside us, by their ids, in no order; false: we
// have no seat, and so nobody knows.
func (e *Engine) Present() (ids []string, known bool) {
	return slices.Collect(maps.Keys(e.room.peers)), e.room.seated
}

// Calls counts what was asked of the server by others in this run, whatever became of it.
func (e *Engine) Calls() uint64 { return e.calls.Named }

// Described is a call, of which From, Via, Method, Tool, Args, Beside, Why and Now are given, with
// what else is known of it now that rules may ask for.
func (e *Engine) Described(c policy.Call) policy.Call {
	now := e.described(c.From, c.Via, c.Method, c.Tool, c.Args, c.Beside, c.Why)
	now.Now = c.Now
	return now
}

// gone forgets somebody who has left.
func (e *Engine) gone(id string) {
	missed := e.room.peers[id].missed
	delete(e.room.peers, id)
	e.tellOf(id)
	e.room.held.Listed(id, false)
	e.note(record.Record{Event: record.Peer, ID: id, State: "left"})
	e.unsubscribeFor(id)
	e.queueDesk(e.desk.Left(e.now, approval.Participant(id)))
	e.then(func() { e.queueBook(e.book.Left(id, e.believed())) })
	e.then(func() { e.withdrawFor(id) })
	e.then(func() { e.cancelAtOnceOrLater(id, missed) })
}

// cancelAtOnceOrLater ends what the server has of somebody who is gone.
func (e *Engine) cancelAtOnceOrLater(id string, missed bool) {
	if !missed {
		e.cancelFor(id)
		return
	}
	e.cancelInAMinute(id)
}

// cancelInAMinute is for somebody whom a roster did not have. The link was cut, theirs perhaps too:
// their answers wait a minute, and so does what they are of.
func (e *Engine) cancelInAMinute(id string) {
	e.room.missing[id] = e.alarms.set(e.now.Add(outgoing.HeldFor), func() {
		delete(e.room.missing, id)
		e.cancelFor(id)
	})
}

// stopGraces: without a seat nobody who was missed can be heard to come back, so that their
// seconds, or their minute, end nothing. Whom the next roster lacks too has as long again.
func (e *Engine) stopGraces() {
	for _, id := range sorted(e.room.peers) {
		if p := e.room.peers[id]; p.leaving != nil {
			e.alarms.stop(p.leaving)
			p.leaving, p.missed = nil, false
			e.tellOf(id)
		}
	}
	for _, id := range sorted(e.room.missing) {
		e.alarms.stop(e.room.missing[id])
	}
}

// notMissing: somebody is heard of, and so waits for what they called.
func (e *Engine) notMissing(id string) {
	e.alarms.stop(e.room.missing[id])
	delete(e.room.missing, id)
}

func (e *Engine) unseated(ev Unseated) {
	if !e.room.seated {
		return
	}
	e.room.seated = false
	e.endPause()
	e.stopGraces()
	e.room.echoes = false
	e.book.Away()
	e.claimsLost()
	e.then(func() {
		e.seatLost()
		r := record.Record{Event: record.Disconnected}
		if ev.Err != nil {
			r.Detail = ev.Err.Error()
		}
		e.note(r)
	})
}

func (e *Engine) presence(env *wire.Envelope) {
	event, who, err := env.Presence()
	if err != nil || who.ID == e.room.me || e.isHost(who.ID) {
		return
	}
	switch event {
	case "join":
		e.enlist(who, "joined")
		e.then(e.release)
	case "leave":
		e.left(who.ID)
	case "update":
		if p := e.room.peers[who.ID]; p != nil {
			p.caps = who.Caps
			e.tellOf(who.ID)
		}
	}
}

// enlist puts somebody on the roster; what is held for them is the caller's to release.
func (e *Engine) enlist(who wire.Participant, how string) {
	p := e.room.peers[who.ID]
	if p == nil {
		p = &peer{}
		e.room.peers[who.ID] = p
		e.note(record.Record{Event: record.Peer, ID: who.ID, State: how})
	}
	e.notMissing(who.ID)
	e.alarms.stop(p.leaving)
	p.caps, p.leaving, p.missed = who.Caps, nil, false
	e.tellOf(who.ID)
	e.queueDesk(e.desk.Joined(e.now, approval.Participant(who.ID)))
}

// left believes a leave only after a while: gateways announce the end of an
// old connection after the beginning of a new one (WIRE 1.5).
func (e *Engine) left(id string) {
	p := e.room.peers[id]
	if p == nil || p.leaving != nil {
		return
	}
	p.leaving = e.alarms.set(e.now.Add(leaveGrace), func() { e.gone(id) })
	e.tellOf(id)
}

// tellOf tells desk and Book how it stands with a participant. Whatever changes the roster
// ends with it.
func (e *Engine) tellOf(id string) {
	p := e.room.peers[id]
	e.desk.SetHere(approval.Participant(id), p != nil)
	switch {
	case p == nil:
		e.book.SetAway(id)
	case p.leaving != nil:
		e.book.SetLeaving(id)
	default:
		e.book.SetHere(id, p.caps)
	}
}

func (e *Engine) fault(env *wire.Envelope) {
	f, err := env.Fault()
	if err != nil {
		return
	}
	e.note(record.Record{Event: record.Warning, Reason: "gateway_fault", Detail: refusal.Clip(strings.TrimSpace(f.Code + " " + f.AttemptedKind + " " + f.Message))})
	// One that goes to somebody else is about a frame of theirs, whichever id that has.
	ours := len(env.To) == 0 || slices.Contains(env.To, e.room.me) || slices.Contains(env.To, "")
	if ours && f.Code == "capability_violation" {
		e.rejectAgain(f)
	}
	e.unheard(f, ours)
}

// grant adds to what we may send (WIRE 7.9). It changes nothing but our own
// idea of what the gateway will let through.
func (e *Engine) grant(env *wire.Envelope) {
	var g struct {
		Recipient    string           `json:"recipient"`
		Capabilities []jsontext.Value `json:"capabilities"`
	}
	if env.Spelled == "capability/grant" && len(env.Payload) > orderMax {
		e.drop(env, "grant_too_large", "a grant of so many bytes is not read: "+strconv.Itoa(len(env.Payload)))
		return
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
		status := "serving"
		if e.server.starting() {
			status = "starting"
		}
		e.send(wire.Notice, &wire.Envelope{Kind: wire.Control, Spelled: "participant/status", To: []string{env.From},
			Corr: []string{env.ID}, Payload: []byte(`{"messages_in_context":0,"status":"` + status + `"}`)})
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
	if len(env.Payload) > orderMax || len(env.Payload) > 0 && json.Unmarshal(env.Payload, &p) != nil {
		e.drop(env, "control_unreadable", env.Spelled)
		return
	}
	length := pauseMax
	if p.Seconds > 0 && p.Seconds < pauseMax.Seconds() {
		length = time.Duration(p.Seconds * float64(time.Second))
	}
	if e.room.paused == nil {
		e.room.pausedAt = e.now
	}
	length = min(length, e.room.pausedAt.Add(pauseMax).Sub(e.now)) // however often it is asked
	e.alarms.stop(e.room.paused)
	e.room.paused = e.alarms.set(e.now.Add(length), e.resume)
	e.note(record.Record{Event: record.Warning, Reason: "paused", From: env.From, RetryMS: length.Milliseconds()})
}

// resume ends a pause: what was held meanwhile is said, and what people are to
// be asked.
func (e *Engine) resume() {
	if e.endPause() {
		e.release()
		e.queueDesk(e.desk.Reask(e.now))
	}
}

// endPause reports whether there was one.
func (e *Engine) endPause() bool {
	if e.room.paused == nil {
		return false
	}
	e.alarms.stop(e.room.paused)
	e.room.paused = nil
	e.room.held.StoodStill(e.now.Sub(e.room.pausedAt))
	return true
}

// markHeld says in the answers to these calls that the record ends before them.
func (e *Engine) markHeld(ends []string) {
	e.room.held.Mark(ends, incomplete)
	e.keepBounds()
}

// notSent hears of a frame that the seat did not take. An answer is held, and so is a claim,
// and soon tried again, unless no frame could ever hold it.
func (e *Engine) notSent(ev NotSent) {
	held := ev.Send.Class == wire.Reply || ev.Send.Class == wire.Claim
	switch {
	case held && (ev.Gone || len(ev.Send.Frame) <= jsonrpc.MaxSize):
		e.claimReturns(ev.Send.Envelope.ID)
		e.hold(ev.Send.Envelope, "") // its end is on record: it was on its way
		if e.room.seated {
			e.lookBy(e.now.Add(resendAfter))
		}
	case ev.Gone || ev.Send.Class == wire.Progress:
	default:
		e.note(record.Record{Event: record.Dropped, Reason: "way_out_full", Method: ev.Send.Envelope.Method,
			Detail: "the gateway does not take frames as fast as they come"})
	}
}

// seatLost: everybody who waits has a minute from now on, and who is here is not
// known any more.
func (e *Engine) seatLost() {
	s := &e.room.held
	s.BeginMinutes(e.now)
	for i := range s.Answers {
		s.Answers[i].Unlisted = false
	}
	if len(s.Answers) > 0 {
		e.lookBy(s.Answers[0].Until)
	}
}

// unheard: a frame of ours that puts a question to somebody did not get there, or a
// request that others made for a proposal (FINDINGS D13, M9). Who is merely away is
// left to the roster: they may be back in a moment. ours: it was said to us.
func (e *Engine) unheard(f wire.Fault, ours bool) {
	absent := f.Code == "recipient_absent"
	inTurn(e, f.Trigger, func(id string) {
		switch {
		case absent && !e.believed(): // nor is it known who says so, nor who is here
		case absent:
			e.queueBook(e.book.Nobody(id))
		case ours:
			e.queueDesk(e.desk.Unreachable(e.now, id))
		}
	})
	if !ours || f.Code != "capability_violation" || len(f.Trigger) > 0 {
		return
	}
	env := &wire.Envelope{Kind: wire.Request, Method: elicitation}
	if kind, err := e.room.dialect.Spelling(env, e.room.caps); err == nil && kind == f.AttemptedKind {
		e.queueDesk(e.desk.UnreachableAll(e.now))
	}
}
