package proposal

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// A proposal is served by a request that refers to it. Ours is addressed to
// ourselves; others make theirs to us, or to somebody else. The first one
// counts, and another only when that one has failed (WIRE 8.1).

// A Run is such a request.
type Run struct {
	ID     string // of its envelope
	By     string // who makes it
	Runner string // whom it is addressed to
	Here   bool   // it is ours to serve, under whatever name we had then
	Reused Reuse  // whether its ID was that of another request before
}

// A Result is what came of a request for a proposal.
type Result uint8

const (
	Unserved Result = iota // nothing ran: it was refused, taken back, or nobody was there
	Spoilt                 // it ran, or may have, and there is no result
	Served                 // its answer is a result
)

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
	switch l.State {
	case Withdrawn:
		return BarWithdrawn
	case Expired:
		return BarExpired
	case Claimed, Running, Fulfilled:
		return BarAlready
	case Rejected, Failed:
		if l.Overdue(b.now) {
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

// ByItself reports whether a participant serves, or has served, a proposal by such a request
// of itself.
func (b *Book) ByItself(who, request string) bool {
	return slices.ContainsFunc(b.runs[request], func(l *Life) bool { return l.Runner == who && l.By == who })
}

// Linked finds the proposal that a request refers to by its id alone; nil if
// there is none. method and key must be the proposal's: any other request serves
// something else, whatever it claims. Arguments may differ, as whoever makes the
// request may have changed them (WIRE 7.8). Where several proposers use one id it
// is the one whose proposal is just what is requested, else the oldest.
func (b *Book) Linked(ids []string, method, key string, sum [32]byte) *Life {
	if len(key) > keyMax {
		key = ""
	}
	var found *Life
	for _, id := range ids {
		for _, l := range b.byID[id] {
			if l.Method == method && l.Key == key && (found == nil || l.Sum == sum && found.Sum != sum) {
				found = l
			}
		}
	}
	return found
}

// Claimed: people are asked about a participant's request for it. What we had
// in mind ourselves is moot.
func (b *Book) Claimed(l *Life, r Run) []Act { return b.takenBy(l, claimed, r) }

// Taken: a participant requests it of another. Whether that comes to anything,
// Answered says. What is put to some alone is taken by them alone: else anybody
// could end it with a request to somebody who will not answer.
func (b *Book) Taken(l *Life, r Run) []Act {
	if !l.MayServe(r.Runner) {
		b.begin()
		return b.out
	}
	return b.takenBy(l, taken, r)
}

func (b *Book) takenBy(l *Life, ev event, r Run) []Act {
	b.begin()
	b.keepUnjudged(l)
	if b.move(l, ev) {
		b.setRun(l, r)
		b.do(Noted{Life: l, Event: record.Taken, By: r.By, Moot: true})
	}
	return b.out
}

// Contends says that our own request for it is sent to everybody, and is served only when it
// is known that it came first. It reports false if the request must not be sent any more.
func (b *Book) Contends(l *Life) bool { return b.move(l, contends) }

// Started: the request for it goes to our server, now. It reports false if it
// must not; then nothing may be written.
func (b *Book) Started(l *Life, r Run) ([]Act, bool) {
	b.begin()
	before := l.State
	if r.By != r.Runner {
		b.keepUnjudged(l)
	}
	if !b.move(l, started) {
		return nil, false
	}
	b.setRun(l, r)
	if r.By != r.Runner && before != Claimed {
		b.do(Noted{Life: l, Event: record.Taken, By: r.By, Moot: true})
	}
	return b.out, true
}

func (b *Book) setRun(l *Life, r Run) {
	b.forgetRun(l)
	l.Run, l.By, l.Runner, l.here, l.taken, l.reused, l.doubted = r.ID, r.By, r.Runner, r.Here, b.now, r.Reused, false
	if b.lives[key{l.Proposer, l.ID}] != l {
		return // it was forgotten while the request was looked at
	}
	b.runs[r.ID] = append(b.runs[r.ID], l)
}

// Requested says that a participant makes a request with this id. If a proposal is being
// served under the same id, an answer may be to either.
func (b *Book) Requested(who, id string) {
	for _, l := range b.runs[id] {
		l.reused.Any = true
		l.reused.Same = l.reused.Same || who == l.By || who == l.Proposer
	}
}

// Ended: a request for it has come to an end, which is that of the proposal only if it is the one
// that counts. Anybody may have made another one of that id, of us or of somebody else, and one that
// came to nothing before it was Claimed or Started never counted.
func (b *Book) Ended(l *Life, r Run, how Result) []Act {
	b.begin()
	if l.Run == r.ID && l.By == r.By && l.here == r.Here {
		b.end(l, how)
	}
	return b.out
}

func (b *Book) end(l *Life, how Result) {
	switch {
	case how == Served && b.move(l, served):
		b.do(Noted{Life: l, Event: record.Fulfilled, By: l.Runner})
	case how == Unserved && b.mayReopen(l):
		b.reopen(l)
	case how != Served && b.move(l, failed):
		b.do(Noted{Life: l, Event: record.Unfulfilled, By: l.Runner})
		b.endUnwanted(l)
	}
}

// endUnwanted ends a failed proposal that its proposer took back while it ran.
func (b *Book) endUnwanted(l *Life) {
	if l.unwanted != nil && b.move(l, withdrawn) {
		b.do(Noted{Life: l, Event: record.Withdrawn, Reason: *l.unwanted, Moot: true})
	}
}

// Answered: an answer of another participant was seen that refers to requests,
// or, where the dialect knows such answers (direct), to a proposal itself (WIRE
// 7.8). It counts from whom the request was made to, or whom the proposal was
// addressed to; the others could claim anything. It counts only where it goes to who
// made the request or the proposal, or to nobody: anybody may make another request of
// the same id, and have that refused. So may they, and then a refusal may be of that.
func (b *Book) Answered(who string, to, refers []string, how Result, direct bool) []Act {
	b.begin()
	for _, id := range refers {
		for _, l := range b.runs[id] { // several may make requests of one id
			if !l.runsAt(who) || !l.hears(to) && !slices.Contains(to, l.By) {
				continue
			}
			if how == Served || !l.reused.Same && (len(to) > 0 || !l.reused.Any) {
				b.end(l, how)
			} else if l.State == Running && !l.doubted {
				l.doubted = true
				b.do(Noted{Life: l, Event: record.Security, Reason: "answer_to_one_of_several", By: who})
			}
			return b.out
		}
	}
	for _, id := range refers {
		for _, l := range b.byID[id] {
			if direct && how == Served && l.isFor(who) && l.hears(to) && b.move(l, settled) {
				b.forgetRun(l)
				l.Run, l.By, l.Runner = "", "", who
				b.do(Noted{Life: l, Event: record.Fulfilled, By: who, Moot: true})
			}
		}
	}
	return b.out
}

// Nobody: the gateway says that nobody was there for a request. It may speak of another
// frame of that id, so that says nothing of whom we know to be here, nor of who makes the
// request of themselves (FINDINGS A8).
func (b *Book) Nobody(run string) []Act {
	b.begin()
	for _, l := range slices.Clone(b.runs[run]) {
		runner, listed := b.others[l.Runner]
		here := listed && !runner.leaving || l.here
		if (l.State == Running || l.State == Claimed) && l.Runner != l.By && !here {
			b.end(l, Unserved)
		}
	}
	return b.out
}
