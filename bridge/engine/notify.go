package engine

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// waitsMax is how many bytes may wait of what a server says; longer progress passes at once
// or not at all.
const waitsMax = 16 << 10

// allWait is how long the pace of a whole server has something wait, if at all: never so
// shortly that all who wait look for room each time that there is some for one.
func allWait(p *inflight.Pace, now time.Time) time.Duration {
	if wait := p.Wait(now, inflight.OfAll); wait > 0 {
		return max(wait, inflight.OfCall.Every)
	}
	return 0
}

// passOn tells a caller of progress, now or when there is room.
func (e *Engine) passOn(c *inflight.Call, payload []byte) {
	p := &c.Progress
	wait := max(p.Wait(e.now, inflight.OfCall), allWait(&e.server.passed, e.now))
	if p.Alarm == nil && wait == 0 {
		e.tellProgress(c, payload)
		return
	}
	if len(payload) > waitsMax {
		return
	}
	p.Waits = payload
	if p.Alarm == nil {
		p.Alarm = e.alarms.set(e.now.Add(wait), func() {
			payload := p.Waits
			p.Waits, p.Alarm = nil, nil
			e.passOn(c, payload)
		})
	}
}

// Bounds on what participants can make us remember of who wants to hear of which
// resource, and on the frames that one word of the server's becomes.
const (
	subscriptionsMost  = 8192 // of all
	subscriptionsShare = 512  // of one participant; where nobody makes sure who speaks, of all of them
	subscribersMost    = 256  // to one resource
)

// noPlace says why a subscription cannot be kept, before the server hears of it: who is
// told yes counts on hearing of changes. Those that are on their way have places too.
func (e *Engine) noPlace(c *inflight.Call) (refusal.Refusal, bool) {
	if e.server.subscribers.to[c.Key][c.From] {
		return refusal.Refusal{}, false
	}
	why := e.overBounds(c)
	if why != "" && e.shareOf(c.From) == "" && e.room.peers[c.From] != nil && e.unlistedGiveWay() {
		why = e.overBounds(c)
	}
	return refusal.Busy(why), why != ""
}

func (e *Engine) overBounds(c *inflight.Call) string {
	s := &e.server.subscribers
	share := e.shareOf(c.From)
	own, here, all := s.has[c.From], len(s.to[c.Key]), s.all
	if share == "" {
		own = all
	}
	for _, o := range e.calls.Open {
		if o == c || o.Method != subscribes {
			continue
		}
		all++
		if e.shareOf(o.From) == share {
			own++
		}
		if o.Key == c.Key {
			here++
		}
	}
	switch {
	case own >= subscriptionsShare && share == "":
		return fmt.Sprintf("participants whom the gateway does not verify may have %d subscriptions together, and have them", subscriptionsShare)
	case own >= subscriptionsShare:
		return fmt.Sprintf("one participant may have %d subscriptions, and you have them; end one with resources/unsubscribe", subscriptionsShare)
	case here >= subscribersMost:
		return fmt.Sprintf("a resource may have %d subscribers, and this one has them", subscribersMost)
	case all >= subscriptionsMost:
		return fmt.Sprintf("a server may have %d subscriptions, and this one has them", subscriptionsMost)
	}
	return ""
}

// unlistedGiveWay ends the subscriptions of those whom no roster lists. Where names cost
// nothing they may be invented, and nobody will say that they have left.
func (e *Engine) unlistedGiveWay() (some bool) {
	for _, who := range sorted(e.server.subscribers.has) {
		if e.room.peers[who] == nil {
			e.unsubscribeAll(who)
			some = true
		}
	}
	return some
}

// unsubscribeFor ends what somebody who is gone was subscribed to, or is about to be.
func (e *Engine) unsubscribeFor(who string) {
	for _, c := range e.calls.Open {
		if c.From == who {
			c.Left = true
		}
	}
	e.unsubscribeAll(who)
}

func (e *Engine) unsubscribeAll(who string) {
	for _, uri := range e.server.subscribers.forget(who) {
		e.unsubscribe(uri)
	}
}

