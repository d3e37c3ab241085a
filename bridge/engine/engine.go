// Package engine is all judgement of a bridge, in one place without I/O: the [Engine] is
// told what happened and returns what is to be done. A call takes one road:
//
//	Arrived -> addressed to exactly us? -> seen before? -> method known?
//	        -> tool offered? arguments fit its inputSchema?
//	        -> policy -> room for it? -> on record -> Write to the server
//	ServerSaid -> whose call? -> Send to the caller, with its id and token back
//
// What somebody proposes joins that road as soon as it is ours to serve (see
// [proposal.Book]); where the road ends early its proposer hears a reject:
//
//	Arrived -> Book: ours, and now? -> tool offered? … -> policy, raised to a
//	           question unless the owner said otherwise -> on disk
//	        -> Send a request to ourselves, for all to see -> Write to the server
//
// Nothing else starts a call, and nothing else answers one. What the Engine knows of
// calls, tools, earlier requests and held answers is kept in packages below it, which
// never call it: what desk and Book say goes into one queue, which [Engine.Step] drains.
// Package bridge carries out what the Engine says.
package engine

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/replay"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// An Engine is the judgement of a sidecar as a state machine. It has no
// goroutine, clock, random source or I/O of its own: the same events give the
// same effects. It is not safe for use by more than one goroutine at a time.
type Engine struct {
	newID           func() string
	timeout         time.Duration
	maxCalls        int
	session         string
	topic           string
	gateway         string
	serverName      string
	serverProgram   string
	serverDir       string
	serverCommand   string
	hosted          bool
	hostIDPrefix    string
	ours            bool // the gateway is this machine's own
	trustUnverified bool
	provided        []string

	now    time.Time // of the event in hand
	out    []Effect  // of the event in hand
	todo   queue     // of the event in hand
	alarms alarms

	room              room
	server            server
	calls             inflight.Table
	replay            *replay.Cache
	others            *replay.Cache // requests made of others, by whom and under which ids
	quota             quota.Shares[string]
	summing           bool // a time to sum up is set
	stopping          bool
	doubted           map[string]bool // warnings about the policy that were said
	awaitingHandshake []*awaiting     // in the order in which they came
	asides            []*aside        // the same

	dialogs   map[string]dialog // that the client has open, by their JSON-RPC ids
	policy    *policy.Policy
	backed    *policy.Policy // the last that somebody stood behind: that of the start, or of the last yes
	waiting   *waiting       // a looser one that nobody has agreed to; nil if there is none
	ledger    policy.Ledger
	desk      *approval.Desk
	book      *proposal.Book
	offers    offers
	tickets   uint64
	auditDown bool
}

// New returns an Engine that has neither a seat nor a server yet.
func New(c Config) *Engine {
	if c.NewID == nil || c.Random == nil {
		panic("engine: Config.NewID and Config.Random are required")
	}
	e := &Engine{
		newID:    c.NewID,
		timeout:  cmp.Or(c.Timeout, 60*time.Second),
		maxCalls: cmp.Or(c.MaxCalls, 1024),
		session:  c.Session, topic: c.Topic, gateway: c.Gateway, serverName: c.Server, serverProgram: c.Program, serverDir: c.Dir, serverCommand: c.Command,
		hosted: c.Hosted, hostIDPrefix: c.HostIDPrefix, dialogs: map[string]dialog{}, ours: c.Verified, trustUnverified: c.TrustUnverified,
		room:   room{peers: map[string]*peer{}},
		server: server{why: "has not started yet", retry: time.Second},
		calls:  inflight.NewTable(c.IDPrefix),
		replay: replay.New(c.DigestKey, c.Share), others: replay.New(c.DigestKey, othersShare),
		policy: c.Policy, doubted: map[string]bool{}, ledger: c.Ledger, provided: c.Provides, quota: newQuota(),
	}
	if e.policy == nil {
		e.policy = &policy.Policy{}
	}
	e.backed = e.policy
	c.Desk.Random = c.Random
	e.desk = approval.NewDesk(c.Desk)
	e.desk.SetHere(approval.Who{Door: approval.Local}, c.Local)
	e.desk.SetBelieved(e.believed())
	e.desk.SetRedactor(e.policy)
	e.book = proposal.NewBook(c.Proposals)
	e.offers = offers{calls: map[*proposal.Life]*inflight.Call{}, claims: map[string]*inflight.Call{}, status: c.ProposalStatus,
		style: c.ProposalStyle, lenient: c.LenientParams, toolsRequest: c.ToolsRequest}
	e.book.SetRules(e.rulesOfProposals())
	for _, s := range c.Seen {
		e.replay.Inherit(replay.Request(s))
	}
	return e
}

