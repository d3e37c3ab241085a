package proposal

import "slices"

// A proposal is served by a request that refers to it. Ours is addressed to
// ourselves; others make theirs to us, or to somebody else. The first one
// counts, and another only when that one has failed (WIRE 8.1).

// A Run is such a request.
type Run struct {
	ID     string // of its envelope
	By     string // who makes it
	Runner string // whom it is addressed to
}

// A Bar is why a participant's request for a proposal must not run.
type Bar uint8

const (
	Open         Bar = iota // it may
	BarWithdrawn            // the proposer wants it no more
	BarExpired              // its time is over
	BarAlready              // it is being served, or was
)

// Bars reports why another participant's request for a proposal must not run.
func (b *Book) Bars(l *Life) Bar {
	late := !l.Until.IsZero() && !b.now.Before(l.Until)
	switch l.State {
	case Withdrawn:
		return BarWithdrawn
	case Expired:
		return BarExpired
	case Claimed, Running, Fulfilled:
		return BarAlready
	case Rejected, Failed:
		if late {
			return BarExpired
		}
	}
	return Open
}

// Knows reports whether any of some ids is that of a proposal in the Book.
func (b *Book) Knows(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return len(b.byID[id]) > 0 })
}

// Holds reports whether a participant has a proposal in the Book.
func (b *Book) Holds(who, id string) bool { return b.lives[key{who, id}] != nil }

// Linked finds the proposal that a request refers to by its id alone; nil if
// there is none. method must be the proposal's: any other request serves
// something else. Where several proposers use one id it is the one whose
// proposal is just what is requested, else the oldest.
func (b *Book) Linked(ids []string, method string, sum [32]byte) *Life {
	var found *Life
	for _, id := range ids {
		for _, l := range b.byID[id] {
			if l.Method == method && (found == nil || l.Sum == sum && found.Sum != sum) {
				found = l
			}
		}
	}
	return found
}

// Claimed: people are asked about a participant's request for it. What we had
// in mind ourselves is moot.
func (b *Book) Claimed(l *Life, r Run) []Act { return b.takes(l, claimed, r) }

// Taken: a participant requests it of another. Whether that comes to anything,
// Answered says.
func (b *Book) Taken(l *Life, r Run) []Act { return b.takes(l, taken, r) }

func (b *Book) takes(l *Life, ev event, r Run) []Act {
	b.begin()
	if b.move(l, ev) {
		b.runs(l, r)
		b.do(Noted{Life: l, Event: "taken", By: r.By, Moot: true})
	}
	return b.out
}

// Started: the request for it goes to our server, now. It reports false if it
// must not; then nothing may be written.
func (b *Book) Started(l *Life, r Run) ([]Act, bool) {
	b.begin()
	before := l.State
	if !b.move(l, started) {
		return nil, false
	}
	b.runs(l, r)
	if r.By != r.Runner && before != Claimed {
		b.do(Noted{Life: l, Event: "taken", By: r.By, Moot: true})
	}
	return b.out, true
}

func (b *Book) runs(l *Life, r Run) {
	b.forgetRun(l)
	l.Run, l.By, l.Runner, l.taken = r.ID, r.By, r.Runner, b.now
	if k := (key{l.Runner, l.Run}); b.byRun[k] == nil { // two callers may use one id
		b.byRun[k] = l
	}
}

func (b *Book) forgetRun(l *Life) {
	if k := (key{l.Runner, l.Run}); b.byRun[k] == l {
		delete(b.byRun, k)
	}
}

// Ended: the request for it that was served here has come to an end. fulfilled
// says whether its answer is a result.
func (b *Book) Ended(l *Life, run string, fulfilled bool) []Act {
	b.begin()
	if l.Run == run {
		b.end(l, fulfilled)
	}
	return b.out
}

func (b *Book) end(l *Life, fulfilled bool) {
	switch {
	case fulfilled && b.move(l, served):
		b.do(Noted{Life: l, Event: "fulfilled", By: l.Runner})
	case !fulfilled && b.move(l, failed):
		b.do(Noted{Life: l, Event: "unfulfilled", By: l.Runner})
	}
}

// Answered: an answer of another participant was seen that refers to requests,
// or, where the dialect knows such answers (direct), to a proposal itself (WIRE
// 7.8). It counts from whom the request was made to, or whom the proposal was
// addressed to; the others could claim anything.
func (b *Book) Answered(who string, refers []string, fulfilled, direct bool) []Act {
	b.begin()
	for _, id := range refers {
		if l := b.byRun[key{who, id}]; l != nil {
			b.end(l, fulfilled)
			return b.out
		}
	}
	for _, id := range refers {
		for _, l := range b.byID[id] {
			if direct && fulfilled && l.isFor(who) && b.move(l, settled) {
				b.forgetRun(l)
				l.Run, l.By, l.Runner = "", "", who
				b.do(Noted{Life: l, Event: "fulfilled", By: who, Moot: true})
			}
		}
	}
	return b.out
}