// resourceUpdated tells subscribers that a resource has changed, at most once in
// gatherFor: gateways deliver each frame to everybody, and who subscribed reads the
// resource anew however often it was told.
func (e *Engine) resourceUpdated(uri string, raw []byte) {
	who := sorted(e.server.subscribers.to[uri])
	if len(who) == 0 {
		return
	}
	bare := jsonrpc.AppendNotification(nil, "notifications/resources/updated", uriParams(uri))
	if raw = asHeardOr(raw, bare); len(raw) > waitsMax {
		raw = bare
	}
	key := changed{method: "notifications/resources/updated", uri: uri}
	if e.gathers(key, raw) {
		return
	}
	var last []byte
	again := gatherFor
	if wait := allWait(&e.server.passed, e.now); wait > 0 {
		last, again = raw, wait
	} else {
		for _, w := range who {
			e.tellOne(wire.Notice, w, key.method, raw)
		}
		e.server.passed.Take(e.now, len(who)*inflight.Weight(raw), inflight.OfAll)
	}
	e.gatherInto(key, last, again, func(raw []byte) { e.resourceUpdated(uri, raw) })
}

// What a caller hears while people decide, and of their yes. The answer is the server's
// and says nothing of it, and no envelope has a place for it; so it goes before the
// answer, in frames that stock clients do not take for one (WIRE W-5).

// Approved is the notification that tells a proposer who agreed to its proposal, and
// why; the caller of a tool hears that as progress, if it gave a token. Its params:
// proposalId, decision_id, by (a list), reason if there is one, and message, which says
// it in a sentence.
const Approved = "notifications/mcpx/approved"

// Waiting is the notification that tells a proposer that reads it that people decide about its
// proposal. Its params: proposalId, and message and _meta as the progress of a call has them.
const Waiting = "notifications/mcpx/waiting"

// reminderEvery is how often it hears that while people decide (WIRE 7.6).
const reminderEvery = 15 * time.Second

// remind tells a caller that gave a progress token, or a proposer that reads it, that people
// are deciding.
func (e *Engine) remind(c *inflight.Call) {
	proposed := c.Origin == inflight.Proposal && c.Life.HearsWaiting
	if c.Token == nil && !proposed || c.Phase != inflight.Asked {
		return
	}
	words, about := e.waitsFor(c)
	if proposed {
		e.tellOne(wire.Notice, c.From, Waiting, jsonrpc.AppendNotification(nil, Waiting, proposalWaits(c, words, about)))
	} else {
		e.report(c, words, about)
	}
	c.Alarm = e.alarms.set(e.now.Add(reminderEvery), func() { e.remind(c) })
}

// waitsFor says who is asked about a call and until when, in words and for programs. These
// are told how long it is until then, for their clocks may be others.
func (e *Engine) waitsFor(c *inflight.Call) (words, about string) {
	people, till := e.desk.Asking(e.now, c.Question)
	need := e.desk.Lacks(c.Question)
	words = refusal.Waiting{Of: names(people), Need: need, Until: till, Digest: c.Digest, Halted: e.halted != nil}.Words(e.now.UTC())
	if c.Origin == inflight.Host {
		words += "; mcpx-bridge approve shows it"
	}
	params := appendNames(jsonrpc.AppendQuote([]byte(`{"waiting":true,"digest":`), c.Digest), "of", people)
	if need > 1 {
		params = strconv.AppendInt(append(params, `,"need":`...), int64(need), 10)
	}
	if e.halted != nil {
		params = append(params, `,"halted":true`...)
	}
	return words, string(append(strconv.AppendInt(append(params, `,"left_ms":`...), till.Sub(e.now).Milliseconds(), 10), '}'))
}

// waited is the progress of a caller that was told n times that it waits. The server's own
// goes on from there, and is passed on as it came, so ours stays below it.
func waited(n int) string { return fmt.Sprintf("0.%09d", n) }

// report says something to a caller under its token. about is that for programs.
func (e *Engine) report(c *inflight.Call, words, about string) {
	c.Reminders++
	params := append([]byte(`{"progressToken":`), c.Token...)
	params = append(append(append(params, `,"progress":`...), waited(c.Reminders)...), `,"message":`...)
	params = append(jsonrpc.AppendQuote(params, words), `,"_meta":{"`+approvalMeta+`":`+about+`}}`...)
	note := jsonrpc.AppendNotification(nil, "notifications/progress", params)
	if c.Origin == inflight.Host {
		e.do(TellHost{note})
	} else {
		e.tellOne(wire.Progress, c.From, "notifications/progress", note)
	}
}

