package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
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
	used       map[string]int    // requests of others, by whom and under which id
	untaken    map[string]bool   // ids of lines that could not be written
	versions   map[string]string // of tools as last listed
	first      map[string]string // and as first listed
	grants     []grant
	kept       map[string]bool // which of them were read back when this life began
	books      []*rulebook     // in force, one after the other
	listedLife int             // of the server that listed its tools last
	notTakenAt time.Duration   // when a line could not be written last
	lostAt     time.Duration   // the seat was lost last
	echoAt     time.Duration   // a claim of ours came back last; 0: none has, in this life
	quietTill  time.Duration   // it was told to be quiet, at the latest
	stop       bool            // it was told to stop
	leaving    bool            // and that it must leave

	filed      *rulebook                                // what the file says that is not in force, as far as is known
	filedAs    string                                   // the question whether it may be
	filedYes   bool                                     // which the person at this machine has said yes to
	streaks    map[streakKey]*streak                    // of refusals
	fill       map[string]map[envelopeKey]time.Duration // what was heard in each share, and when last
	missing    map[string]bool                          // who was not on a roster, and has not been heard of since
	unlisted   map[string]bool                          // who has left, or was not on a roster, and has not joined since
	unreads    map[envelopeKey]int                      // requests and proposals that can be read in two ways, as often as each came
	absences   map[string]*absence
	listedLate bool              // the last listing came so late, after a sleep or when the bridge had given up, that it may have passed it over
	listedSure map[string]string // versions of tools by the last listing of which that is not so
}

func newChecker(w *scene) *checker {
	c := &checker{w: w, everAsked: map[string]bool{}, claims: map[envelopeKey]*claim{}, unreads: map[envelopeKey]int{}, fill: map[string]map[envelopeKey]time.Duration{}}
	c.forget()
	return c
}