// Step tells the Engine what happened and returns what is to be done, in
// order. now must not run backwards. The effects are valid until the next
// Step.
func (e *Engine) Step(now time.Time, ev Event) []Effect {
	clear(e.out)
	e.now, e.out = now, e.out[:0]
	e.room.held.Leaving = e.room.held.Leaving[:0]
	// Two events change what is due, and so come before it.
	switch ev := ev.(type) {
	case Reloaded: // what is due is judged by the new rules
		e.backed = ev.Policy
		e.reload(ev.Policy)
	case Saved:
		e.saved(ev)
	case Unrecorded: // a result that is let out now says that its end is not on record
		e.markHeld(ev.Ends)
	}
	e.drain()
	if _, ok := ev.(NotSent); !ok { // that belongs to the Step before: nothing happens in between
		e.passTime()
	}
	switch ev := ev.(type) {
	case Arrived:
		e.arrived(ev.Envelope)
	case ServerSaid:
		e.serverSaid(&ev.Message)
	case Garbled:
		e.garbled(ev.Refused)
	case Seated:
		e.seated(ev)
	case Unseated:
		e.unseated(ev)
	case ServerUp:
		e.serverUp(ev.Hello)
	case ServerDown:
		e.serverDown(ev)
	case ServerNoise:
		e.serverNoise(ev)
	case NotWritten:
		e.notWritten(ev)
	case NotSent:
		e.notSent(ev)
	case Decided:
		e.queueDesk(e.desk.Answer(now, ev.Answer))
	case HostCalled:
		e.hostCalled(ev)
	case HostCancelled:
		e.hostCancelled(ev)
	case HostReplied:
		e.hostReplied(&ev.Message)
	case HostAnswered:
		e.hostAnswered(ev)
	case HostLeft:
		e.hostLeft()
	case Revoked:
		e.revoke(ev.Grant)
	case Synced:
		e.synced(ev)
	case Unrecorded:
		e.unrecorded(ev)
	case AuditUp:
		e.auditDown = false
	case Checkpoint:
		e.checkpoint(ev)
	case Stopping:
		e.stop()
	case GivingUp:
		e.giveUp()
	case Leaving:
		e.takeLeave()
	case Tick, Reloaded, Saved:
	}
	e.drain()
	e.endWindows()
	if e.stopping && e.calls.Foreign == 0 && !e.Owes() {
		e.do(Idle{})
	}
	return e.out
}

// passTime does what is due.
func (e *Engine) passTime() {
	e.queueBook(e.book.Tick(e.now)) // before the desk: whose proposal is over is not told that nobody decided
	e.drain()
	for next := e.alarms.due(e.now); next != nil; next = e.alarms.due(e.now) {
		e.carryOut(next)
		e.drain()
	}
	e.queueDesk(e.desk.Tick(e.now))
	e.drain()
}

// Next is when the Engine wants a Tick at the latest; zero: never.
func (e *Engine) Next() (soonest time.Time) {
	for _, at := range [...]time.Time{e.alarms.next(), e.desk.Next(), e.book.Next()} {
		if soonest.IsZero() || !at.IsZero() && at.Before(soonest) {
			soonest = at
		}
	}
	return soonest
}

// Policy is what is in force.
func (e *Engine) Policy() *policy.Policy { return e.policy }

// Running is how many requests of participants are at the server and still await
// their answers: none of ours, none of the server's own client.
func (e *Engine) Running() int { return e.calls.Running }

func (e *Engine) do(f Effect) { e.out = append(e.out, f) }

func (e *Engine) note(r record.Record) {
	r.At = e.now
	r.Unverified = record.Unverified(r.From != "" && r.From != inflight.HostID && e.room.dialect.Protocol != "" && !e.verified())
	e.do(Note{&r})
}

// stop admits nothing more. What the server is working on may finish, and nobody
// can keep us from saying how it ended: a pause ends here.
func (e *Engine) stop() {
	e.stopping = true
	e.endPause()
	e.release()
	e.note(record.Record{Event: record.Stopping, Count: e.calls.Foreign})
	e.listenNoMore()
	e.sumUp()
	e.refuseAsides(func(*aside) bool { return true })
	e.queueDesk(e.desk.AbortAll(e.now, approval.ShuttingDown))
	e.handshakeDone()
}

