package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/replay"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
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

	room     room
	server   server
	calls    inflight.Table
	made     map[uint64]*approval.Grant // what is to be remembered, by the ticket that says when that is on disk
	replay   *replay.Cache
	others   *replay.Cache // requests made of others, by whom and under which ids
	quota    quota.Shares[string]
	summing  bool // a time to sum up is set
	stopping bool
	doubted  map[string]bool // warnings about the policy that were said
	awaiting []*awaiting     // in the order in which they came
	asides   []*aside        // the same

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
	halting
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
		room:   room{peers: map[string]*peer{}, missing: map[string]*alarm{}},
		server: server{why: "has not started yet", retry: time.Second},
		calls:  inflight.NewTable(c.IDPrefix),
		made:   map[uint64]*approval.Grant{},
		replay: replay.New(c.DigestKey, c.Share), others: replay.New(c.DigestKey, othersShare),
		policy: c.Policy, doubted: map[string]bool{}, ledger: c.Ledger, provided: c.Provides, quota: newQuota(), halting: halting{halted: c.Halted, unsaid: c.Halted != nil},
	}
	if e.policy == nil {
		e.policy = &policy.Policy{}
	}
	e.backed = cmp.Or(c.Backed, e.policy)
	c.Desk.Random = c.Random
	e.desk = approval.NewDesk(c.Desk)
	e.desk.SetHere(approval.Who{Door: approval.Local}, c.Local)
	e.desk.SetBelieved(e.believed())
	e.desk.SetRedactor(e.policy)
	e.book = proposal.NewBook(c.Proposals)
	e.offers = offers{calls: map[*proposal.Life]*inflight.Call{}, status: c.ProposalStatus,
		style: c.ProposalStyle, lenient: c.LenientParams, toolsRequest: c.ToolsRequest}
	e.book.SetRules(e.rulesOfProposals())
	for _, s := range c.Seen {
		e.replay.Inherit(replay.Request(s))
	}
	return e
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

// Backed is the last policy that somebody stood behind, as [Config.Backed].
func (e *Engine) Backed() *policy.Policy { return e.backed }

// Running is how many requests of participants are at the server and still await
// their answers: none of ours, none of the server's own client.
func (e *Engine) Running() int { return e.calls.Running }

func (e *Engine) do(f Effect) { e.out = append(e.out, f) }

func (e *Engine) note(r record.Record) {
	r.At = e.now
	r.Unverified = record.Unverified(r.From != "" && !e.isHost(r.From) && e.room.dialect.Protocol != "" && !e.verified())
	e.do(Note{&r})
}

// Owes reports whether answers are held that we could give, were it not for a way
// out that is full.
func (e *Engine) Owes() bool { return e.room.seated && len(e.room.held.Answers) > 0 }

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

// An item is an act of the Book, what goes on where it was queued (a func()), a [Looked] whose
// time is up, or one of those below, for whose function a later file is asked.
type item = any

type (
	nextOfDesk struct{}                 // the next that the desk has said
	doneOfDesk struct{}                 // it is done, and all that came of it
	response   struct{ *wire.Envelope } // from a participant; the Book has heard of it
	awaited    struct{ *awaiting }      // it waited for the server to be up
	asking     struct{ *inflight.Call } // somebody must agree to it
	resumed    struct{ *inflight.Call } // it was agreed to, and what it waited for has come
	outOfTime  struct{ *inflight.Call } // the server has not answered it in time
)

// then queues something: it is done after what the item in hand has queued already, and before
// what waited before that.
func (e *Engine) then(i item) { e.todo.items = append(e.todo.items, i) }

// inTurn does the same for each. What it queues for one is done before the next, so whoever
// goes on after it must queue that too.
func inTurn[T any](e *Engine, each []T, do func(T)) {
	for i, one := range each {
		before := len(e.todo.items)
		if do(one); len(e.todo.items) > before && i+1 < len(each) {
			e.then(func() { inTurn(e, each[i+1:], do) })
			return
		}
	}
}

// queueBook queues what the Book wants done.
func (e *Engine) queueBook(acts []proposal.Act) {
	for _, a := range acts {
		e.then(a)
	}
}

// queueDesk queues what the desk wants done, behind all that it has said before.
func (e *Engine) queueDesk(acts []approval.Act) {
	if len(acts) > 0 && len(e.todo.said) == 0 {
		e.then(nextOfDesk{})
	}
	e.todo.said = append(e.todo.said, acts...)
}

