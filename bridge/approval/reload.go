package approval

import (
	"reflect"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Unsettled are the questions that are open, oldest first.
func (d *Desk) Unsettled() (all []Unsettled) {
	for _, p := range d.inOrder() {
		all = append(all, Unsettled{p.id, &p.q, p.args})
	}
	return all
}

// Judged takes into account what another policy says of a question's call, with the
// arguments that it has now: the stricter of the one at the request and this one holds
// (RELIABILITY AI-14). What it would allow is asked all the same.
func (d *Desk) Judged(now time.Time, id string, v policy.Decision) []Act {
	d.begin(now)
	p := d.pending[id]
	if p == nil {
		return d.out
	}
	// Another policy hides other arguments, and may deny part of what a wider yes covers.
	p.drafts, p.published = nil, nil
	p.q.Terms.Remember = slices.DeleteFunc(slices.Clone(p.q.Terms.Remember), policy.CoversMore)
	switch {
	case v.Verdict == policy.Allow:
	case v.Verdict == policy.Ask && v.Ask != nil:
		d.tighten(p, v.Ask)
	default:
		d.settle(p, Settled{Outcome: Aborted, Reason: PolicyDenied, Detail: v.Rule}, nil)
	}
	return d.out
}

// tighten narrows a question to what the terms of now allow as well.
func (d *Desk) tighten(p *pending, t *policy.Terms) {
	was := &p.q.Terms
	p.need = max(p.need, t.Need)
	was.Need = p.need
	if was.Confirm == "" && t.Confirm != "" {
		was.Confirm = t.Confirm
		d.do(Noted{ID: p.id, Event: record.Tightened, Have: p.count(agreed), Digest: p.digest, Question: &p.q, Args: p.args})
	}
	was.Of = slices.DeleteFunc(slices.Clone(was.Of), func(name string) bool { return !slices.Contains(t.Of, name) })
	if t.Within > 0 {
		p.shorten(p.began().Add(t.Within))
	}
	was.Remember = slices.DeleteFunc(slices.Clone(was.Remember), func(k string) bool { return !slices.Contains(t.Remember, k) })
	var open []policy.Edit
	for _, e := range was.Edit {
		if slices.ContainsFunc(t.Edit, func(f policy.Edit) bool { return reflect.DeepEqual(e, f) }) {
			open = append(open, e)
		} else {
			p.closed = append(p.closed, e)
		}
	}
	was.Edit = open
	if was.Delegate != nil {
		both := &policy.Delegate{}
		if t.Delegate != nil {
			both.Depth = min(was.Delegate.Depth, t.Delegate.Depth)
			both.To = slices.DeleteFunc(slices.Clone(was.Delegate.To), func(name string) bool { return !slices.Contains(t.Delegate.To, name) })
		}
		was.Delegate = both
	}
	for _, s := range p.ballots {
		if s.state != struck && !s.listed(t) {
			d.vacate(p, s, struck, "the policy does not let you decide on this any more")
		}
	}
	if !p.deadline.After(p.at(d.now)) {
		d.settle(p, Settled{Outcome: Expired, Reason: TimedOut}, nil)
		return
	}
	d.advance(p, NoApprover, "the policy was changed")
}

// shorten brings the deadline forward. What people saw as the expiry stays part
// of what they agree to.
func (p *pending) shorten(to time.Time) {
	if !to.Before(p.deadline) {
		return
	}
	p.deadline = to
	for _, s := range p.ballots {
		if s.till.After(to) {
			s.till = to
		}
	}
}

// listed reports whether terms let somebody decide: by their own name, or by
// the name of whom they were passed it on from.
func (s *ballot) listed(t *policy.Terms) bool {
	if len(s.chain) == 0 {
		return slices.Contains(t.Of, s.who.String())
	}
	return slices.Contains(t.Of, s.chain[0].By.String()) && t.Delegate != nil && slices.Contains(t.Delegate.To, s.who.String())
}
