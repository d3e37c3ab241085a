package proposal

import (
	"cmp"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// Options bound a Book.
type Options struct {
	Max      int              // proposals remembered at one time; default 1024, a quarter of them of one proposer
	MaxBytes int              // bytes of those that wait for others; default 32 MiB
	Alone    func(*Life) bool // reports whether nobody else in the topic could serve it; nil: somebody could
	Keep     time.Duration    // how long one that is over is remembered; default 15 min
}

// How long a proposal is remembered that others may serve, or do; and how often
// what need not be remembered any more is looked for.
const (
	watchedFor = time.Hour
	sweepEvery = time.Minute
)

// Rules are what the owner's policy says about proposals. They may change; what
// waits is held against those of the moment at which its wait is over.
type Rules struct {
	Broadcast          bool // those that are addressed to nobody are ours as well
	RejectUntargeted   bool // we refuse aloud what is not addressed to us, too
	RejectWhereItHelps bool // the same where nobody else could serve it, or its proposer counts rejects
}

// A Book keeps the lives of proposals. The times it is given must not run
// backwards. It is not safe for use by more than one goroutine at a time.
type Book struct {
	o     Options
	rules Rules

	now   time.Time
	out   []Act     // of the event in hand
	swept time.Time // what could be forgotten was looked for

	count uint64
	lives map[key]*Life
	byID  map[string][]*Life // oldest first
	byRun map[key]*Life      // by who serves it, and the request
	runs  map[string][]*Life // by the request alone
	each  map[string]int     // lives of each proposer
	bytes int                // of the envelopes that wait
	wake  time.Time          // time alone changes none before; zero: none ever
	chat  chatter
}

// A key is a participant and an id that only it may use again.
type key struct{ who, id string }

// NewBook returns an empty Book.
func NewBook(o Options) *Book {
	o.Max, o.MaxBytes, o.Keep = cmp.Or(o.Max, 1024), cmp.Or(o.MaxBytes, 32<<20), cmp.Or(o.Keep, 15*time.Minute)
	return &Book{o: o, lives: map[key]*Life{}, byID: map[string][]*Life{}, byRun: map[key]*Life{}, runs: map[string][]*Life{}, each: map[string]int{},
		chat: chatter{}}
}

// SetRules puts other rules in force.
func (b *Book) SetRules(r Rules) { b.rules = r }

// begin starts the acts of one event. They are the caller's to keep, for
// carrying them out leads back here.
func (b *Book) begin() { b.out = nil }

func (b *Book) do(a Act) { b.out = append(b.out, a) }

// Next is when the Book wants a Tick at the latest; zero: never.
func (b *Book) Next() time.Time { return b.wake }

// Offered takes a proposal that arrived. One that is in the Book already
// changes nothing.
func (b *Book) Offered(p Proposed) []Act {
	b.begin()
	if b.lives[key{p.Envelope.From, p.Envelope.ID}] != nil {
		return b.out
	}
	l := newLife(p, b.now)
	l.State = l.begins()
	if l.State != Watched && !b.concerned(l) {
		l.State = Watched
	}
	if !b.enter(l) {
		b.refuse(l, Busy, "no more proposals can be remembered now")
		return b.out
	}
	b.do(Noted{Life: l, Event: record.Proposed})
	switch l.State {
	case Waiting:
		b.wait(l)
	case Pending:
		b.consider(l)
	}
	l.slim()
	b.wakeFor(l)
	return b.out
}

// concerned reports whether we would serve a proposal, or refuse it aloud.
func (b *Book) concerned(l *Life) bool {
	return l.Targeted || b.rules.Broadcast || b.rejectsUntargeted(l)
}

// rejectsUntargeted: whoever proposes it hears our no though it names nobody.
func (b *Book) rejectsUntargeted(l *Life) bool { return b.rules.RejectUntargeted || b.helps(l) }

// helps reports whether our no is no harm: stock proposers take the first for the last
// (WIRE 7.8), which it is where nobody else could serve it.
func (b *Book) helps(l *Life) bool {
	return b.rules.RejectWhereItHelps && !l.Named && (l.CountsRejects || b.o.Alone != nil && b.o.Alone(l))
}

// Tells reports whether its proposer is to hear that we will not serve what we could.
func (b *Book) Tells(l *Life) bool { return l.offer.QuickReject && !l.Targeted && b.helps(l) }

// MayServe reports whether the rules let us serve a proposal at all.
func (b *Book) MayServe(l *Life) bool { return l.Targeted || b.rules.Broadcast }

// wait leaves a proposal to those whom its proposer prefers, for a while.
func (b *Book) wait(l *Life) {
	until, fallback := l.hinders()
	switch {
	case !fallback:
		b.pass(l, "others are to serve it, and nobody else may")
	case b.bytes+l.size() > b.o.MaxBytes:
		b.refuse(l, Busy, "the proposals that wait fill too many bytes already")
	default:
		l.waits = until
		b.bytes += l.size()
		b.do(Waits{l})
	}
}

// consider gives a proposal to the Engine, unless it can be seen here that we
// do not serve it.
func (b *Book) consider(l *Life) {
	switch {
	case l.wrong != nil:
		b.refuse(l, Invalid, l.wrong.Error())
	case l.lacks != "":
		b.refuse(l, Incapable, "we do not offer "+l.lacks)
	case !b.concerned(l):
		b.pass(l, "it is addressed to nobody")
	case b.runsAlready(l):
		b.refuse(l, Duplicate, "the same of the same proposer is being served")
	default:
		b.do(Consider{l})
	}
}

func (b *Book) runsAlready(l *Life) bool {
	for _, other := range b.byRun {
		if other.Proposer == l.Proposer && other.State == Running && other.Sum == l.Sum {
			return true
		}
	}
	return false
}

// Refuse says that we do not serve what was to be judged, or what people were
// asked about. reason is one of the words for it; detail says exactly why.
func (b *Book) Refuse(l *Life, reason, detail string) []Act {
	b.begin()
	b.refuse(l, reason, detail)
	return b.out
}

// refuse speaks up only where that is wanted: stock proposers give up at the
// first reject, whoever it comes from (WIRE 7.8).
func (b *Book) refuse(l *Life, reason, detail string) {
	told := l.offer.QuickReject && (l.Targeted || b.rejectsUntargeted(l)) || l.Announced
	how := passed
	if told {
		how = refused
	}
	if b.move(l, how) {
		b.do(Refused{Life: l, Reason: reason, Detail: detail, Told: told})
	}
}

// Leave leaves to others what was to be judged, without a word.
func (b *Book) Leave(l *Life, why string) []Act {
	b.begin()
	b.pass(l, why)
	return b.out
}

func (b *Book) pass(l *Life, why string) {
	if b.move(l, passed) {
		b.do(Refused{Life: l, Reason: LeftToOthers, Detail: why})
	}
}

// Asked: people are asked whether we are to serve it.
func (b *Book) Asked(l *Life) { b.move(l, asked) }

// Rejected: another participant will not serve a proposal. Of those with the
// same id it is any that waits for it; which reason it gives does not matter.
func (b *Book) Rejected(who, id string) []Act {
	b.begin()
	for _, l := range b.byID[id] {
		b.free(l, who)
	}
	return b.out
}

// Left: a participant is gone for good. Where that is not sure, as anybody may say so of
// anybody (FINDINGS A8), it makes nothing ours that they have, or that is theirs first.
func (b *Book) Left(who string, sure bool) []Act {
	b.begin()
	for _, l := range b.inOrder() {
		if l.Proposer == who && b.move(l, abandoned) {
			b.do(Noted{Life: l, Event: record.Withdrawn, Reason: "proposer_left", Moot: true})
		}
		if l.Proposer == who {
			b.unlend(l) // nor does it come back
		}
		switch {
		case l.State != Running || l.Runner != who:
		case !sure:
			b.do(Noted{Life: l, Event: record.Security, Reason: "leave_unverified", By: who})
		case l.doubted:
			b.end(l, Spoilt) // they have answered, and may have done it
		default:
			b.end(l, Unserved) // as far as can be known (FINDINGS M9)
		}
		if sure {
			b.free(l, who)
		}
	}
	return b.out
}

func (b *Book) free(l *Life, who string) {
	if l.freed(who) && b.move(l, due) {
		b.consider(l)
	}
}

// Away: what others make of proposals is not heard for a while.
func (b *Book) Away() {
	for _, l := range b.lives {
		l.Missed = l.Missed || l.Contested && !l.State.Over()
	}
}

// Withdrawn: a participant takes a proposal back. Only its proposer can; which
// is all that must be checked, since id and sender name it together. It comes
// too late for what is running, which is no error (seed 002); it counts when that
// comes to nothing.
func (b *Book) Withdrawn(who, id, reason string) []Act {
	return b.ends(who, id, reason, false)
}

// Lapsed: a participant says that the time of its proposal is over.
func (b *Book) Lapsed(who, id, reason string) []Act { return b.ends(who, id, reason, true) }

func (b *Book) ends(who, id, reason string, lapsed bool) []Act {
	b.begin()
	l := b.lives[key{who, id}]
	loud := b.chat.hears(who, b.now)
	if l != nil {
		b.unlend(l) // what somebody else has taken does not come back
	}
	switch {
	case l != nil && lapsed && b.move(l, overdue):
		b.do(Noted{Life: l, Event: record.Expired, Reason: reason, Moot: true, Quiet: !loud})
	case l != nil && b.move(l, withdrawn):
		b.do(Noted{Life: l, Event: record.Withdrawn, Reason: reason, Moot: true, Quiet: !loud})
	case l != nil && l.State == Running && l.unwanted == nil:
		l.unwanted = new(strings.Clone(reason))
	case l != nil || !loud:
	case len(b.byID[id]) > 0:
		b.do(Noted{Life: b.byID[id][0], Event: record.Security, Reason: "withdraw_not_proposer", By: who})
	case b.chat.unknown(who):
		b.do(Noted{Life: &Life{ID: id}, Event: record.Dropped, Reason: "withdraw_unknown_proposal", By: who})
	}
	return b.out
}
