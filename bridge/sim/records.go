package sim

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// emitted sees what the bridge says it does, in the order in which it does it.
func (c *checker) emitted(r record.Record) {
	if bytes.Contains(r.JSON(), []byte("SECRET")) {
		c.blame("I17", "a record holds a secret: %s", r.JSON())
	}
	if r.Event == record.Peer && r.State == "left" {
		c.leaves(r.ID)
		c.countsAsGone(r.ID)
		c.callerGone(r.ID)
		c.grants = slices.DeleteFunc(c.grants, func(g grant) bool { return g.keep != "always" && g.caller == r.ID })
	}
	switch r.Event {
	case record.Modified:
		c.amended(r.Question)
	case record.Tightened:
		c.tightened(r)
	case record.Revoked:
		c.lastsNoMore(r)
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
	c.whyRecorded(cl, r)
	c.inShare(cl, r)
	switch r.Event {
	case record.Asked:
		c.wasAsked(cl, r)
	case record.Decided:
		c.decided(cl, r)
	case record.Started:
		c.starts(cl)
		c.startsByGrant(cl)
		c.begins(cl, r)
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

func (c *checker) wasAsked(cl *claim, r record.Record) {
	if cl.question != "" || cl.over {
		c.blame("AI-5", "%v is asked about twice, or after its end", cl)
	}
	cl.refusals = c.inARow(cl)
	cl.times++
	cl.question, cl.askedAt, cl.version, cl.surely = r.Question, c.w.now, c.versions[cl.tool], c.listedSure[cl.tool]
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
	c.plans(cl, r)
	if r.Verdict != "allow" {
		cl.denied = true
		return
	}
	if cl.allowed || cl.denied {
		c.blame("AI-5", "%v is decided twice", cl)
	}
	cl.allowed, cl.allowedAt, cl.byGrant = true, c.w.now, ""
	if r.Keep == "" {
		cl.byGrant = r.Grant
	}
	c.looking.count++
	cl.allowedOrder = c.looking.count
	if c.tooEarly(cl) {
		c.blame("WIRE 7.8", "%v is allowed while others are to serve it", cl)
	}
	if r.Grant != "" && r.Keep == "" && r.Item == 0 {
		c.w.tally.remembered(!c.kept[r.Grant].IsZero())
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
