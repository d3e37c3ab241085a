package policy

import (
	"maps"
	"math/big"
	"slices"
	"time"
)

// A Ledger remembers what calls took from limits. What a call takes is reserved
// before it runs and given back when it did not run. A Ledger has no clock and
// no lock: one goroutine at a time may use it. The zero Ledger is empty.
type Ledger struct {
	pages map[page][]*entry
	holds map[Hold][]held
	last  Hold
}

// A Hold stands for what one call has reserved. The zero Hold stands for
// nothing.
type Hold uint64

type page struct{ rule, caller string }

// An entry holds the calls of a short while, a 1024th of the window, so a page
// has a bound. It counts until its last call is too old.
type entry struct {
	from, last time.Time
	keep       time.Duration
	count      int
	sum        *big.Rat
}

type held struct {
	entry  *entry
	amount *big.Rat
}

// Used is what rule and caller have used in the window before now.
func (l *Ledger) Used(rule, caller string, window time.Duration, now time.Time) (count int, sum *big.Rat) {
	sum = new(big.Rat)
	for _, e := range l.pages[page{rule, caller}] {
		if e.last.After(now.Add(-window)) {
			count += e.count
			sum.Add(sum, e.sum)
		}
	}
	return count, sum
}

// Reserve takes what a decision says the call will take. The hold has to be
// settled by Commit or GiveBack.
func (l *Ledger) Reserve(d Decision, now time.Time) Hold {
	if len(d.Limits) == 0 {
		return 0
	}
	if l.holds == nil {
		l.holds = map[Hold][]held{}
	}
	l.last++
	l.holds[l.last] = l.book(now, d.Limits)
	if l.last%256 == 0 {
		l.sweep(now)
	}
	return l.last
}

// Add books what ran before, as read back from a record, oldest first.
func (l *Ledger) Add(at time.Time, took ...Reservation) { l.book(at, took) }

func (l *Ledger) book(at time.Time, took []Reservation) []held {
	if l.pages == nil {
		l.pages = map[page][]*entry{}
	}
	var all []held
	for _, r := range took {
		amount, err := decimal(r.Amount)
		if err != nil {
			amount = new(big.Rat)
		}
		e := l.entry(page{r.Rule, r.Caller}, at, r.Window)
		e.count++
		e.sum.Add(e.sum, amount)
		all = append(all, held{e, amount})
	}
	return all
}

func (l *Ledger) entry(p page, at time.Time, keep time.Duration) *entry {
	entries := l.pages[p]
	if n := len(entries); n > 0 && entries[n-1].keep == keep && at.Sub(entries[n-1].from) < keep/1024 {
		e := entries[n-1]
		if at.After(e.last) {
			e.last = at
		}
		return e
	}
	e := &entry{from: at, last: at, keep: keep, sum: new(big.Rat)}
	l.pages[p] = append(slices.DeleteFunc(entries, e.outlives), e)
	return e
}

// outlives reports whether old counts no more at the time of e.
func (e *entry) outlives(old *entry) bool { return !old.last.Add(old.keep).After(e.last) }

func (l *Ledger) sweep(now time.Time) {
	e := &entry{last: now}
	maps.DeleteFunc(l.pages, func(p page, entries []*entry) bool {
		l.pages[p] = slices.DeleteFunc(entries, e.outlives)
		return len(l.pages[p]) == 0
	})
}

// Commit settles a hold whose call ran, or may have run.
func (l *Ledger) Commit(h Hold) { delete(l.holds, h) }

// GiveBack settles a hold whose call surely did not run.
func (l *Ledger) GiveBack(h Hold) {
	for _, taken := range l.holds[h] {
		taken.entry.count--
		taken.entry.sum.Sub(taken.entry.sum, taken.amount)
	}
	delete(l.holds, h)
}
