package proposal

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A Life is one proposal and what has become of it. Its fields are for reading;
// the Book alone changes them, but for those of which it says that the Engine sets them.
type Life struct {
	Proposer, ID string // ID is that of the envelope; another proposer may use it too
	Method, Key  string // what is proposed
	Style        wire.Style
	State        State
	Targeted     bool     // addressed to us: by the envelope, or by preference
	Named        bool     // addressed to somebody by the envelope
	Sole         string   // the only one it is addressed to; "" if there are several, or nobody
	Sum          [32]byte // see Proposed

	Run    string // envelope id of the request for it that counts
	Runner string // the participant that was asked
	By     string // and who asked

	// Envelope is the proposal as it came, as long as we may yet serve it.
	Envelope *wire.Envelope

	// Announced says that the proposer was told that we may serve it, so that
	// silence would not do any more. The Engine sets it.
	Announced bool

	// Said are the words that go with our refusal, "" for none: those of SaidBy, who decided, or
	// if that is "" of our owner. The Engine sets them.
	Said, SaidBy string

	Why           string    // the proposer wants it, in its own words; what stands beside the arguments, the Engine sets
	Terms         Terms     // what it says of who should serve it, and until when
	CountsRejects bool      // the proposer hears a reject as one of many
	HearsWaiting  bool      // the proposer reads whom it waits for
	WantsResponse bool      // the proposer asked to be told whether we serve it
	Until         time.Time // when the proposer loses interest; zero: never

	// Contested: others may serve it too, so that the room's order decides who does.
	Contested bool
	// Missed: we were away while somebody may have taken it up.
	Missed bool

	offer    wire.Offer
	to       []string // whom it is addressed to, or who is preferred; nobody: everybody
	before   []string // those preferred whose turn comes before ours
	turn     int      // how many the list has before us, here or not
	only     bool     // nobody but those in to may serve it
	wrong    error    // why it cannot be read
	lacks    string   // the first of its required_capabilities that we do not offer, in quotes
	order    uint64
	since    time.Time       // of receipt
	waits    time.Time       // while it waits for others
	refusing map[string]bool // those of the preferred who will not serve it
	kept     *wire.Envelope  // while somebody else serves what was put to us: what to judge if that comes to nothing
	held     int             // bytes of its envelope that count, while it waits or is kept
	turnAt   time.Time       // until when it waits for others, if it comes back and there is one left; over or zero: it does not
	reopened int             // how often it came back
	here     bool            // the request that counts is ours to serve
	taken    time.Time       // when it was made
	reused   Reuse           // its id is that of others too
	doubted  bool            // and an answer came that may be to one of those, which is on record
	unwanted *string         // why its proposer took it back while it ran; nil if it did not
	ended    time.Time       // when it was over
}

// Terms are what a proposal says of who should serve it, for the record.
type Terms struct {
	Preferred []string // the first few
	Exclusive bool
	TTL       time.Duration // 0: no end, below 0: over
}

// preferredShown is how many of those who are preferred stand on record.
const preferredShown = 16

// A Proposed is a proposal as it arrives.
type Proposed struct {
	Envelope *wire.Envelope
	Offer    wire.Offer
	Wrong    error  // of reading the Offer; such a proposal is refused where it is addressed to us
	Me       string // our participant id
	Lacks    string // the first of its required_capabilities that we do not offer, in quotes; "" if we offer all

	Sum [32]byte // of what is proposed: equal for those, and only those, that ask for the same
}

// keyMax is how many bytes of a tool's name or a resource's URI are kept.
const keyMax = 4096

// An other is another participant.
type other struct {
	caps    wire.Caps // what it may send
	leaving bool      // it is about to be gone
}

// A Reuse says that an envelope id is that of several requests. Anybody may use one
// again, and an answer says no more of which it is for (FINDINGS A9).
type Reuse struct {
	Same bool // of those who made the request or the proposal
	Any  bool // of anybody
}

// trim drops the frame of a proposal that we shall not judge any more, and the lists that
// only that needs. Everything else in a Life is a copy.
func (l *Life) trim() {
	if l.State != Waiting {
		l.offer.Preferred, l.offer.Needs = nil, nil
	}
	if l.State != Waiting && l.State != Pending {
		l.Envelope, l.offer.Params = nil, nil
	}
}

// newLife reads to whom a proposal is addressed. The envelope's word comes
// before the hints of the payload, and those hold for nobody but us (WIRE 7.8).
func newLife(p Proposed, now time.Time, others map[string]other) *Life {
	env := p.Envelope
	if len(p.Offer.Key) > keyMax {
		p.Offer.Key = "" // it fits into no kind anyway
	}
	p.Offer.Method, p.Offer.Key = strings.Clone(p.Offer.Method), strings.Clone(p.Offer.Key)
	l := &Life{Proposer: strings.Clone(env.From), ID: strings.Clone(env.ID), Method: p.Offer.Method, Key: p.Offer.Key,
		Style: p.Offer.Style, Sum: p.Sum, Envelope: env, offer: p.Offer, WantsResponse: p.Offer.WantsResponse, CountsRejects: p.Offer.CountsRejects, HearsWaiting: p.Offer.HearsWaiting, Why: strings.Clone(p.Offer.Reason), wrong: p.Wrong, lacks: p.Lacks, since: now}
	l.to = p.Offer.Preferred
	l.Named = len(env.To) > 0
	if l.Named {
		l.to = nil
		for _, id := range env.To {
			l.to = append(l.to, strings.Clone(id))
		}
	}
	l.Targeted = slices.Contains(l.to, p.Me)
	if len(l.to) == 1 {
		l.Sole = l.to[0]
	}
	l.Terms = Terms{Exclusive: p.Offer.Exclusive, TTL: p.Offer.TTL}
	for _, id := range p.Offer.Preferred[:min(len(p.Offer.Preferred), preferredShown)] {
		l.Terms.Preferred = append(l.Terms.Preferred, strings.Clone(id))
	}
	l.only = len(env.To) > 0 || p.Offer.Exclusive && !p.Offer.FallbackToBroadcast
	l.Contested = !l.only || l.Sole == ""
	if len(env.To) == 0 && l.Targeted {
		l.queue(p, others)
	}
	if p.Offer.TTL != 0 {
		l.Until = now.Add(p.Offer.TTL)
	}
	return l
}