// room is what the Engine knows of its seat and of who else is there.
type room struct {
	me      string
	dialect wire.Dialect
	caps    wire.Caps
	seated  bool
	peers   map[string]*peer
	missing map[string]*alarm // who was missed and has not come back: when what the server has of them ends; stopped without a seat
	held    outgoing.Queue
	look    *alarm // when release is due without another event
	lookAt  time.Time
	echoes  bool // the gateway has returned a request of ours to us, in this stay

	paused   *alarm    // set while a participant has asked us to be quiet
	pausedAt time.Time // when that was asked first
}

type peer struct {
	caps    wire.Caps
	leaving *alarm // when they are gone, unless they come back; nil: they are here
	missed  bool   // a roster did not have them, and nobody said that they left
}

// quiet: while paused we say nothing but where we stand (WIRE 5.8).
func (r *room) quiet(k wire.Kind) bool {
	return r.paused != nil && k != wire.Control && k != wire.Grant
}

// server is the MCP server as last heard of.
type server struct {
	up    bool          // and its tools are known
	met   bool          // it was up once
	asked bool          // before that something was asked of it, by who may have given up by now
	since time.Time     // when the topic could first see it
	why   string        // if it is not up
	retry time.Duration // if it is not up: when it may be; negative: never
	hello Hello
	tools catalog.Catalog
	lines uint64 // written so far, whether or not they were accepted

	listing     bool                   // a tools/list of ours is under way
	listAgain   bool                   // and the list has changed since
	subscribers subscribers            // to its resources
	told        burst                  // its notifications
	passed      inflight.Pace          // what participants were told of progress and changed resources
	gathered    map[changed]*gathering // word that is passed on at most once in a while
	begun, read uint64                 // listings that were begun, and the last of them that was read or given up
	changed     bool                   // it said that its tools have changed, and the topic does not know yet
	listens     listens
}

// starting reports whether the server has not come up yet, and may.
func (s *server) starting() bool { return !s.up && !s.met && s.retry >= 0 }

// listens is how we hear from a server of 2026-07-28 that its lists have changed.
type listens struct {
	call  *inflight.Call // our subscriptions/listen, which is open as long as we do; nil: we do not
	heard bool           // the server agreed to tell of tools
	tried bool           // it was asked, and has ended it: once is enough for one process
	ttl   time.Duration  // what it said of the list of tools; negative: nothing
	again *alarm         // when the tools are read again
}

// A gathering is word of a changed list that was passed on a moment ago. What
// came since goes out at its end, once.
type gathering struct{ last []byte }

// changed is what a server says has changed: a list, by the method that says so, or one
// resource.
type changed struct{ method, uri string }

// A burst counts what comes in a second.
type burst struct {
	since time.Time
	n     int
	over  bool
}

// A server may notify this often in a second before what it says to nobody in
// particular is passed over.
const notifiedMost = 1000

// another counts one more. over: there are too many in this second, or were in the one
// before; began: this one is the first too many of a burst.
func (b *burst) another(now time.Time) (over, began bool) {
	if past := now.Sub(b.since); past >= time.Second {
		b.over = b.n > notifiedMost && past < 2*time.Second
		b.since, b.n = now, 0
	}
	b.n++
	began = b.n == notifiedMost+1 && !b.over
	b.over = b.over || began
	return b.over, began
}

// An awaiting request, or proposal, came before the server was up.
type awaiting struct {
	env   *wire.Envelope
	life  *proposal.Life // of a proposal; else nil
	until *alarm         // it is given up then
	again *alarm         // its caller is told again then
	told  int            // how often its caller has heard of progress
}

// An aside is a question of the server's that waits, as it may be for its client or about a
// participant's call (see setAside).
type aside struct {
	id    []byte // raw
	line  []byte
	among []uint64 // the calls that it may be about, and that the server has not answered
	alarm *alarm
}

// A waiting policy is one that nobody has agreed to yet.
type waiting struct {
	policy *policy.Policy
	file   string
	looser []string
	id     string // of the question; "" while it cannot be put
	ticket uint64 // of the sync after the yes; 0 before
	again  *alarm
}

