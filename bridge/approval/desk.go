package approval

import (
	"bytes"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// NewDesk returns a Desk without questions.
func NewDesk(o Options) *Desk {
	if o.Random == nil {
		panic("approval: Options.Random is required")
	}
	d := &Desk{
		o: o.filled(), here: map[Who]bool{}, pending: map[string]*pending{}, asks: map[string]*ask{}, late: map[string]ended{},
		before: map[Who]int{}, involved: map[Who]int{}, parties: map[string]int{}, flood: newFlood(),
	}
	d.restore(o.Grants)
	return d
}

// Open puts a question. The acts are what to show to whom; a Verify, when it was granted
// before; or a Settled, when there is no room, or nobody could answer.
func (d *Desk) Open(now time.Time, q Question) (id string, acts []Act) {
	d.begin(now)
	p := d.take(q)
	if reason := p.unreadable(); reason != "" {
		return p.id, d.turnAway(p, BadArguments, reason, 0)
	}
	if a := d.granted(p); a != nil {
		d.verify(a)
		return p.id, d.out
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
	if d.halted {
		p.frozen = now
	}
	d.hold(p)
	d.advance(p, NoApprover, "")
	d.noteUnused(p)
	return p.id, d.out
}

// DigestOf is the digest of the question that was just opened with these acts: it waits, or was
// settled at once.
func (d *Desk) DigestOf(id string, acts []Act) (of Digest) {
	if p := d.pending[id]; p != nil {
		return p.digest
	}
	for _, a := range acts {
		if s, ok := a.(Settled); ok {
			return s.Digest
		}
	}
	return of
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
	p := &pending{id: d.fresh(), q: q, asked: d.now, deadline: d.now.Add(min(within, policy.MaxQuestion)),
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
		Method: q.Method, Tool: q.Tool, Why: q.Reason, Fingerprint: q.Fingerprint, Args: p.args, Beside: q.Beside, Timeout: p.timeout, PolicyHash: q.PolicyHash,
		Nonce: p.nonce, Expiry: p.deadline}
	return b.Digest()
}

// Withdraw ends a question because the caller took it back.
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

// Begin has what a plan gives leave for count from now on, by the yes that settled the question
// about it. It reports false where no more can be remembered. Whoever calls it knows that the
// yes is on record, and that it is this bridge which keeps the plan.
func (d *Desk) Begin(now time.Time, s *Settled) (Grant, bool) {
	d.begin(now)
	d.endOldGrants()
	q := s.Question
	of := q.aPlan(s.Args)
	if of == nil || len(q.Prints) != len(of.Items) || len(d.grants) >= maxGrants {
		return Grant{}, false
	}
	var tools []string
	for _, i := range of.Items {
		tools = append(tools, i.Tool)
	}
	g := &Grant{ID: s.Digest.Short(), Keep: KeepPlan, Caller: q.Caller, Via: q.Via, Method: q.Method, Tool: strings.Join(tools, ", "), Topic: q.Topic, Gateway: q.Gateway,
		Server: q.Server, Dir: q.Dir, Command: q.Command, Args: Canonical(s.Args), By: s.By, Rules: q.Terms.Rules,
		Uses: of.Uses(), of: of, prints: q.Prints, left: of.Uses()}
	g.begin(now, of.For)
	d.grants = append(d.grants, g)
	return g.copied(), true
}
