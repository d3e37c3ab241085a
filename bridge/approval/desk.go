package approval

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Options are what a Desk is made with. All functions must be pure and must
// not call the Desk.
type Options struct {
	Random  func() [16]byte // 128 fresh random bits; required
	Present func(Who) bool  // whether somebody is here and can be asked now; required

	// Redact returns the arguments as the topic may see them: one JSON object.
	// Nil: not at all. The topic is public (RELIABILITY AI-24).
	Redact func(args []byte) []byte

	// Recheck says whether a call that somebody just agreed to may still run,
	// with these arguments: "" or the reason why not, such as [PolicyDenied]
	// or [ToolChanged]. It is asked for every yes, whether the arguments were
	// edited or not (RELIABILITY AI-8, AI-9, AI-14). Nil: it may.
	Recheck func(q *Question, args []byte) (reason string)

	// Grants are what an earlier run had remembered, as [ReadGrants] found it.
	Grants []Grant

	MaxPending  int           // questions open at one time; default 10 000
	MaxBytes    int           // bytes of arguments held for them; default 32 MiB
	PerCaller   int           // of one caller; default 8
	PerApprover int           // before one participant; default 50. The other doors have lists instead
	PerMinute   int           // new ones of one caller; default 10
	CoolDown    time.Duration // after three refusals in a row; default 10 min
	StartWithin time.Duration // from the yes to the start of the call; default 30 s
	Session     time.Duration // the longest a session grant lasts; default 8 h
	Always      time.Duration // how long a grant for always lasts; default 30 days
}

// Times to decide (RELIABILITY AI-10), and how much must be left of them to
// bother somebody anew.
const (
	defaultWithin = 5 * time.Minute
	maxWithin     = 24 * time.Hour
	leftToReask   = 10 * time.Second
	leftToPassOn  = 2 * time.Second
)

func (o Options) filled() Options {
	o.MaxPending = cmp.Or(o.MaxPending, 10_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 32<<20)
	o.PerCaller = cmp.Or(o.PerCaller, 8)
	o.PerApprover = cmp.Or(o.PerApprover, 50)
	o.PerMinute = cmp.Or(o.PerMinute, 10)
	o.CoolDown = cmp.Or(o.CoolDown, 10*time.Minute)
	o.StartWithin = cmp.Or(o.StartWithin, 30*time.Second)
	o.Session = cmp.Or(o.Session, 8*time.Hour)
	o.Always = cmp.Or(o.Always, 30*24*time.Hour)
	return o
}

// A Desk keeps questions until they are settled. The times it is given must
// not run backwards. It is not safe for use by more than one goroutine at a
// time.
type Desk struct {
	o Options

	now time.Time // of the event in hand
	out []Act     // of the event in hand

	opened  uint64 // questions so far
	pending map[string]*pending
	bytes   int // of their arguments
	clock   timetable.Table[*pending]

	asks     map[string]*ask  // every ask of a pending question, by envelope id
	late     map[string]ended // what has been settled, by ask and by question
	gone     []forgettable    // of late, oldest first
	before   map[Who]int      // questions open before each
	involved map[Who]int      // ballots of each
	parties  map[string]int   // participants whose questions are pending, as caller or proposer
	flood    flood
	grants   []*Grant
}

// NewDesk returns a Desk without questions.
func NewDesk(o Options) *Desk {
	if o.Random == nil || o.Present == nil {
		panic("approval: Options.Random and Options.Present are required")
	}
	d := &Desk{
		o: o.filled(), pending: map[string]*pending{}, asks: map[string]*ask{}, late: map[string]ended{},
		before: map[Who]int{}, involved: map[Who]int{}, parties: map[string]int{}, flood: newFlood(),
	}
	d.restore(o.Grants)
	return d
}

// A pending is a question that is not settled.
type pending struct {
	id    string
	order uint64 // of opening
	q     Question
	key   [32]byte // of caller and call, see keyOf

	unused    *Grant // what is remembered and does not count, nil if nothing
	unusedWhy string

	asked, deadline time.Time
	warned          bool
	wake            *timetable.Entry[*pending] // when its next time is up

	ballots []*ballot
	need    int
	closed  []policy.Edit // what may be changed no longer

	// What people are asked to agree to now: what was asked for, until one of
	// several who must agree changes it.
	args     []byte
	timeout  time.Duration
	modified []string
	digest   Digest
	first    Digest // before any change
	nonce    [16]byte
	amended  int

	published *published // nil before anybody was asked over the topic
}

// begin starts an event: what is overdue comes before anything else, so that a
// late answer is late whether or not a Tick was.
func (d *Desk) begin(now time.Time) {
	clear(d.out)
	d.now, d.out = now, d.out[:0]
	d.expire()
	d.forget()
}

func (d *Desk) do(a Act) { d.out = append(d.out, a) }

func (d *Desk) fresh() string {
	id := d.o.Random()
	return hex.EncodeToString(id[:])
}