// tellWho tells a caller that gave a token, or a proposer, who has agreed just now, and
// why (FINDINGS S9).
func (e *Engine) tellWho(c *inflight.Call) {
	s := c.Agreed
	if s.Used != nil {
		return // they agreed some time ago
	}
	var who []string
	for _, w := range s.By {
		who = append(who, person(w))
	}
	words := "allowed by " + text.Series(who, 0) + refusal.Changed(len(who), s.Modified)
	if s.Said != "" {
		words += ": " + s.Said
	}
	switch {
	case c.Origin == inflight.Proposal: // which has no place for a token
		e.tellOne(wire.Notice, c.From, Approved, jsonrpc.AppendNotification(nil, Approved, approved(c, words)))
	case c.Token != nil:
		about := jsonrpc.AppendQuote([]byte(`{"decision_id":`), s.ID)
		e.report(c, words, string(append(appendNames(about, "by", s.By), '}')))
	}
}

// heard are the rules by which participants read what is no answer, less the envelope around it.
var heard = func() jsonrpc.Rules {
	r := jsonrpc.Judged
	r.Depth--
	r.Values -= 16
	return r
}()

// asHeard is a notification of the server's as participants can read it, with U+FFFD for half a
// character. The error says why they could not.
func asHeard(raw []byte) (jsonrpc.Message, error) { return jsonrpc.Parse(jsonrpc.Mend(raw), heard) }

// asHeardOr is asHeard, or bare where participants could not read it.
func asHeardOr(raw, bare []byte) []byte {
	if m, err := asHeard(raw); err == nil {
		return m.Raw
	}
	return bare
}

// inItsOwnName is progress of the server's without anything that a reader could take for
// what only a bridge says, or could not read at all: then no more of it than the protocol knows,
// nil if that is nothing. A server that has such things may well be a bridge to another topic.
func inItsOwnName(m *jsonrpc.Message) *jsonrpc.Message {
	if own, err := asHeard(m.Raw); err == nil && !speaksForUs(own.Raw) {
		return &own
	}
	params := m.Get(jsonrpc.Params)
	shape := jsonrpc.Shape{{Name: "progressToken", Slot: 0}, {Name: "progress", Slot: 1}, {Name: "total", Slot: 2}, {Name: "message", Slot: 3}}
	var at [4]jsonrpc.Span
	if jsonrpc.Scan(params, jsonrpc.Passed, shape, at[:]) != nil || at[0].End == 0 {
		return nil
	}
	known := []byte{'{'}
	for i, f := range shape {
		if at[i].End == 0 {
			continue
		}
		if i > 0 {
			known = append(known, ',')
		}
		known = append(append(jsonrpc.AppendQuote(known, f.Name), ':'), params[at[i].Start:at[i].End]...)
	}
	own, err := asHeard(jsonrpc.AppendNotification(nil, "notifications/progress", append(known, '}')))
	if err != nil {
		return nil
	}
	return &own
}

// speaksForUs looks for a text that is approvalMeta, however it is written.
func speaksForUs(raw []byte) bool {
	if !bytes.ContainsRune(raw, '\\') && !bytes.Contains(bytes.ToLower(raw), []byte(approvalMeta)) {
		return false
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return err != io.EOF
		}
		if t.Kind() == '"' && strings.EqualFold(t.String(), approvalMeta) {
			return true
		}
	}
}

func proposalWaits(c *inflight.Call, words, about string) []byte {
	params := jsonrpc.AppendQuote([]byte(`{"proposalId":`), c.Life.ID)
	params = jsonrpc.AppendQuote(append(params, `,"message":`...), words)
	return append(append(append(params, `,"_meta":{"`+approvalMeta+`":`...), about...), `}}`...)
}

func approved(c *inflight.Call, words string) []byte {
	params := jsonrpc.AppendQuote([]byte(`{"proposalId":`), c.Life.ID)
	params = jsonrpc.AppendQuote(append(params, `,"decision_id":`...), c.Agreed.ID)
	params = appendNames(params, "by", c.Agreed.By)
	if c.Agreed.Said != "" {
		params = jsonrpc.AppendQuote(append(params, `,"reason":`...), c.Agreed.Said)
	}
	return append(jsonrpc.AppendQuote(append(params, `,"message":`...), words), '}')
}

