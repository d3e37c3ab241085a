package proposal

import "github.com/mcpx-protocol/mcpx-bridge/bridge/record"

// Offered takes a proposal that arrived. One that is in the Book already
// changes nothing.
func (b *Book) Offered(p Proposed) []Act {
	b.begin()
	if b.lives[key{p.Envelope.From, p.Envelope.ID}] != nil {
		return b.out
	}
	l := newLife(p, b.now, b.others)
	l.State = l.begins()
	if l.State != Watched && !b.concerned(l) {
		l.State = Watched
	}
	if !b.enter(l) {
		b.refuse(l, Busy, "no more proposals can be remembered now")
		return b.out
	}
	b.do(Noted{Life: l, Event: record.Proposed})
	switch {
	case l.Overdue(b.now):
		b.expire(l)
	case l.State == Waiting:
		b.wait(l)
	case l.State == Pending:
		b.consider(l)
	}
	l.trim()
	b.wakeFor(l)
	return b.out
}

// expire ends a proposal whose time is over.
func (b *Book) expire(l *Life) {
	b.move(l, overdue)
	b.do(Noted{Life: l, Event: record.Expired, Reason: "ttl", Moot: true})
	if l.Announced {
		b.do(Refused{Life: l, Reason: Timeout, Detail: "ttl", Told: true})
	}
}

// concerned reports whether we would serve a proposal, or refuse it aloud.
func (b *Book) concerned(l *Life) bool {
	return l.Targeted || b.rules.Broadcast || b.rejectsUntargeted(l)
}

// rejectsUntargeted reports whether we send a reject for a proposal that is not addressed
// to us.
func (b *Book) rejectsUntargeted(l *Life) bool { return b.rules.RejectUntargeted || b.rejectHelps(l) }

// rejectHelps reports whether a reject of ours does no harm. Stock proposers give up at the
// first reject (WIRE 7.8), so it does none if nobody else could serve the proposal, or if
// the proposer counts rejects.
func (b *Book) rejectHelps(l *Life) bool {
	return b.rules.RejectWhereItHelps && !l.Named && (l.CountsRejects || b.nobodyElse(l))
}

// nobodyElse reports whether nobody in the topic could serve a proposal but we.
func (b *Book) nobodyElse(l *Life) bool {
	for who, o := range b.others {
		if who != l.Proposer && !o.leaving && o.caps.CouldServe(l.Method) {
			return false
		}
	}
	return true
}

// Tells reports whether the proposer of a proposal that we could serve is to be sent a
// reject if we do not.
func (b *Book) Tells(l *Life) bool { return l.offer.QuickReject && !l.Targeted && b.rejectHelps(l) }

// MayServe reports whether the rules let us serve a proposal at all.
func (b *Book) MayServe(l *Life) bool { return l.Targeted || b.rules.Broadcast }

// wait leaves a proposal to the participants that its proposer prefers, until it is our turn.
func (b *Book) wait(l *Life) {
	until, fallback := l.othersFirst()
	switch {
	case !fallback:
		b.leaveToOthers(l, "others are to serve it, and nobody else may")
	case !b.hold(l, l.Envelope):
		b.refuse(l, Busy, "the proposals that wait fill too many bytes already")
	default:
		l.waits = until
		b.do(Waits{l})
	}
}

// consider has the Engine judge a proposal, unless it is clear already that we do not serve
// it.
func (b *Book) consider(l *Life) {
	switch {
	case l.wrong != nil:
		b.refuse(l, Invalid, l.wrong.Error())
	case l.lacks != "":
		b.refuse(l, Incapable, "we do not offer "+l.lacks)
	case !b.concerned(l):
		b.leaveToOthers(l, "it is addressed to nobody")
	case b.runsAlready(l):
		b.refuse(l, Duplicate, "the same of the same proposer is being served")
	default:
		b.do(Consider{l})
	}
}

func (b *Book) runsAlready(l *Life) bool {
	for _, all := range b.runs {
		for _, other := range all {
			if other.Proposer == l.Proposer && other.State == Running && other.Sum == l.Sum {
				return true
			}
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

// refuse ends a proposal here. Its proposer is told only if it asked for rejects and the
// proposal is addressed to us, or if it was told that we may serve it: stock proposers give
// up at the first reject, whoever it comes from (WIRE 7.8).
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

// Leave says that what was to be judged is left to others. Nobody is told; why goes on record.
func (b *Book) Leave(l *Life, why string) []Act {
	b.begin()
	b.leaveToOthers(l, why)
	return b.out
}

func (b *Book) leaveToOthers(l *Life, why string) {
	if b.move(l, passed) {
		b.do(Refused{Life: l, Reason: LeftToOthers, Detail: why})
	}
}

// Asked says that people are being asked whether we are to serve it.
func (b *Book) Asked(l *Life) { b.move(l, asked) }

// Rejected says that another participant will not serve a proposal. If several have this id,
// it counts for each that waits for that participant, of those it is said to; to is nil for all.
// The reason does not matter.
func (b *Book) Rejected(who string, to []string, id string) []Act {
	b.begin()
	for _, l := range b.byID[id] {
		if l.hears(to) {
			b.wontServe(l, who)
		}
	}
	return b.out
}

func (b *Book) wontServe(l *Life, who string) {
	if l.noneLeftToWaitFor(who) && b.move(l, due) {
		b.consider(l)
	}
}