// queue finds out whose turn comes before ours: a list of those who are preferred is
// an order. Who is not here does not count.
func (l *Life) queue(p Proposed, others map[string]other) {
	l.turn = slices.Index(p.Offer.Preferred, p.Me)
	for _, id := range p.Offer.Preferred[:l.turn] {
		if _, here := others[id]; here {
			l.before = append(l.before, id)
		}
	}
}

// Before reports whether one of two who would serve it comes before the other,
// where nothing else tells: in the order of its list, else of their ids.
func (l *Life) Before(one, other string) bool {
	x, y := slices.Index(l.to, one), slices.Index(l.to, other)
	if x < 0 {
		x = len(l.to)
	}
	if y < 0 {
		y = len(l.to)
	}
	return x < y || x == y && one < other
}

// able are those who alone may serve it; nil for everybody.
func (l *Life) able() []string {
	if l.only {
		return l.to
	}
	return nil
}

// MayServe reports whether the proposal leaves it to a participant, among others or alone.
func (l *Life) MayServe(id string) bool {
	able := l.able()
	return able == nil || slices.Contains(able, id)
}

// begins is the state a proposal starts in, as far as that depends on it alone.
func (l *Life) begins() State {
	switch {
	case l.Targeted && len(l.before) > 0 && l.wrong == nil && l.lacks == "":
		return Waiting
	case l.Targeted:
		return Pending
	case len(l.Envelope.To) > 0:
		return Watched
	case l.wrong != nil || l.lacks != "":
		return Pending // to be refused, if anything
	case len(l.offer.Preferred) > 0:
		return Waiting
	}
	return Pending
}

// isFor reports whether a proposal is addressed to a participant.
func (l *Life) isFor(who string) bool {
	if len(l.to) == 0 {
		return who != l.Proposer
	}
	return slices.Contains(l.to, who)
}

// hears reports whether what goes to those goes to its proposer: what goes to others alone is
// of something of theirs that has the same id.
func (l *Life) hears(to []string) bool { return len(to) == 0 || slices.Contains(to, l.Proposer) }

// runsAt reports whether the request that counts is another participant's to serve. Somebody may have
// the name that we had when ours was made.
func (l *Life) runsAt(who string) bool { return l.Runner == who && !l.here }

// othersFirst returns when others than the preferred may serve it, and whether they may at
// all. An exclusive proposal waits until then in any case; another one only until all the
// preferred have refused.
//
// Those who are preferred come in their order and have, together, the time before
// others may: of three each waits a third of it longer than the one before.
func (l *Life) othersFirst() (time.Time, bool) {
	if l.Targeted {
		share := l.offer.FallbackAfter
		if l.offer.Exclusive {
			share = l.offer.ExclusiveFor
		}
		return l.since.Add(share / time.Duration(len(l.to)) * time.Duration(l.turn)), true
	}
	if l.offer.Exclusive {
		return l.since.Add(l.offer.ExclusiveFor), l.offer.FallbackToBroadcast
	}
	return l.since.Add(l.offer.FallbackAfter), true
}

// noneLeftToWaitFor notes that a participant will not serve it, also while somebody else does, and
// reports whether that was the last one to wait for.
func (l *Life) noneLeftToWaitFor(who string) bool {
	l.before = slices.DeleteFunc(l.before, func(id string) bool { return id == who })
	if slices.Contains(l.to, who) {
		if l.refusing == nil {
			l.refusing = map[string]bool{}
		}
		l.refusing[who] = true
	}
	return l.State == Waiting && !l.waitsForSomebody()
}

// waitsForSomebody reports whether there is anybody whose turn comes before ours.
func (l *Life) waitsForSomebody() bool {
	if l.Targeted {
		return len(l.before) > 0
	}
	return l.offer.Exclusive || slices.ContainsFunc(l.to, func(id string) bool { return !l.refusing[id] })
}

// Overdue reports whether its proposer has lost interest by now.
func (l *Life) Overdue(now time.Time) bool { return !l.Until.IsZero() && !now.Before(l.Until) }

// next is when time alone changes how it stands; zero: never.
func (l *Life) next() time.Time {
	switch l.State {
	case Waiting:
		return earliest(l.waits, l.Until)
	case Watched, Pending, Asking, Contending:
		return l.Until
	}
	return time.Time{}
}

// earliest is the earlier of two times, of which zero is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
