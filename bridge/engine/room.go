package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

const (
	leaveGrace = 5 * time.Second // a peer's leave counts after this (WIRE W-2)
	pauseMax   = 5 * time.Minute // nobody can silence us for longer
	grantsMax  = 64 << 10        // bytes of what we may send, as others add to it
	orderMax   = 128 << 10       // bytes of a grant or a control that are read at all (FINDINGS M3)
)

// room is what the Engine knows of its seat and of who else is there.
type room struct {
	me      string
	dialect wire.Dialect
	caps    wire.Caps
	seated  bool
	peers   map[string]*peer
	held    outgoing.Queue
	look    *alarm // when release is due without another event
	lookAt  time.Time
	echoes  bool // the gateway has returned a request of ours to us, in this stay

	paused   *alarm    // set while a participant has asked us to be quiet
	pausedAt time.Time // when that was asked first
}

type peer struct {
	caps    wire.Caps
	leaving *alarm
	missed  bool // a roster did not have them, and nobody said that they left
}

func (e *Engine) seated(ev Seated) {
	again := e.room.seated
	e.room.seated = true
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
	// The link was cut, theirs perhaps too: their answers wait a minute, and so does
	// what they are of.
	e.alarms.set(e.now.Add(outgoing.HeldFor), func() {
		if e.room.peers[id] == nil {
			e.cancelFor(id)
		}
	})
}

func (e *Engine) unseated(ev Unseated) {
	if !e.room.seated {
		return
	}
	e.room.seated = false
	e.endPause()
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

// quiet: while paused we say nothing but where we stand (WIRE 5.8).
func (r *room) quiet(k wire.Kind) bool {
	return r.paused != nil && k != wire.Control && k != wire.Grant
}

// heardFrom says that a participant is alive, whatever presence said.
func (e *Engine) heardFrom(id string) {
	switch p := e.room.peers[id]; {
	case p != nil && p.leaving != nil:
		e.alarms.stop(p.leaving)
		p.leaving, p.missed = nil, false
		e.tellOf(id)
		e.release()
	case p == nil && e.room.held.Listed(id, true): // no roster lists them, and they are here
		e.release()
	}
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

// tell broadcasts a notification from the server.
func (e *Engine) tell(method string, payload []byte) {
	e.send(wire.Notice, &wire.Envelope{Kind: wire.Notification, Method: method, Payload: payload})
}

// tellOne sends a notification to one participant. It names no request: stock
// clients would take it for the answer (WIRE W-5).
func (e *Engine) tellOne(class wire.Class, to, method string, payload []byte) {
	e.send(class, &wire.Envelope{Kind: wire.Notification, To: []string{to}, Method: method, Payload: payload})
}

// refusedArgs is how many bytes of the arguments of a denied call go on record;
// of longer ones only how many they were. What ran, or was asked about, has more
// room (argsMax).
const refusedArgs = 512

// recordLimits: at some 400 bytes each, one participant comes to 70 MB a day at the
// most, and all together come to five times that, however many names they have.
var recordLimits = quota.Limits{Burst: 200, Again: time.Second / 2, AllBurst: 2000, AllAgain: time.Second / 10, Names: 1024, Sums: 16}

func newQuota() quota.Shares[string] {
	return quota.Shares[string]{Limits: recordLimits, Keep: strings.Clone, Compare: strings.Compare}
}

// chargeRecord reports whether a refusal of a participant's, or a frame of theirs that
// is dropped, is listed on record. Beyond a share they are counted: refused calls must
// not fill the disk, for a full disk stops everybody's (FINDINGS M7).
func (e *Engine) chargeRecord(from string) (listed bool) {
	if e.isHost(from) || e.quota.Take(e.now, e.shareOf(from), 0) {
		return true
	}
	if !e.summing {
		e.summing = true
		e.alarms.set(e.now.Add(quota.SumEvery), e.sumUp)
	}
	return false
}

// shareOf is whose share of the record, of the memory of calls and of what may be asked a
// participant has. Where nobody makes sure who speaks all have one together, called "":
// names cost nothing there, and who writes many would have as many shares. They take
// nothing from each other that they could not take by speaking in each other's name.
func (e *Engine) shareOf(from string) string {
	if e.believed() {
		return from
	}
	return ""
}

// sumUp puts on record how many refusals were not listed.
func (e *Engine) sumUp() {
	e.summing = false
	for _, s := range e.quota.Draw(e.now) {
		r := record.Record{Event: record.Dropped, From: s.By, Reason: "summed_up", Count: s.Count,
			Detail: "refusals and dropped frames of this participant that are not listed one by one"}
		if s.By == "" && e.believed() {
			r.Detail = "refusals and dropped frames of other participants that are not listed one by one"
		} else if s.By == "" {
			r.Detail = "refusals and dropped frames that are not listed one by one, of participants whom the gateway does not verify"
		}
		e.note(r)
	}
}

// verified reports whether somebody makes sure who speaks in the topic.
func (e *Engine) verified() bool { return e.ours || e.room.dialect.Verified() }

// believed reports whether who speaks is taken for who it says it is.
func (e *Engine) believed() bool { return e.trustUnverified || e.verified() }

// forUs: addressed to exactly us. A request to several would run several
// times, one to everybody as often as there are servers (WIRE W-9).
func (e *Engine) forUs(env *wire.Envelope) bool {
	return len(env.To) == 1 && env.To[0] == e.room.me
}
