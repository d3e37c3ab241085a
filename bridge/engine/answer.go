package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// serverAnswered takes the server's answer to one of our numbers.
func (e *Engine) serverAnswered(m *jsonrpc.Message) {
	c := e.calls.Find(m.Get(jsonrpc.ID))
	if c == nil {
		e.note(record.Record{Event: record.ServerNoise, Reason: "child_unexpected_response", Detail: "an answer to nothing we asked"})
		return
	}
	e.calls.Timeouts = 0
	e.remove(c)
	if len(e.asides) > 0 {
		e.answeredBeside(c.Number)
	}
	switch {
	case c.Origin == inflight.Self:
		e.resolveOwn(c, m)
	case c.Phase == inflight.Done:
		r := recordOf(c)
		r.Event, r.Detail = record.Late, "the server's answer came when nobody waited for it"
		e.note(r)
		e.served(c, serverResult(m), refusal.Yes)
	default:
		e.deliver(c, m)
	}
}

// deliver sends the server's answer to the caller: the caller's id in place of
// ours, and every other byte as the server wrote it.
func (e *Engine) deliver(c *inflight.Call, m *jsonrpc.Message) {
	e.passLast(c)
	e.settle(c)
	e.noteSubscription(c, m)
	r := recordOf(c)
	if size := len(m.Raw) + len(c.ID); size > jsonrpc.MaxSize-envelopeRoom {
		e.noteRefusal(r, refusal.TooLarge(size))
		e.reply(c, refusal.TooLarge(size).Payload(c.ID))
	} else {
		r.Event, r.Outcome, r.Executed = record.Ended, Outcome(m), string(refusal.Yes)
		e.note(r)
		e.sendOf(wire.Reply, e.passedOn(c, m), c.Name)
	}
	e.served(c, serverResult(m), refusal.Yes)
}

// serverResult is what our server's answer makes of the proposal that its call serves. Unlike
// resultOf, it never leaves that to others: our server had the call.
func serverResult(m *jsonrpc.Message) proposal.Result {
	if Outcome(m) == "ok" {
		return proposal.Served
	}
	return proposal.Spoilt
}

func (e *Engine) passedOn(c *inflight.Call, m *jsonrpc.Message) *wire.Envelope {
	env := &wire.Envelope{Kind: wire.Response, To: e.audience(c), Corr: c.Links(), Method: c.Method, Key: c.Key,
		Message: *m, Edits: []jsonrpc.Edit{{Field: jsonrpc.ID, Value: c.ID}}}
	if c.Method == "tools/list" {
		env.Payload, env.Edits = e.server.tools.Offered(m.Append(nil, env.Edits...)), nil
	}
	if c.Agreed != nil && len(c.Agreed.Modified) > 0 {
		env.Payload, env.Edits = withModified(c, m.Append(nil, env.Edits...)), nil
	}
	if env.Edits == nil {
		env.Message = jsonrpc.Message{} // or it would be kept twice while it waits
	}
	return env
}

// sendOf spells an envelope and puts it on its way, and reports whether it could
// be; it leaves when the end of the call of is on record ("": of none). Without a
// seat, and during a pause, answers are held, and everything else is moot. The
// answer to a request that is held is held too, and so is that to one that leaves in
// this very Step, for which the way out may yet turn out to be full.
func (e *Engine) sendOf(class wire.Class, env *wire.Envelope, of string) bool {
	answer := class == wire.Reply
	switch {
	case answer && e.room.held.JustLeaves(env.Corr):
		e.hold(env, of)
		e.lookBy(e.now.Add(resendAfter))
		return false
	case answer && (!e.room.seated || e.room.quiet(env.Kind) || e.room.held.Delays(env.Corr)):
		e.hold(env, of)
		return false
	case !e.room.seated || e.room.quiet(env.Kind):
		return false
	}
	frame, ok := e.spell(env)
	if ok {
		if answer && env.Kind == wire.Request {
			e.room.held.Leaving = append(e.room.held.Leaving, env.ID)
			if c := e.calls.Claiming[env.ID]; c != nil {
				class = wire.Claim
				e.claimLeaves(c)
			}
		}
		e.do(Send{Class: class, Envelope: env, Frame: frame, Result: of != "", Of: of})
	}
	return ok
}

// send is sendOf for what waits for no record.
func (e *Engine) send(class wire.Class, env *wire.Envelope) bool { return e.sendOf(class, env, "") }

func (e *Engine) spell(env *wire.Envelope) (frame []byte, ok bool) {
	if env.ID == "" {
		env.ID = e.newID()
	}
	env.TS = wire.Stamp(e.now)
	env.From = e.room.me
	frame, err := e.room.dialect.Append(make([]byte, 0, outgoing.Size(env)+512), env, e.room.caps)
	if err != nil {
		e.note(record.Record{Event: record.Dropped, Reason: "not_permitted", Method: env.Method, Tool: env.Key,
			Detail: "the gateway lets us send no frame of this kind, so nobody gets it: " + err.Error()})
	}
	return frame, err == nil
}