// offers is what the Engine knows of proposals beside the Book.
type offers struct {
	lenient, toolsRequest bool // as Config says
	style                 wire.Style
	calls                 map[*proposal.Life]*inflight.Call // that we would make of our own accord, or have made, until they end
	unechoed              []*inflight.Call                  // those of them whose claims had had their time to come back before the event in hand
	status                bool
	said                  []rejection // the last few rejects, the oldest first
}

// A rejection is a reject as it went out.
type rejection struct {
	env  *wire.Envelope
	kind string // in which words
}

// A dialog is a question that the client has before its person.
type dialog struct {
	question, digest string
	form             approval.Dialog
	choice           bool // the question may be passed on
}

// verified reports whether somebody makes sure who speaks in the topic.
func (e *Engine) verified() bool { return e.ours || e.room.dialect.Verified() }

// believed reports whether who speaks is taken for who it says it is.
func (e *Engine) believed() bool { return e.trustUnverified || e.verified() }

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

// forUs: addressed to exactly us. A request to several would run several
// times, one to everybody as often as there are servers (WIRE W-9).
func (e *Engine) forUs(env *wire.Envelope) bool {
	return len(env.To) == 1 && env.To[0] == e.room.me
}

// here reports whether somebody is in the topic, and not about to be gone.
func (e *Engine) here(id string) bool {
	p := e.room.peers[id]
	return p != nil && p.leaving == nil || id == e.room.me
}

// gated reports whether the client's own calls are judged.
func (e *Engine) gated() bool { return e.hostIDPrefix != "" }

// isHost reports whether a caller is the client.
func (e *Engine) isHost(from string) bool { return e.gated() && from == inflight.HostID }

// othersShare is how many requests made of others are known of one participant. Where
// it makes more, each counts for one of an id that was used before.
const othersShare = 1 << 14

func (e *Engine) rulesOfProposals() proposal.Rules {
	p := e.policy.Proposals
	return proposal.Rules{Broadcast: p.Broadcast, RejectUntargeted: p.RejectUntargeted == "always",
		RejectWhereItHelps: p.RejectUntargeted != "never"}
}

// recordLimits: at some 400 bytes each, one participant comes to 70 MB a day at the
// most, and all together come to five times that, however many names they have.
var recordLimits = quota.Limits{Burst: 200, Again: time.Second / 2, AllBurst: 2000, AllAgain: time.Second / 10, Names: 1024, Sums: 16}

func newQuota() quota.Shares[string] {
	return quota.Shares[string]{Limits: recordLimits, Keep: strings.Clone, Compare: strings.Compare}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// subscribers are those who want to hear of resources.
type subscribers struct {
	to  map[string]map[string]bool // resource URI -> participants
	has map[string]int             // to how many each participant is subscribed
	all int
}

func (s *subscribers) add(uri, who string) {
	if s.to[uri][who] {
		return
	}
	if s.to == nil {
		s.to, s.has = map[string]map[string]bool{}, map[string]int{}
	}
	if s.to[uri] == nil {
		s.to[uri] = map[string]bool{}
	}
	s.to[uri][who] = true
	s.has[who]++
	s.all++
}

// remove reports whether somebody was subscribed and nobody is any more.
func (s *subscribers) remove(uri, who string) (orphan bool) {
	if !s.to[uri][who] {
		return false
	}
	delete(s.to[uri], who)
	s.all--
	if s.has[who]--; s.has[who] == 0 {
		delete(s.has, who)
	}
	if len(s.to[uri]) > 0 {
		return false
	}
	delete(s.to, uri)
	return true
}

// forget returns the resources nobody wants to hear of any more.
func (s *subscribers) forget(who string) (orphans []string) {
	if s.has[who] == 0 {
		return nil
	}
	for _, uri := range s.resources() {
		if s.remove(uri, who) {
			orphans = append(orphans, uri)
		}
	}
	return orphans
}

func (s *subscribers) resources() []string { return sorted(s.to) }

// ticket is a fresh one, for a Sync or a Look.
func (e *Engine) ticket() uint64 {
	e.tickets++
	return e.tickets
}

// Occupied reports whether the server is at work for a participant, or may be:
// what nobody waits for any more counts for quitGrace.
func (e *Engine) Occupied() bool {
	for _, c := range e.calls.ByNumber {
		if c.Occupies() {
			return true
		}
	}
	return false
}