// forget is what a new life of the bridge begins with.
func (c *checker) forget() {
	c.asks, c.newest, c.questions, c.names, c.local = map[string]*asked{}, map[string]string{}, map[string]*claim{}, map[string]*claim{}, map[string]string{}
	c.askOrder, c.grants, c.stop, c.leaving, c.letters = nil, nil, false, false, map[*byte]*letter{}
	c.versions, c.first, c.absences = map[string]string{}, map[string]string{}, map[string]*absence{}
	c.filed, c.filedAs, c.filedYes, c.echoAt, c.quietTill = nil, "", false, 0, 0
	c.streaks, c.missing, c.unlisted = map[streakKey]*streak{}, map[string]bool{}, map[string]bool{}
	c.expecting, c.lines, c.answersOf = map[string][]*claim{}, map[string]*line{}, map[string][][]byte{}
	c.untaken, c.used = map[string]bool{}, map[string]int{}
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

// begun and ended are the lives of the bridge.
func (c *checker) begun(l *life, b *rulebook) {
	c.proc, c.books = l, []*rulebook{b}
	lasting := c.lasting()
	c.forget()
	c.grants = lasting
}

// remembered: this is what the log knows when the bridge begins anew. What a
// power cut took from it may happen again.
func (c *checker) remembered(calls []*remnant) {
	for _, cl := range c.order {
		cl.recAt = time.Time{}
	}
	for _, r := range calls {
		if cl := c.claimOf(r.from, r.env); cl != nil && c.w.wall().Sub(cl.recAt) >= 15*time.Minute {
			cl.recAt = r.at
			if now := c.w.wall(); r.at.After(now) { // the clock was put back since
				cl.recAt = now
			}
		}
	}
}

func (c *checker) ended() {
	for _, cl := range c.order {
		if cl.proc == c.proc.number && cl.excused == "" {
			cl.excused = "the bridge ended"
		}
	}
	c.proc = nil
}

func (c *checker) reloaded(b *rulebook) { c.books = append(c.books, b) }

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

func (c *checker) stopping() { c.stop = true }

func (c *checker) seated(here []wire.Participant) {
	for _, id := range everybody {
		listed := slices.ContainsFunc(here, func(h wire.Participant) bool { return h.ID == id })
		if !listed {
			c.refuses(id, nil)
		}
		c.missing[id] = c.missing[id] || !listed
		c.unlisted[id] = !listed
		c.absent(id, !listed, false)
	}
}

func (cl *claim) callerLeft() {
	if cl.answers == 0 && cl.excused == "" {
		cl.excused = "its caller left"
	}
}

func (c *checker) leaves(id string) {
	c.goesAway(id)
	c.refuses(id, nil)
}

// countsAsGone: the bridge waits for somebody no more, who has left. Up to then they are
// owed their answers.
func (c *checker) countsAsGone(id string) {
	for _, cl := range c.order {
		if cl.from == id {
			cl.callerLeft()
			cl.proposerGone = cl.offer()
		}
	}
}

// heard sees a frame that the bridge is about to get.
func (c *checker) heard(f *frame) {
	s := &f.said
	if !s.broken {
		c.seen(s.from)
	}
	c.fills(s)
	c.quiets(f)
	switch {
	case s.broken:
		c.mayBeNo(f.raw)
	case s.from == us:
		c.cameBack(s)
	case s.kind == wire.Failure:
		c.unserved(s)
	case s.turns:
		c.turnedDown(s)
	case s.lures:
		c.lured(s)
	case s.rivals():
		c.rivalled(s)
	case s.kind == wire.Request:
		c.concerns(s)
		c.request(s)
	case s.kind == wire.Proposal:
		c.proposed(s)
	case s.kind == wire.Withdraw:
		c.withdrawn(s)
	case s.kind == wire.Reject:
		c.refuses(s.from, s.corr)
	case s.kind == wire.Response:
		c.concerns(s)
		c.vote(s)
	case s.kind == wire.Notification && s.method == "notifications/cancelled":
		c.cancel(s)
	case s.kind == wire.Presence && s.method == "join":
		c.seen(s.tool)
		delete(c.unlisted, s.tool)
		c.void(func(a *asked) bool { return a.to == s.tool })
	case s.kind == wire.Presence && s.method == "leave":
		c.absent(s.tool, true, false) // not by the bridge's own word, which would excuse it
		c.leaves(s.tool)
		c.unlisted[s.tool] = true // until they join, whatever they say; but for what they say at once, which is passed over here
	}
}

// request takes a request into the books, unless it was heard before.
func (c *checker) request(s *said) {
	if s.toUs() || c.oursByProposal(s) {
		c.enter(s)
	}
}

// oursByProposal: a request without an addressee is ours if it names a proposal
// that is for us alone, where the dialect has it so (WIRE W-9).
func (c *checker) oursByProposal(s *said) bool {
	return len(s.to) == 0 && c.w.o.Protocol == "mew/v0.4" && slices.ContainsFunc(c.offersOf(s.corr), func(of *claim) bool { return of.forUsAlone() })
}

func (s *said) toUs() bool  { return len(s.to) == 1 && s.to[0] == us }
func (s *said) offer() bool { return s.kind == wire.Proposal }

// enter takes what is asked for into the books; nil if it was heard before.
func (c *checker) enter(s *said) *claim {
	if old := c.claims[s.key()]; old != nil && !old.unkept {
		if old.proc == c.proc.number && (c.w.now-old.since < 15*time.Minute || old.waits()) {
			old.again = c.w.now-old.since >= 15*time.Minute || old.mayBePassedOver()
			return nil
		}
		if old.proc != c.proc.number && !old.recAt.IsZero() && c.w.clock(c.proc).Sub(old.recAt) < 15*time.Minute {
			return nil
		}
	}
	cl := &claim{said: *s, proc: c.proc.number, heardAt: c.w.now, since: c.w.now, expect: s.args}
	c.judgedByNow(cl)
	cl.vias, cl.earlier = c.viasOf(cl), c.claims[s.key()]
	switch {
	case !s.perfect:
		cl.excused = "it was made by the attacker"
	case cl.earlier != nil && !(cl.earlier.unkept && cl.earlier.proc == c.proc.number) && !c.surelyForgotten(cl.earlier): // another life finds what it had refused on record, and knows it
		cl.excused = "it was made before, and may be remembered for longer than it must"
	}
	if _, spent := c.unreads[s.key()]; spent && cl.excused == "" {
		cl.excused = "its id was used for a frame that could be read in two ways"
	}
	cl.order = len(c.order)
	c.claims[s.key()] = cl
	c.order = append(c.order, cl)
	return cl
}

// waits: it may go on being known for longer, as its caller waits for its answer. What
// was never on record was never taken (seed 60011202).
func (cl *claim) waits() bool {
	return cl.open() && !cl.ended && !cl.ownWord() && cl.serves == nil && (cl.name != "" || cl.offer())
}

// open: its caller has had no answer yet.
func (cl *claim) open() bool { return cl.answers == 0 && !cl.over && !cl.denied }

// cancel: the caller takes back a call; of several with one id all of them.
func (c *checker) cancel(s *said) {
	if len(s.to) != 1 || s.to[0] != us || s.ref == nil {
		return
	}
	for _, cl := range c.order {
		if cl.proc != c.proc.number || cl.from != s.from || !bytes.Equal(cl.rpc, s.ref) || !cl.open() {
			continue
		}
		if cl.excused == "" {
			cl.excused = "its caller took it back"
		}
		cl.cancelled = cl.cancelled || !cl.started && cl.name != "" && len(s.corr) == 0
		cl.tookBack = true
		if len(s.corr) == 0 {
			c.moot(cl)
		}
	}
}

// claimOf finds what a record is about.
func (c *checker) claimOf(from, env string) *claim { return c.claims[envelopeKey{from, env}] }

// emitted sees what the bridge says it does, in the order in which it does it.
func (c *checker) emitted(r record.Record) {
	if bytes.Contains(r.JSON(), []byte("SECRET")) {
		c.blame("I17", "a record holds a secret: %s", r.JSON())
	}
	if r.Event == record.Peer && r.State == "left" {
		c.leaves(r.ID)
		c.countsAsGone(r.ID)
		c.callerGone(r.ID)
		c.grants = slices.DeleteFunc(c.grants, func(g grant) bool { return g.keep == "session" && g.caller == r.ID })
	}
	if r.Event == record.Modified {
		c.amended(r.Question)
	}
	c.ofFile(r)
	cl := c.claimOf(r.From, r.Env)
	c.ofShare(cl, r)
	c.ofOffer(cl, r)
	c.knownStill(cl, r)
	if cl == nil || r.Event == record.Dropped && !slices.Contains([]string{"outbox_full", "caller_gone", "shutting_down"}, r.Reason) {
		return
	}
	c.refused(cl, r)
	c.besideRecorded(cl, r)
	c.inShare(cl, r)
	switch r.Event {
	case record.Asked:
		c.wasAsked(cl, r)
	case record.Decided:
		c.decided(cl, r)
	case record.Started:
		c.starts(cl)
	case record.Ended:
		cl.over = cl.over || !cl.started
	case record.Withdrawn:
		cl.over = true
		if cl.excused == "" {
			c.blame("I5", "%v is withdrawn, and nobody took it back", cl)
		}
	case record.Dropped:
		cl = cl.droppedOf()
		c.givenUp(cl, r.Reason)
		cl.excused, cl.over, cl.dropped = r.Reason, true, true
	}
	if r.Event == record.Asked || r.Event == record.Decided || r.Event == record.Started {
		cl.name = r.Call
		c.names[r.Call] = cl
	}
}

// amended: what somebody said changes what is asked. It was the last who said
// anything.
func (c *checker) amended(question string) {
	cl := c.questions[question]
	if cl == nil || len(cl.votes) == 0 {
		c.blame("I2", "something was changed, and nobody had said so")
		return
	}
	last := cl.votes[len(cl.votes)-1]
	cl.votes = []vote{last}
	cl.expect, cl.modified = edited(cl.expect, last.edit), true
	c.void(func(a *asked) bool { return a.claim == cl })
}

func (c *checker) wasAsked(cl *claim, r record.Record) {
	if cl.question != "" || cl.over {
		c.blame("AI-5", "%v is asked about twice, or after its end", cl)
	}
	cl.refusals = c.inARow(cl)
	cl.times++
	cl.question, cl.askedAt, cl.version = r.Question, c.w.now, c.versions[cl.tool]
	c.questions[r.Question] = cl
	if cl.offer() && !cl.targeted() || cl.again {
		c.judgedByNow(cl) // it waited for others, and is judged when that is over; or it was forgotten, and is judged when it comes again
	}
	w := cl.way(c.inForce())
	cl.pinned = w.verdict == allow
	w = cl.terms(c.inForce())
	cl.settled = c.sure(cl, w)
	if cl.huge {
		c.blame("M3", "%v is asked about, and nobody can look at all of it", cl)
	}
	if c.tooEarly(cl) {
		c.blame("WIRE 7.8", "%v is asked about while others are to serve it", cl)
	}
	if w.verdict == deny {
		c.blame("I7", "%v is asked about, though the policy denies it", cl)
	}
	for _, who := range r.Of {
		if !w.mayDecide(who, cl.from) {
			c.blame("I7", "%v is asked of %s, who may not decide", cl, who)
		}
	}
}

func (c *checker) decided(cl *claim, r record.Record) {
	late := cl.over && (!cl.offer() || r.Verdict == "allow") // the end of a proposal ends the question about it
	if cl.started || late {
		c.blame("I4", "%v is decided after it began or ended", cl)
	}
	c.counts(cl, r)
	if r.Verdict != "allow" {
		cl.denied = true
		return
	}
	if cl.allowed || cl.denied {
		c.blame("AI-5", "%v is decided twice", cl)
	}
	cl.allowed, cl.allowedAt = true, c.w.now
	c.looking.count++
	cl.allowedOrder = c.looking.count
	if c.tooEarly(cl) {
		c.blame("WIRE 7.8", "%v is allowed while others are to serve it", cl)
	}
	if r.Grant != "" && r.Keep == "" {
		c.w.tally.remembered(c.kept[r.Grant])
	}
	if cl.question == "" {
		c.mayRunUnasked(cl)
		return
	}
	c.agreedEnough(cl)
	c.remember(cl, r)
	if len(cl.digests) > 0 && !slices.ContainsFunc(cl.digests, func(d string) bool { return strings.HasPrefix(d, r.Digest) }) {
		c.blame("I2", "%v is decided about as %s, which was shown to nobody", cl, r.Digest)
	}
}

// mayRunUnasked: the policy in force allows it, and the tool is what it was.
func (c *checker) mayRunUnasked(cl *claim) {
	b := c.books[len(c.books)-1]
	if cl.way(b).verdict != allow {
		c.blame("I1", "%v is allowed, and nobody was asked", cl)
	}
	if cl.method == "tools/call" && c.surelyChanged(cl.tool) && (b.pin == "ask" || b.pin == "block") {
		c.blame("AI-9", "%v is allowed, though its tool has changed", cl)
	}
}

// agreedEnough: as many as the policies since it was asked want have agreed.
func (c *checker) agreedEnough(cl *claim) {
	switch {
	case cl.cancelled:
		c.blame("I6", "%v is allowed after its caller took it back", cl)
	case cl.refused:
		c.blame("AI-5", "%v is allowed after somebody said no", cl)
	}
	for _, b := range c.booksSince(cl) {
		switch w := c.held(cl, b); {
		case w.verdict == deny:
			c.blame("AI-14", "%v is allowed under a policy that denies it", cl)
		case w.verdict == ask && c.agreed(cl, w) < w.need && !c.granted(cl, w):
			c.blame("I7", "%v is allowed by %v, of %v %d are needed", cl, cl.votes, w.of, w.need)
		}
	}
}

// held is how a policy treats a claim, whose tool may have changed: that was so when it
// was asked about, for a question does not outlive a change.
func (c *checker) held(cl *claim, b *rulebook) way {
	w := cl.terms(b)
	switch {
	case cl.method != "tools/call" || !c.surelyChanged(cl.tool):
	case b.pin == "block":
		return way{verdict: deny}
	case b.pin == "ask" && w.verdict == allow:
		return b.usual
	}
	return w
}

// agreed counts those who agreed and may.
func (c *checker) agreed(cl *claim, w way) int {
	counted := map[string]bool{}
	for _, v := range cl.votes {
		listed := slices.Contains(w.of, v.who) || slices.Contains(w.to, v.who) && slices.Contains(cl.passed, v.who)
		if v.who != cl.from && listed && v.at-cl.askedAt <= w.within {
			counted[v.who] = true
		}
	}
	return len(counted)
}

// verify has the log read by the real verifier.
func (c *checker) verify() {
	report, err := audit.Verify(bytes.NewReader(c.w.log.text), audit.Checks{})
	switch {
	case err != nil:
		c.blame("I4", "the log: %v", err)
	case !report.OK && c.w.stepped && strings.Contains(report.Fault.Why, "twice within"): // by a clock that was put back
	case !report.OK:
		c.blame("I4", "the log does not verify: %v", report.Fault)
	case len(report.Unfinished) > 0:
		c.blame("I5", "calls without a last word on record: %v", report.Unfinished)
	}
}

// busy: some question is open, some call is at the server.
func (c *checker) busy() (question, running bool) {
	for i := len(c.order) - 1; i >= 0 && i > len(c.order)-20; i-- {
		cl := c.order[i]
		if c.proc == nil || cl.proc != c.proc.number {
			continue
		}
		question = question || cl.question != "" && !cl.allowed && !cl.denied && !cl.over
		running = running || cl.started && cl.answers == 0 && !cl.over
	}
	return question, running
}
