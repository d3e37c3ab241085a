package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A violation is a promise that was broken.
type violation struct {
	invariant, detail string
	at                time.Duration
}

func (v violation) String() string {
	return fmt.Sprintf("%v: %s: %s", v.at, v.invariant, v.detail)
}

// A checker watches the boundary of the bridge and has its own idea of what may
// cross it.
type checker struct {
	w          *scene
	violations []violation
	halting

	proc       *life // nil while there is none
	claims     map[envelopeKey]*claim
	order      []*claim
	asks       map[string]*asked // by the id of the envelope
	askOrder   []*asked
	everAsked  map[string]bool   // by the JSON-RPC ids, in any life
	newest     map[string]string // the newest ask, by question and person
	questions  map[string]*claim
	names      map[string]*claim
	letters    map[*byte]*letter // frames that were put, as they were read, by where they begin
	local      map[string]string // the digest shown at our own door, by question
	expecting  map[string][]*claim
	lines      map[string]*line // those the server of now has read or will read, by id
	answersOf  map[string][][]byte
	looking    looking
	used       map[string]int           // requests of others, by whom and under which id
	requesting map[string][]envelopeKey // requests that name an id
	untaken    map[string]bool          // ids of lines that could not be written
	versions   map[string]string        // of tools as last listed
	first      map[string]string        // and as first listed
	grants     []grant
	given      map[string]*planned  // by plans, by the id on record
	kept       map[string]time.Time // when those of them were made that were read back as this life began
	ungiven    map[string]bool      // grants of this life that ended because the disk did not take the yes
	revokedNow map[string]bool      // grants that were taken back in this life
	takenBack  map[string]bool      // grants of which this life has yet to put on record that they are taken back
	books      []*rulebook          // in force, one after the other
	listedLife int                  // of the server that listed its tools last
	listedAt   time.Duration        // when it did so
	firstAt    time.Duration        // when it did so first in its life
	met        bool                 // it did so once in this life of the bridge; until then nothing is judged
	notTakenAt time.Duration        // when a line could not be written last
	lostAt     time.Duration        // the seat was lost last
	echoAt     time.Duration        // a claim of ours came back last; 0: none has, in this life
	quietTill  time.Duration        // it was told to be quiet, at the latest
	stop       bool                 // it was told to stop

	filed      *rulebook                                // what the file says that is not in force, as far as is known
	filedAs    string                                   // the question whether it may be
	drafts     map[string]draft                         // what a passkey is to sign
	filedYes   bool                                     // which the person at this machine has said yes to
	streaks    map[streakKey]*streak                    // of refusals
	fill       map[string]map[envelopeKey]time.Duration // what was heard in each share, and when last
	missing    map[string]time.Duration                 // who was not on a roster, and has not been heard of since; and since when
	unlisted   map[string]bool                          // who has left, or was not on a roster, and has not joined since
	unreads    map[envelopeKey]int                      // requests and proposals that can be read in two ways, as often as each came
	twofold    []said                                   // such proposals of this life, as they may be read
	absences   map[string]*absence
	listedLate bool              // the last listing came after a sleep or when the bridge had given up, so that it may have passed it over
	firstSure  map[string]string // versions of tools by the first listing of which that is not so (seed 13761)
	listedSure map[string]string // versions of tools by the last listing of which that is not so
}

func newChecker(w *scene) *checker {
	c := &checker{w: w, everAsked: map[string]bool{}, claims: map[envelopeKey]*claim{}, unreads: map[envelopeKey]int{}, fill: map[string]map[envelopeKey]time.Duration{}}
	c.forget()
	return c
}