// resolveOwn gives an answer to whoever made a request of our own; nil if there is none.
func (e *Engine) resolveOwn(c *inflight.Call, m *jsonrpc.Message) {
	if c.Origin == inflight.Self && !c.Phase.Settled() {
		e.calls.Settle(c)
		c.Then(m)
	}
}

// reply sends a caller what we have to say in place of the server.
func (e *Engine) reply(c *inflight.Call, payload []byte) {
	if c.Origin == inflight.Host {
		e.do(TellHost{payload})
		return
	}
	e.send(wire.Reply, &wire.Envelope{Kind: wire.Response, To: e.audience(c), Corr: c.Links(), Method: c.Method, Key: c.Key, Payload: payload})
}

// envelopeRoom is left for the envelope around a payload. A kind alone may have
// 4096 characters, each of which may be written as an escape.
const envelopeRoom = 32 << 10

// settle ends a call for its caller. What has not started by then never does, and takes nothing
// from limits; nor does a claim leave any more that has not left yet.
func (e *Engine) settle(c *inflight.Call) {
	if c.Phase == inflight.Claiming {
		e.alarms.stop(c.Alarm)
		delete(e.calls.Claiming, c.Self)
		e.room.held.Drop(c.Self)
	}
	if c.Phase.Unstarted() {
		e.ledger.GiveBack(c.Hold)
	}
	e.renewReplay(c)
	e.alarms.stop(c.Progress.Alarm)
	c.Progress = inflight.Progress{}
	e.calls.Settle(c)
}

// renewReplay remembers a call that took long from now on: a machine that slept may
// have written its line long after it began.
func (e *Engine) renewReplay(c *inflight.Call) {
	if c.Line != inflight.NoLine && (c.Origin == inflight.Participant || c.Origin == inflight.Proposal) && e.now.Sub(c.Began) > soonOver {
		e.replay.Renew(e.now, c.From, c.Env)
	}
}

// soonOver is how long a call takes at the most that is remembered from its
// beginning.
const soonOver = time.Minute

// remove forgets a call that the server is done with, and may have run.
func (e *Engine) remove(c *inflight.Call) {
	e.ledger.Commit(c.Hold)
	e.renewReplay(c)
	e.alarms.stop(c.Alarm)
	c.On(inflight.Return)
	delete(e.calls.ByNumber, c.Number)
	if len(e.calls.Lost) > 0 {
		e.stillLost(c.Number)
	}
}

// finishUnanswered ends a call that will get no answer from the server. That it did not run may
// come out when its caller does not wait any more.
func (e *Engine) finishUnanswered(c *inflight.Call, r refusal.Refusal) {
	if r.Executed == refusal.No {
		e.ledger.GiveBack(c.Hold)
	}
	e.remove(c)
	e.endedBeside(c.Number)
	if c.Phase == inflight.Done {
		e.served(c, proposal.Unserved, r.Executed)
	}
	e.refuseCall(c, r)
}

// refuseCall gives a caller our answer in place of the server's, unless it has
// had one.
func (e *Engine) refuseCall(c *inflight.Call, r refusal.Refusal) {
	if c.Origin == inflight.Self || c.Phase.Settled() {
		return
	}
	e.passLast(c)
	e.settle(c)
	if c.Origin == inflight.Proposal && c.Claim != inflight.Won {
		e.declined(c, r)
		return
	}
	if !c.SummedUp {
		of := refusedOn(recordOf(c), r)
		of.Detail = e.onRecord(c, of.Detail)
		e.note(of)
	}
	e.reply(c, e.worded(c.From, c.ID, c.Method, c.Key, r))
	how := proposal.Spoilt
	if r.Executed == refusal.No {
		how = proposal.Unserved
	}
	e.served(c, how, r.Executed)
}

// resendAfter is when an answer for which the way out was full is sent again.
const resendAfter = 250 * time.Millisecond

// hold takes an answer in; of is that of held.
func (e *Engine) hold(env *wire.Envelope, of string) {
	s := &e.room.held
	if s.Closed {
		e.giveUpAnswer(outgoing.Held{Env: env}, "shutting_down")
		return
	}
	s.Put(outgoing.Held{Env: env, Of: of, Unlisted: e.room.seated && e.room.peers[env.To[0]] == nil})
	if !e.room.seated {
		s.BeginMinutes(e.now)
		e.lookBy(s.Answers[0].Until)
	}
	e.keepBounds()
}