// giveUp answers every call that is still at the server: it had its time.
func (e *Engine) giveUp() {
	e.stopping = true
	e.calls.Lost = nil
	for _, c := range e.calls.InOrder() {
		if c.Origin == inflight.Host {
			e.letGo(c, "unknown") // the server answers it without us
			continue
		}
		e.finishUnanswered(c, refusal.CallTimeout(e.now.Sub(c.Began)))
	}
	inTurn(e, e.calls.Unstarted(), func(c *inflight.Call) { e.unstarted(c, refusal.ShuttingDown()) })
	e.then(func() {
		e.calls.Parked = nil
		clear(e.calls.Syncing)
		e.claimsLost()
	})
	e.then(e.release)
}

// An alarm is a moment at which the Engine has something to do of its own
// accord.
type alarm = timetable.Entry[item]

// alarms are the moments to come. Each rings once.
type alarms struct{ table timetable.Table[item] }

func (a *alarms) set(at time.Time, what item) *alarm { return a.table.Set(at, what) }

// stop is safe for an alarm that has rung, and for nil.
func (a *alarms) stop(al *alarm) { a.table.Drop(al) }

func (a *alarms) next() time.Time { return a.table.Next() }

// due takes out the next that is to ring now, nil if there is none.
func (a *alarms) due(now time.Time) item {
	al := a.table.Due(now)
	if al == nil {
		return nil
	}
	a.table.Drop(al)
	return al.What
}

// endWindows settles the claims whose time to come back is over. The event in hand comes
// first: it may take the proposal back, or be another's claim (seed 6783).
func (e *Engine) endWindows() {
	if over := e.offers.unechoed; len(over) > 0 {
		e.offers.unechoed = nil
		inTurn(e, over, e.unechoed)
		e.drain()
	}
}

// Owes reports whether answers are held that we could give, were it not for a way
// out that is full.
func (e *Engine) Owes() bool { return e.room.seated && len(e.room.held.Answers) > 0 }

// sync waits until the decision is on disk: only then does it count
// (RELIABILITY AI-13).
func (e *Engine) sync(c *inflight.Call, s *approval.Settled) {
	e.tickets++
	c.On(inflight.Agree)
	c.Agreed = s
	e.calls.Syncing[e.tickets] = c
	e.do(Sync{e.tickets})
}

// synced: the decision is on disk, or could not be put there.
func (e *Engine) synced(ev Synced) {
	c := e.calls.Syncing[ev.Ticket]
	if w := e.waiting; w != nil && w.ticket == ev.Ticket {
		e.reloadSynced(ev)
		return
	}
	if c == nil {
		return
	}
	delete(e.calls.Syncing, ev.Ticket)
	switch {
	case c.Phase == inflight.Done: // its caller took it back, or is gone
		e.ledger.GiveBack(c.Hold)
	case ev.Err != nil:
		e.unstarted(c, refusal.AuditUnavailable())
	case c.Agreed == nil:
		e.allowed(c)
	default:
		e.tellWho(c)
		e.agreed(c)
	}
}

// unrecorded ends calls whose decision could not be put on record. Nothing of
// them has left; and nothing new is admitted until records can be written. What
// has run has run, and its caller has the result, with a mark that nobody knows
// of it (RELIABILITY section 3).
// Results that are held were marked before (see Step).
func (e *Engine) unrecorded(ev Unrecorded) {
	if !e.auditDown {
		e.auditDown = true
		e.note(record.Record{Event: record.Warning, Reason: "audit_unavailable", Detail: ev.Err.Error()})
		e.queueDesk(e.desk.AbortAll(e.now, auditReason))
	}
	e.then(func() {
		inTurn(e, ev.Calls, func(n uint64) {
			if c := e.calls.ByNumber[n]; c != nil {
				if !ev.Written {
					c.Line = inflight.Unrecorded
				}
				e.finishUnanswered(c, refusal.AuditUnavailable())
				e.answerOwn(c, nil)
			}
		})
	})
	e.then(func() {
		for _, result := range ev.Results {
			e.send(result.Class, incomplete(result.Envelope))
		}
	})
}

const auditReason = "audit_unavailable"