// forget is what a new life of the bridge begins with.
func (c *checker) forget() {
	c.halting = halting{haltedBy: map[*claim]bool{}}
	c.asks, c.newest, c.questions, c.names, c.local = map[string]*asked{}, map[string]string{}, map[string]*claim{}, map[string]*claim{}, map[string]string{}
	c.given, c.ungiven, c.takenBack, c.drafts = map[string]*planned{}, map[string]bool{}, map[string]bool{}, map[string]draft{}
	c.revokedNow = map[string]bool{}
	c.askOrder, c.grants, c.stop, c.met, c.letters = nil, nil, false, false, map[*byte]*letter{}
	c.versions, c.first, c.absences = map[string]string{}, map[string]string{}, map[string]*absence{}
	c.firstSure = map[string]string{}
	c.filed, c.filedAs, c.filedYes, c.echoAt, c.quietTill = nil, "", false, 0, 0
	c.streaks, c.missing, c.unlisted = map[streakKey]*streak{}, map[string]time.Duration{}, map[string]bool{}
	c.expecting, c.lines, c.answersOf = map[string][]*claim{}, map[string]*line{}, map[string][][]byte{}
	c.untaken, c.used, c.requesting, c.twofold = map[string]bool{}, map[string]int{}, map[string][]envelopeKey{}, nil
}

// blame says that a promise was broken. Only the first few are kept.
func (c *checker) blame(invariant, format string, a ...any) {
	v := violation{invariant, fmt.Sprintf(format, a...), c.w.now}
	c.w.trace.note(c.w.now, "VIOLATION", []byte(v.String()))
	if len(c.violations) < 10 {
		c.violations = append(c.violations, v)
	}
}

// stopped: there is no use in going on.
func (c *checker) stopped() bool { return len(c.violations) > 0 }

// reloaded: what waits for the server's start, or for the links of its path to be followed, is
// judged by the policy of that time (seed 13331).
func (c *checker) reloaded(b *rulebook) {
	if len(c.books) > 0 && c.inForce().surelyLooser(b) { // what is stricter in anything ends all plans that count; another is judged by it before it does (seed 15409)
		maps.DeleteFunc(c.given, func(_ string, l *planned) bool { return l.begun })
		c.grants = slices.DeleteFunc(c.grants, func(g grant) bool { return coversMore(g.keep) })
	}
	c.books = append(c.books, b)
	for _, cl := range c.order {
		if (!c.met || cl.tool == "note") && cl.proc == c.proc.number && cl.name == "" && cl.question == "" && cl.open() {
			c.judgedByNow(cl)
		}
	}
}

// judgedByNow: the policy in force is the first that a claim is judged by.
func (c *checker) judgedByNow(cl *claim) {
	cl.bookAt = len(c.books) - 1
	cl.book = c.books[cl.bookAt]
}

// booksSince are the policies in force since a claim was heard; an open question
// is tightened by each.
func (c *checker) booksSince(cl *claim) []*rulebook {
	return c.books[min(cl.bookAt, len(c.books)-1):]
}

// oursByProposal: a request without an addressee is ours if it names a proposal
// that is for us alone, where the dialect has it so (WIRE W-9).
func (c *checker) oursByProposal(s *said) bool {
	return len(s.to) == 0 && c.w.o.Protocol == "mew/v0.4" && slices.ContainsFunc(c.offersOf(s.corr), func(of *claim) bool { return of.forUsAlone() })
}

// waits: it may go on being known for longer, as its caller waits for its answer. What
// was never on record was never taken (seed 60011202).
func (cl *claim) waits() bool {
	return cl.open() && !cl.ended && !cl.ownWord() && cl.serves == nil && (cl.name != "" || cl.offer())
}

// open: its caller has had no answer yet.
func (cl *claim) open() bool { return cl.answers == 0 && !cl.over && !cl.denied }

// claimOf finds what a record is about.
func (c *checker) claimOf(from, env string) *claim { return c.claims[envelopeKey{from, env}] }

// held is how a policy treats a claim, whose tool may have changed: that was so when it
// was asked about, for a question does not outlive a change.
func (c *checker) held(cl *claim, b *rulebook) way {
	w := cl.terms(b)
	switch {
	case cl.method != "tools/call" && cl.method != planMethod || !c.surelyChanged(cl.tool):
	case b.pin == "block":
		return way{verdict: deny}
	case b.pin == "ask" && w.verdict == allow:
		return b.usual
	}
	return w
}