// Open puts a question. The acts are what to show to whom, or a Settled: when
// it was granted before, when there is no room, when nobody could answer.
func (d *Desk) Open(now time.Time, q Question) (id string, acts []Act) {
	d.begin(now)
	p := d.take(q)
	if reason := p.unreadable(); reason != "" {
		return p.id, d.turnAway(p, BadArguments, reason, 0)
	}
	if g := d.granted(p); g != nil {
		return p.id, d.allowGranted(p, g)
	}
	if reason, detail, retry := d.admit(p); reason != "" {
		return p.id, d.turnAway(p, reason, detail, retry)
	}
	if !p.deadline.After(now) {
		return p.id, d.turnAway(p, TimedOut, "there was no time left to decide", 0)
	}
	d.ballot(p)
	if reason := d.answerable(p); reason != "" {
		return p.id, d.turnAway(p, reason, "of those who may decide, not enough are here", 0)
	}
	d.opened++
	p.order = d.opened
	d.hold(p)
	d.advance(p, NoApprover, "")
	d.noteUnused(p)
	return p.id, d.out
}

// hold counts a question as pending; drop is its counterpart.
func (d *Desk) hold(p *pending) {
	d.pending[p.id] = p
	d.bytes += p.size()
	for _, s := range p.ballots {
		d.involved[s.who]++
	}
	d.flood.opened(budgetOf(p), d.now)
	d.parties[p.q.Caller]++
	d.parties[p.q.Proposer]++
	p.wake = d.clock.Set(p.nextWake(), p)
}

func (d *Desk) drop(p *pending) {
	delete(d.pending, p.id)
	d.bytes -= p.size()
	for _, s := range p.ballots {
		if d.involved[s.who]--; d.involved[s.who] == 0 {
			delete(d.involved, s.who)
		}
	}
	d.flood.closed(budgetOf(p))
	for _, party := range [...]string{p.q.Caller, p.q.Proposer} {
		if d.parties[party]--; d.parties[party] == 0 {
			delete(d.parties, party)
		}
	}
	d.clock.Drop(p.wake)
}

func (p *pending) size() int { return len(p.q.Args) + len(p.q.Beside) }

// take makes a pending of a question: frozen, with all it is bound to.
func (d *Desk) take(q Question) *pending {
	q.Args, q.Beside, q.RPC = bytes.Clone(q.Args), bytes.Clone(q.Beside), bytes.Clone(q.RPC)
	if len(q.Args) == 0 {
		q.Args = []byte("{}")
	}
	within := q.Terms.Within
	if within <= 0 {
		within = defaultWithin
	}
	p := &pending{id: d.fresh(), q: q, asked: d.now, deadline: d.now.Add(min(within, maxWithin)),
		need: max(q.Terms.Need, 1), args: q.Args, timeout: q.Timeout, nonce: d.o.Random()}
	if !q.Until.IsZero() && q.Until.Before(p.deadline) {
		p.deadline = q.Until
	}
	p.digest = p.bind()
	p.first = p.digest
	return p
}

func (p *pending) unreadable() string {
	if err := jsonrpc.Scan(p.args, jsonrpc.Judged, nil, nil); err != nil {
		return err.Error()
	}
	if len(p.q.Beside) > 0 {
		if err := jsonrpc.Scan(p.q.Beside, jsonrpc.Judged, nil, nil); err != nil {
			return err.Error()
		}
	}
	p.key = keyOf(&p.q)
	return ""
}

func (p *pending) bind() Digest {
	q := &p.q
	b := Binding{Bridge: q.Bridge, Dialect: q.Dialect, Topic: q.Topic, Caller: q.Caller, Proposer: q.Proposer, Envelope: q.Envelope,
		Method: q.Method, Tool: q.Tool, Fingerprint: q.Fingerprint, Args: p.args, Beside: q.Beside, Timeout: p.timeout, PolicyHash: q.PolicyHash,
		Nonce: p.nonce, Expiry: p.deadline}
	return b.Digest()
}

// turnAway settles a question that was never put to anybody.
func (d *Desk) turnAway(p *pending, reason, detail string, retry time.Duration) []Act {
	how := Refused
	if reason == TimedOut {
		how = Expired
	}
	d.do(Settled{ID: p.id, Question: &p.q, Outcome: how, Reason: reason, Detail: detail, Digest: p.digest, Ran: p.digest,
		Retry: retry, Asked: p.asked})
	return d.out
}

// inOrder are the pending questions, oldest first.
func (d *Desk) inOrder() []*pending {
	return slices.SortedFunc(maps.Values(d.pending), func(a, b *pending) int { return cmp.Compare(a.order, b.order) })
}

// Withdraw ends a question because the caller wants it no more.
func (d *Desk) Withdraw(now time.Time, id, reason string) []Act {
	return d.end(now, id, Withdrawn, reason)
}

// Abort ends a question on our own account.
func (d *Desk) Abort(now time.Time, id, reason string) []Act { return d.end(now, id, Aborted, reason) }

func (d *Desk) end(now time.Time, id string, how Outcome, reason string) []Act {
	d.begin(now)
	if p := d.pending[id]; p != nil {
		d.settle(p, Settled{Outcome: how, Reason: reason}, nil)
	}
	return d.out
}

// AbortAll ends every question, oldest first: for a shutdown, or when the
// record cannot be written.
func (d *Desk) AbortAll(now time.Time, reason string) []Act {
	d.begin(now)
	for _, p := range d.inOrder() {
		d.settle(p, Settled{Outcome: Aborted, Reason: reason}, nil)
	}
	return d.out
}