// keepBounds gives up the oldest answers where there is no room for all.
func (e *Engine) keepBounds() {
	for _, oldest := range e.room.held.Overflow() {
		e.giveUpAnswer(oldest, "outbox_full")
	}
}

// release looks at all that is held, if we may speak: when the seat is back, when
// somebody is, when a pause ends, when we stop, and when time has passed. An answer
// leaves if its addressee is here, and is lost if its minute is over.
func (e *Engine) release() {
	s := &e.room.held
	if e.room.paused != nil || len(s.Answers) == 0 {
		return
	}
	waiting := *s
	s.Answers, s.Bytes = nil, 0
	soon := false
	for _, h := range waiting.Answers {
		over := !h.Until.IsZero() && !e.now.Before(h.Until)
		switch {
		case over && !e.mayReach(&h) && !e.anybodyHere(h.Env.To):
			e.giveUpAnswer(h, "caller_gone")
		case !over && !e.mayReach(&h):
			s.Put(h)
		case waiting.Delays(h.Env.Corr), s.JustLeaves(h.Env.Corr): // that is on its way now at the earliest, and may find it full
			s.Put(h)
			soon = true
		default:
			e.sendOf(wire.Reply, h.Env, h.Of)
		}
	}
	e.alarms.stop(e.room.look)
	if soon {
		e.lookBy(e.now.Add(resendAfter))
	} else if len(s.Answers) > 0 {
		s.BeginMinutes(e.now)
		e.lookBy(s.Answers[0].Until)
	}
}

// mayReach reports whether the first addressee of an answer, who waits for it, is
// here. When we stop we wait for nobody.
func (e *Engine) mayReach(h *outgoing.Held) bool {
	to := h.Env.To[0]
	return e.room.seated && (e.stopping || e.here(to) || h.Unlisted && e.room.peers[to] == nil)
}

// anybodyHere: when a minute is over, an answer leaves if one of several for whom
// it is, as a proposer beside its requester, is here.
func (e *Engine) anybodyHere(to []string) bool {
	return e.room.seated && len(to) > 1 && slices.ContainsFunc(to, func(id string) bool { return id != e.room.me && e.here(id) })
}

// lookBy has release look again, at the latest then.
func (e *Engine) lookBy(at time.Time) {
	if e.room.look.Stands() && !e.room.lookAt.After(at) {
		return
	}
	e.alarms.stop(e.room.look)
	e.room.look, e.room.lookAt = e.alarms.set(at, e.release), at
}

// giveUpAnswer gives an answer up.
func (e *Engine) giveUpAnswer(h outgoing.Held, why string) {
	e.note(record.Record{Event: record.Dropped, From: h.Env.To[0], Env: h.Env.Corr[0], Method: h.Env.Method, Reason: why,
		Detail: "it was held, and could not be delivered"})
}

// passLast tells a caller, before its answer, of the progress that waits.
func (e *Engine) passLast(c *inflight.Call) {
	if c.Progress.Waits != nil {
		e.tellProgress(c, c.Progress.Waits)
	}
}

// audience is who gets the answer to a call. The proposer is not told of a
// request for its proposal that was not even made.
func (e *Engine) audience(c *inflight.Call) []string {
	to := []string{c.From}
	if c.Life == nil || c.Line == inflight.NoLine || !e.room.dialect.TellsBoth() {
		return to
	}
	also := c.Life.Proposer
	if c.Origin == inflight.Proposal {
		also = e.room.me
	}
	if !slices.Contains(to, also) {
		to = append(to, also)
	}
	return to
}

// served tells the Book how a call has ended that serves a proposal. Where
// nobody knows whether it ran, it counts as running: it must not run twice.
func (e *Engine) served(c *inflight.Call, how proposal.Result, executed refusal.Executed) {
	if c.Life == nil {
		return
	}
	if e.offers.calls[c.Life] == c { // a participant's request for it is not the call that we would make of it
		delete(e.offers.calls, c.Life)
	}
	if executed == refusal.Perhaps {
		return
	}
	run := proposal.Run{ID: c.Env, By: c.From, Here: true}
	if c.Origin == inflight.Proposal {
		run.ID, run.By = c.Self, c.Life.By // whatever the gateway called us then
	}
	e.queueBook(e.book.Ended(c.Life, run, how))
}

// noteSubscription keeps who wants to hear of which resource.
func (e *Engine) noteSubscription(c *inflight.Call, m *jsonrpc.Message) {
	if m.Has(jsonrpc.Err) {
		return
	}
	switch c.Method {
	case subscribes:
		switch {
		case !c.Left || e.room.peers[c.From] != nil:
			e.server.subscribers.add(c.Key, c.From)
		case len(e.server.subscribers.to[c.Key]) == 0:
			e.unsubscribe(c.Key)
		}
	case "resources/unsubscribe":
		if !e.staysHere(c) {
			e.server.subscribers.remove(c.Key, c.From)
			e.keepOthersSubscribed(c.Key)
		}
	}
}

