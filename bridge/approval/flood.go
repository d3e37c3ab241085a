package approval

import (
	"fmt"
	"strconv"
	"time"
)

// refusalsInARow start a cool-down (DESIGN 14).
const refusalsInARow = 3

func nagOf(p *pending) nag { return nag{p.q.Caller, p.q.Method, p.q.Tool} }

func newFlood() flood {
	return flood{callers: map[string]*asker{}, refusals: map[nag]*streak{}}
}

// admit says why a question may not be put, "" if it may.
func (d *Desk) admit(p *pending) (reason, detail string, retry time.Duration) {
	if s := d.flood.refusals[nagOf(p)]; s != nil && s.n >= refusalsInARow && s.until.After(d.now) {
		return Cooldown, "people refused " + strconv.Itoa(s.n) + " such calls of this caller in a row", s.until.Sub(d.now)
	}
	o := &d.o
	if len(d.pending) >= o.MaxPending {
		return Busy, fmt.Sprintf("%d questions wait for an answer already", o.MaxPending), retryBusy
	}
	if d.bytes+p.size() > o.MaxBytes {
		return Busy, fmt.Sprintf("the arguments of the questions that wait fill %d bytes already", d.bytes), retryBusy
	}
	a := d.flood.callers[budgetOf(p)]
	if a == nil {
		return "", "", 0
	}
	a.prune(d.now)
	if a.pending >= o.PerCaller {
		return Busy, fmt.Sprintf("%d questions of this caller wait for an answer already", a.pending), retryBusy
	}
	if len(a.recent) >= o.PerMinute {
		return Busy, fmt.Sprintf("%d questions of this caller were put within a minute", len(a.recent)), a.recent[0].Add(time.Minute).Sub(d.now)
	}
	return "", "", 0
}

// budgetOf is whose questions count together: one caller's. All whom nobody verifies are one,
// for each could take another name for every question.
func budgetOf(p *pending) string {
	if p.q.Unverified {
		return ""
	}
	return p.q.Caller
}

// retryBusy is how long to wait where nobody knows better.
const retryBusy = 5 * time.Second

func (a *asker) prune(now time.Time) {
	n := 0
	for n < len(a.recent) && now.Sub(a.recent[n]) >= time.Minute {
		n++
	}
	a.recent = a.recent[n:]
}

func (f *flood) opened(caller string, now time.Time) {
	f.sweep(now)
	a := f.callers[caller]
	if a == nil {
		a = &asker{}
		f.callers[caller] = a
	}
	a.pending++
	a.recent = append(a.recent, now)
}

func (f *flood) closed(caller string) { f.callers[caller].pending-- }

// settled counts what people refused. What nobody decided changes nothing.
func (f *flood) settled(p *pending, how Outcome, now time.Time, coolDown time.Duration) {
	switch how {
	case Allowed:
		delete(f.refusals, nagOf(p))
	case Denied:
		s := f.refusals[nagOf(p)]
		if s == nil || !s.until.After(now) {
			s = &streak{}
			f.refusals[nagOf(p)] = s
		}
		s.n++
		s.until = now.Add(coolDown)
	}
}

// sweep forgets, from time to time, who has been quiet.
func (f *flood) sweep(now time.Time) {
	if f.events++; f.events < 256 {
		return
	}
	f.events = 0
	for name, a := range f.callers {
		if a.prune(now); a.pending == 0 && len(a.recent) == 0 {
			delete(f.callers, name)
		}
	}
	for key, s := range f.refusals {
		if !s.until.After(now) {
			delete(f.refusals, key)
		}
	}
}
