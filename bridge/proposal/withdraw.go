package proposal

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// Left says that a participant is gone for good. sure is false where anybody may say that of
// anybody (FINDINGS A8): then nothing that they serve, or that they may serve before us,
// becomes ours.
func (b *Book) Left(who string, sure bool) []Act {
	b.begin()
	for _, l := range b.inOrder() {
		if l.Proposer == who && b.move(l, abandoned) {
			b.do(Noted{Life: l, Event: record.Withdrawn, Reason: "proposer_left", Moot: true})
		}
		if l.Proposer == who {
			b.dropKept(l) // nor does it come back
		}
		switch {
		case l.State != Running || !l.runsAt(who):
		case !sure:
			b.do(Noted{Life: l, Event: record.Security, Reason: "leave_unverified", By: who})
		case l.doubted:
			b.end(l, Spoilt) // they have answered, and may have done it
		default:
			b.end(l, Unserved) // as far as can be known (FINDINGS M9)
		}
		if sure {
			b.wontServe(l, who)
		}
	}
	return b.out
}

// Away says that we have lost our seat, so that we do not hear who takes a proposal.
func (b *Book) Away() {
	for _, l := range b.lives {
		l.Missed = l.Missed || l.Contested && !l.State.Over()
	}
}

// Withdrawn says that a participant takes a proposal back. Only its proposer can, and sender
// and id together name a proposal. If the proposal runs already, that is too late, which is
// no error (seed 002): the withdrawal counts if the run fails.
func (b *Book) Withdrawn(who, id, reason string) []Act {
	return b.takenBack(who, id, reason, false)
}

// Unwanted reports whether its proposer took a proposal back while somebody served it.
func (l *Life) Unwanted() bool { return l.unwanted != nil }

// Lapsed says that a participant declares the time of its proposal over.
func (b *Book) Lapsed(who, id, reason string) []Act { return b.takenBack(who, id, reason, true) }

func (b *Book) takenBack(who, id, reason string, lapsed bool) []Act {
	b.begin()
	l := b.lives[key{who, id}]
	loud := b.withdrawals.countOne(who, b.now)
	if l != nil {
		b.dropKept(l) // what somebody else has taken does not come back
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
	case b.withdrawals.firstUnknown(who):
		b.do(Noted{Life: &Life{ID: id}, Event: record.Dropped, Reason: "withdraw_unknown_proposal", By: who})
	}
	return b.out
}