// checkpoint shows the head of the audit to the topic, whose histories witness
// it from then on (DESIGN 10).
func (e *Engine) checkpoint(ev Checkpoint) {
	params := strconv.AppendUint([]byte(`{"seq":`), ev.Seq, 10)
	params = append(jsonrpc.AppendQuote(append(params, `,"hash":`...), ev.Hash), '}')
	e.tell("notifications/mcpx/checkpoint", jsonrpc.AppendNotification(nil, "notifications/mcpx/checkpoint", params))
	e.note(record.Record{Event: record.Checkpoint, HeadSeq: ev.Seq, Head: ev.Hash})
}

// A queue is what is still to be done of the event in hand. [Engine.Step] drains it; whatever
// goes through it may add to it, and does not wait for what it adds. What comes of one thing
// is done before what waits already, so that all about one matter stays together. But what the
// desk says is done in the order in which it is said, so that nothing is put to anybody about a
// question that is settled.
type queue struct {
	items []item         // the next is the last
	said  []approval.Act // by the desk; from done on they wait, or are in hand
	done  int
}

// An item is an act of the Book, what goes on where it was queued (a func()), or one of those
// below, which go on further up.
type item = any

type (
	nextOfDesk struct{}                 // the next that the desk has said
	doneOfDesk struct{}                 // it is done, and all that came of it
	response   struct{ *wire.Envelope } // from a participant; the Book has heard of it
	awaited    struct{ *wire.Envelope } // a request that waited for the server to be up
	asking     struct{ *inflight.Call } // somebody must agree to it
	resumed    struct{ *inflight.Call } // it was agreed to, and what it waited for has come
	outOfTime  struct{ *inflight.Call } // the server has not answered it in time
)

// then queues something: it is done after what the item in hand has queued already, and before
// what waited before that.
func (e *Engine) then(i item) { e.todo.items = append(e.todo.items, i) }

// inTurn does the same for each, and what comes of one before the next.
func inTurn[T any](e *Engine, each []T, do func(T)) {
	for i, one := range each {
		before := len(e.todo.items)
		if do(one); len(e.todo.items) > before && i+1 < len(each) {
			e.then(func() { inTurn(e, each[i+1:], do) })
			return
		}
	}
}

// queueBook has done what the Book says.
func (e *Engine) queueBook(acts []proposal.Act) {
	for _, a := range acts {
		e.then(a)
	}
}

// queueDesk has done what the desk says.
func (e *Engine) queueDesk(acts []approval.Act) {
	if len(acts) > 0 && len(e.todo.said) == 0 {
		e.then(nextOfDesk{})
	}
	e.todo.said = append(e.todo.said, acts...)
}

// drain does all that is queued.
func (e *Engine) drain() {
	slices.Reverse(e.todo.items)
	for len(e.todo.items) > 0 {
		last := len(e.todo.items) - 1
		next := e.todo.items[last]
		e.todo.items[last] = nil
		e.todo.items = e.todo.items[:last]
		e.carryOut(next)
		slices.Reverse(e.todo.items[last:])
	}
}

func (e *Engine) carryOut(i item) {
	switch i := i.(type) {
	case func():
		i()
	case response:
		e.responded(i.Envelope)
	case awaited:
		e.serve(i.Envelope, e.linked(i.Envelope))
	case asking:
		e.question(i.Call)
	case resumed:
		e.agreed(i.Call)
	case outOfTime:
		e.timedOut(i.Call)
	case proposal.Consider:
		e.consider(i.Life)
	case proposal.Waits:
		e.refuseUnservable(i.Life)
	case proposal.Refused:
		e.refused(i)
	case proposal.Noted:
		e.noted(i)
	case nextOfDesk:
		e.carryOutOfDesk(e.todo.said[e.todo.done])
		e.then(doneOfDesk{})
	case doneOfDesk:
		e.todo.said[e.todo.done] = nil
		if e.todo.done++; e.todo.done < len(e.todo.said) {
			e.then(nextOfDesk{})
		} else {
			e.todo.said, e.todo.done = e.todo.said[:0], 0
		}
	}
}

func (e *Engine) carryOutOfDesk(a approval.Act) {
	switch a := a.(type) {
	case approval.Show:
		e.show(a)
	case approval.Close:
		e.close(a)
	case approval.Noted:
		e.noteOnQuestion(a)
	case approval.Verify:
		e.queueDesk(e.desk.Verified(e.now, a.ID, e.recheck(a.Question, a.Args)))
	case approval.Settled:
		e.settled(a)
	}
}