// appendNames appends a member that lists people, if there are any.
func appendNames(dst []byte, member string, people []approval.Who) []byte {
	for i, name := range names(people) {
		if i == 0 {
			dst = append(append(append(dst, `,"`...), member...), `":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendQuote(dst, name)
	}
	if len(people) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

// gatherFor is how long further word that a list has changed is gathered, as one.
const gatherFor = time.Second

// gather passes on that a list has changed, at most once in gatherFor: callers
// read it anew, however often they were told.
func (e *Engine) gather(method string, raw []byte) {
	key := changed{method: method}
	if e.gathers(key, raw) {
		return
	}
	e.tell(method, raw)
	e.gatherInto(key, nil, gatherFor, func(raw []byte) { e.gather(method, raw) })
}

// gathers reports whether word of the same was passed on a moment ago, and keeps this
// for when that is over.
func (e *Engine) gathers(key changed, raw []byte) bool {
	g := e.server.gathered[key]
	if g != nil {
		g.last = raw
	}
	return g != nil
}

// gatherInto gathers word of the same for a while, and then passes on what came last.
func (e *Engine) gatherInto(key changed, last []byte, while time.Duration, pass func(raw []byte)) {
	g := &gathering{last: last}
	if e.server.gathered == nil {
		e.server.gathered = map[changed]*gathering{}
	}
	e.server.gathered[key] = g
	e.alarms.set(e.now.Add(while), func() {
		delete(e.server.gathered, key)
		if g.last != nil {
			pass(g.last)
		}
	})
}

// tell broadcasts a notification from the server.
func (e *Engine) tell(method string, payload []byte) {
	e.send(wire.Notice, &wire.Envelope{Kind: wire.Notification, Method: method, Payload: payload})
}

// Halting is the notification by which all in the topic hear that the bridge is halted, or that
// it goes on: {"halted":true,"by":WHO,"reason":WHY}, or {"halted":false}.
const Halting = "notifications/mcpx/halted"

// tellHalted tells all how it is.
func (e *Engine) tellHalted() {
	params := []byte(`{"halted":false}`)
	if h := e.halted; h != nil {
		params = jsonrpc.AppendQuote([]byte(`{"halted":true,"by":`), h.By)
		if why := e.policy.RedactText(h.Why); why != "" {
			params = jsonrpc.AppendQuote(append(params, `,"reason":`...), why)
		}
		params = append(params, '}')
	}
	e.tell(Halting, jsonrpc.AppendNotification(nil, Halting, params))
}

// refusedArgs is how many bytes of the arguments of a denied call go on record;
// of longer ones only how many they were. What ran, or was asked about, has more
// room (argsMax).
const refusedArgs = 512

// chargeRecord reports whether a refusal of a participant's, or a frame of theirs that
// is dropped, is listed on record. Beyond a share they are counted: refused calls must
// not fill the disk, for a full disk stops everybody's (FINDINGS M7).
func (e *Engine) chargeRecord(from string) (listed bool) {
	if e.isHost(from) || e.quota.Take(e.now, e.shareOf(from), 0) {
		return true
	}
	if !e.summing {
		e.summing = true
		e.alarms.set(e.now.Add(quota.SumEvery), e.noteUnlisted)
	}
	return false
}

// noteUnlisted puts on record how many refusals were not listed.
func (e *Engine) noteUnlisted() {
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

// refuse answers a request that did not reach the server.
func (e *Engine) refuse(env *wire.Envelope, r refusal.Refusal) {
	if e.chargeRecord(env.From) {
		e.noteRefusal(record.Record{Env: env.ID, From: env.From, Method: env.Method, Tool: refusal.Clip(toolOf(env)), Body: e.bodyOnRecord(env)}, r)
	}
	e.replyTo(env.From, env.ID, env.Method, env.Key, e.worded(env.From, env.Message.Get(jsonrpc.ID), env.Method, env.Key, r))
}

// replyTo sends the answer to a request, whoever made it.
func (e *Engine) replyTo(from, env, method, key string, payload []byte) {
	if e.isHost(from) {
		e.do(TellHost{payload})
		return
	}
	e.send(wire.Reply, &wire.Envelope{Kind: wire.Response, To: []string{from}, Corr: []string{env},
		Method: method, Key: shortKey(key), Payload: payload})
}

func (e *Engine) drop(env *wire.Envelope, reason, detail string) {
	if !e.chargeRecord(env.From) {
		return
	}
	e.note(record.Record{Event: record.Dropped, Env: env.ID, From: env.From, Method: env.Method, Tool: refusal.Clip(toolOf(env)), Reason: reason, Detail: detail})
}