// busy: some question is open, some call is at the server.
func (c *checker) busy() (question, running bool) {
	for i := len(c.order) - 1; i >= 0 && i > len(c.order)-20; i-- {
		cl := c.order[i]
		if c.proc == nil || cl.proc != c.proc.number {
			continue
		}
		question = question || cl.asking()
		running = running || cl.started && cl.answers == 0 && !cl.over
	}
	return question, running
}

// A looking is when the bridge has looked at the tools of a server that may change them
// without a word: in the order of what the checker saw.
type looking struct {
	count  int           // of what it saw
	read   int           // when the listing that was answered last was asked for
	readAt time.Duration // when that was answered
	last   int           // when the last one was asked for
	asked  time.Duration // when the last listing was asked for
}

// inForce is the policy that calls are judged by.
func (c *checker) inForce() *rulebook { return c.books[len(c.books)-1] }

// offersOf are the proposals with an id, whoever made them; of one that was made
// again when it was forgotten, the last.
func (c *checker) offersOf(ids []string) (all []*claim) {
	for _, cl := range c.order {
		if cl.offer() && !cl.unkept && c.claims[cl.key()] == cl && c.proc != nil && cl.proc == c.proc.number && slices.Contains(ids, cl.id) {
			all = append(all, cl)
		}
	}
	return all
}

// mayBeKnown are those with an id that a request may be for: where one came again and
// nothing is on record of that, the one before may be known still, as after a sleep
// (seed 428034).
func (c *checker) mayBeKnown(ids []string) (all []*claim) {
	for _, of := range c.offersOf(ids) {
		if all = append(all, of); of.earlier != nil && !of.noted {
			all = append(all, of.earlier)
		}
	}
	return all
}

func (c *checker) changed(tool string) bool { return c.versions[tool] != c.first[tool] }

// surelyChanged: the bridge must know of it.
func (c *checker) surelyChanged(tool string) bool {
	first, known := c.firstSure[tool]
	return known && c.versions[tool] != first && c.changed(tool) && (!c.listedLate || c.listedSure[tool] != c.first[tool])
}

// mayHaveChanged: the tool need not be what it was when the claim was asked about.
func (c *checker) mayHaveChanged(cl *claim) bool {
	return c.versions[cl.tool] != cl.version || c.versions[cl.tool] != cl.surely
}

// everWay reports whether a policy since the claim was heard treats it so.
func (c *checker) everWay(cl *claim, so func(way) bool) bool {
	return slices.ContainsFunc(c.booksSince(cl), func(b *rulebook) bool { return so(cl.way(b)) })
}

// everNever: a policy since a claim was heard has proposals served by nobody.
func (c *checker) everNever(cl *claim) bool {
	return slices.ContainsFunc(c.booksSince(cl), func(b *rulebook) bool { return b.fulfil == "never" })
}

// notKnown: the bridge of now need not know that it had a call.
func (c *checker) notKnown(cl *claim) bool {
	return cl.unkept || cl.proc != c.proc.number || c.w.now-cl.since >= shortestKnown
}

// known: the bridge of now took a call itself, or found it on record when it began.
// What an earlier life refused because it could not record it is nowhere on record.
func (c *checker) known(cl *claim) bool {
	return cl.proc == c.proc.number || !cl.recAt.IsZero() && c.w.clock(c.proc).Sub(cl.recAt) < shortestKnown
}

// surelyForgotten: the bridge may not know any more that it had a call, be it that a sleep
// came between the call and its end.
func (c *checker) surelyForgotten(cl *claim) bool {
	return cl.proc == c.proc.number && !cl.waits() && c.w.now-max(cl.since, c.w.dozedAt) >= longestKnown
}

// shortestKnown is for how long at the least the bridge knows again what it has heard, or
// begun.
const shortestKnown = 15 * time.Minute

// longestKnown is for how long at the most the bridge knows again what it has heard,
// or begun.
const longestKnown = 21 * time.Minute

// watchedAtLeast is how long the bridge must know what became of a proposal.
const watchedAtLeast = 14 * time.Minute
