package policy

import (
	"slices"
	"time"
)

// Memory is how far back the limits of the policy look; 0 if it has none.
func (p *Policy) Memory() time.Duration {
	var longest time.Duration
	for _, r := range p.rules {
		if r.limit != nil {
			longest = max(longest, r.limit.window())
		}
	}
	return longest
}

// ForRecord is what a call with these arguments took, as it may stand on
// record: an amount that the file hides is left out, and said to be.
func (p *Policy) ForRecord(took []Reservation, args []byte) []Reservation {
	took = slices.Clone(took)
	for i, r := range took {
		if l := p.limitOf(r.Rule); r.Amount != "" && (l == nil || l.sum == nil || p.hides(l.sumOf, args)) {
			took[i].Amount, took[i].Hidden = "", true
		}
	}
	return took
}

// Recall books in l what a call took that ran before, as ForRecord gave it.
// Rules that p has not, or that limit nothing any more, are passed over. What an
// amount was that is hidden, nobody knows now: it uses up the sum.
func (p *Policy) Recall(l *Ledger, at time.Time, took []Reservation) {
	for _, r := range took {
		limit := p.limitOf(r.Rule)
		if limit == nil {
			continue
		}
		r.Window = limit.window()
		if limit.shared {
			r.Caller = ""
		}
		if _, err := decimal(r.Amount); limit.sum != nil && (r.Hidden || r.Amount != "" && err != nil) {
			r.Amount = plain(limit.sum)
		}
		l.Add(at, r)
	}
}

func (p *Policy) limitOf(rule string) *limit {
	for _, r := range p.rules {
		if r.name == rule {
			return r.limit
		}
	}
	return nil
}

// hides reports whether the file hides any of what stands at a, or whether that
// cannot be told.
func (p *Policy) hides(a address, args []byte) bool {
	root, err := readObject(args)
	if err != nil {
		return true
	}
	found, err := p.judgement(&Call{}).lookup(root, a.steps, nil)
	return err != nil || slices.ContainsFunc(found, func(f finding) bool { return p.redact.hides(f.way) })
}