// claimLeaves begins the window of a claim as it leaves, which may be after it was held. From
// now on the proposer may have seen it, and is told if nothing comes of it.
func (e *Engine) claimLeaves(c *inflight.Call) {
	c.ToldBefore, c.Claim, c.Life.Announced = c.Life.Announced, inflight.Seen, true
	e.awaitEcho(c)
}

// awaitEcho waits for a claim to come back, from now on and however long it has waited before.
func (e *Engine) awaitEcho(c *inflight.Call) {
	window := claimWindow
	if c.Patient = e.room.echoes; c.Patient {
		window = claimPatience
	}
	e.alarms.stop(c.Alarm)
	e.offers.unechoed = slices.DeleteFunc(e.offers.unechoed, func(o *inflight.Call) bool { return o == c })
	c.Alarm = e.alarms.set(e.now.Add(window), func() { e.offers.unechoed = append(e.offers.unechoed, c) })
}

const (
	// claimWindow is how long the echo of a claim, or another's claim, is waited for
	// at a gateway that has returned none yet.
	claimWindow = 2 * time.Second

	// claimPatience is the same at one that has. A claim that does not come back
	// there was seen by nobody, and is given up.
	claimPatience = 10 * time.Second
)

// stillLost takes a call that has ended out of those that a lost answer may have been for.
func (e *Engine) stillLost(number uint64) {
	for i := range e.calls.Lost {
		l := &e.calls.Lost[i]
		if at, has := slices.BinarySearch(l.Among, number); has {
			l.Among = slices.Delete(l.Among, at, at+1)
		}
	}
	e.attribute()
}

// attribute ends the calls of which it is certain by now that a lost answer was
// theirs: those of a set for which as many were lost as are in it.
func (e *Engine) attribute() {
	for _, l := range e.calls.Lost {
		within := func(other inflight.Lost) bool { return other.Newest() <= l.Newest() }
		certain := 0
		for _, other := range e.calls.Lost {
			if within(other) {
				certain++
			}
		}
		if certain < len(l.Among) {
			continue
		}
		e.calls.Lost = slices.DeleteFunc(slices.Clone(e.calls.Lost), within)
		for _, n := range l.Among {
			if c := e.calls.ByNumber[n]; c != nil {
				e.unreadable(c, l.Reason)
			}
		}
		return // unreadable calls attribute again while more are lost
	}
}

// unreadable ends a call whose answer came and cannot be read.
func (e *Engine) unreadable(c *inflight.Call, reason string) {
	if c.Origin == inflight.Self {
		e.remove(c)
		e.resolveOwn(c, nil)
		return
	}
	e.finishUnanswered(c, refusal.AnswerUnreadable(reason))
}

// refuseLife refuses a proposal for a reason, with the words that go with it.
func (e *Engine) refuseLife(l *proposal.Life, r *refusal.Refusal) []proposal.Act {
	l.Said, l.SaidBy = r.Say, strings.Join(r.By, ", ")
	return e.book.Refuse(l, r.Word(), r.Exactly())
}

// declined ends a call of our own accord that never began: its proposal is
// refused.
func (e *Engine) declined(c *inflight.Call, r refusal.Refusal) {
	of := refusedOn(recordOf(c), r)
	of.Event, of.Outcome, of.Reason, of.Detail, of.State = record.Rejected, "", r.Word(), e.onRecord(c, r.Exactly()), "untold"
	acts := e.refuseLife(c.Life, &r)
	if len(acts) == 0 {
		return // the proposal is over, and whoever ends the call for that says so
	}
	if slices.ContainsFunc(acts, told) {
		of.State = "told"
	}
	if !c.SummedUp {
		e.note(of)
	}
	e.queueBook(acts)
	e.then(func() { delete(e.offers.calls, c.Life) })
}

func told(a proposal.Act) bool {
	r, is := a.(proposal.Refused)
	return is && r.Told
}

// tellOne sends a notification to one participant. It names no request: stock
// clients would take it for the answer (WIRE W-5).
func (e *Engine) tellOne(class wire.Class, to, method string, payload []byte) {
	e.send(class, &wire.Envelope{Kind: wire.Notification, To: []string{to}, Method: method, Payload: payload})
}

func (e *Engine) tellProgress(c *inflight.Call, payload []byte) {
	c.Progress.Take(e.now, inflight.Weight(payload), inflight.OfCall)
	e.server.passed.Take(e.now, inflight.Weight(payload), inflight.OfAll)
	e.tellOne(wire.Progress, c.From, "notifications/progress", payload)
}
