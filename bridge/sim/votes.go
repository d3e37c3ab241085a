package sim

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// void makes the questions that were put so far to somebody, or about a call,
// count no more: an answer counts only from a session that was sent the question
// as it is now.
func (c *checker) void(of func(*asked) bool) {
	for _, a := range c.askOrder {
		a.closed = a.closed || of(a)
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
	if cl.modified = true; cl.method == planMethod {
		cl.grants, _ = strconv.Atoi(last.edit)
	} else {
		cl.expect = edited(cl.expect, last.edit)
	}
	c.void(func(a *asked) bool { return a.claim == cl })
}

// vote takes what somebody answers to a question.
func (c *checker) vote(s *said) {
	a := c.meant(s)
	if a == nil || a.to != s.from || a.claim.question == "" || a.claim.question != a.question || len(s.to) != 1 || s.to[0] != us {
		return
	}
	cl := a.claim
	w := cl.terms(cl.book)
	first := !a.used
	a.used = true
	said, clear := readAnswer(s.result, w), true
	for _, w := range []way{cl.terms(c.inForce()), c.offered(cl)} {
		clear = clear && readAnswer(s.result, w).yes
		if !said.yes && !said.delegates {
			said = readAnswer(s.result, w) // by what is offered since the policy changed
		}
	}
	cl.erred = cl.erred || said.failed
	if !said.failed && !(clear && said.yes) {
		cl.noes++
	}
	switch {
	case !first || a.closed:
	case said.failed:
		a.erredAt = c.w.now
	case said.delegates && w.mayDecide(s.from, cl.from):
		cl.passed = append(cl.passed, said.to)
	case said.yes:
		cl.votes = append(cl.votes, vote{who: s.from, at: c.w.now, edit: said.edit, keep: said.keep})
	case !said.delegates && c.binding(a):
		cl.refused = true
	}
}

// mayBeNo: a frame that can be read in no or two ways holds the id of a question,
// and is of whom that was put to. It may be a no, which excuses a refusal and
// blames nobody.
func (c *checker) mayBeNo(raw []byte) {
	for _, a := range c.askOrder {
		if bytes.Contains(raw, a.rpc) && bytes.Contains(raw, []byte(`"from":"`+a.to+`"`)) {
			a.claim.noes++
		}
	}
}

// offered is how a claim may be answered: as all policies since it was asked
// about have it. What is offered no more is passed over in an answer.
func (c *checker) offered(cl *claim) way {
	w := cl.terms(cl.book)
	if len(c.booksSince(cl)) > 1 || cl.beside != "" || len(cl.corr) > 0 { // what another policy may deny a part of is offered no more
		w.remember = slices.DeleteFunc(slices.Clone(w.remember), coversMore)
	}
	for _, b := range c.booksSince(cl) {
		now := c.held(cl, b)
		if now.verdict != ask {
			continue
		}
		w.edit = w.edit && now.edit
		w.remember = slices.DeleteFunc(slices.Clone(w.remember), func(keep string) bool { return !slices.Contains(now.remember, keep) })
	}
	return w
}

// binding: nobody can say that this answer does not count.
func (c *checker) binding(a *asked) bool {
	cl := a.claim
	return c.newest[cl.question+a.to] == a.id && !a.closed && !c.erredAfter(a) && !c.wentAfter(a) && cl.undecided() && len(c.books) == 1 &&
		!cl.terms(cl.book).sequential && !cl.votedBy(a.to)
}

// erredAfter: whom a question was put to has answered since that they cannot be asked, be it
// to a copy of it (seed 50012751).
func (c *checker) erredAfter(a *asked) bool {
	return slices.ContainsFunc(c.askOrder, func(other *asked) bool {
		return other.question == a.question && other.to == a.to && other.erredAt > a.at
	})
}

// wentAfter: whom a question was put to has gone since.
func (c *checker) wentAfter(a *asked) bool {
	ab := c.absences[a.to]
	return ab != nil && ab.goneAt >= a.at
}

// meant finds the question that an answer is to: by the envelope it names and
// by its JSON-RPC id, which must agree.
func (c *checker) meant(s *said) *asked {
	if s.method != "elicitation/create" && c.w.o.Protocol == "mcpx/v0.1" {
		return nil
	}
	for _, id := range s.corr { // of which there is one
		if a := c.asks[id]; a != nil && !c.namesAnother(s.rpc, a) {
			return a
		}
	}
	if len(s.corr) > 0 || c.w.o.Protocol != "mcp-x/v0" {
		return nil
	}
	for _, a := range c.askOrder {
		if bytes.Equal(a.rpc, s.rpc) {
			return a
		}
	}
	return nil
}

// namesAnother: the id of an answer is that of a question beside the one it links, be it
// one of an earlier life (seed 90000974).
func (c *checker) namesAnother(rpc []byte, linked *asked) bool {
	return c.everAsked[string(rpc)] && !bytes.Equal(linked.rpc, rpc)
}

// localAnswer takes what the person at this machine answers.
func (c *checker) localAnswer(a inbox.Decision) {
	cl := c.questions[a.ID]
	digest, ok := c.local[a.ID]
	if !c.countsWhileHalted(a) {
		return
	}
	c.filedAnswer(a, digest)
	if cl == nil || !ok || a.Digest != digest && a.Digest != digest[:8] || cl.question != a.ID { // of one that came back another question is open
		return
	}
	if said := readAnswer(a.Result, cl.terms(cl.book)); said.yes {
		cl.votes = append(cl.votes, vote{who: "local", at: c.w.now, edit: said.edit, keep: said.keep})
	} else if cl.noes++; cl.undecided() && len(c.books) == 1 && !cl.terms(cl.book).sequential && !cl.votedBy("local") { // who has said yes has said it
		cl.refused = true
	}
}

// agreed counts those who agreed and may.
func (c *checker) agreed(cl *claim, w way) int {
	counted := map[string]bool{}
	for _, v := range cl.votes {
		listed := slices.Contains(w.of, v.who) || slices.Contains(w.to, v.who) && slices.Contains(cl.passed, v.who)
		if (v.signed || !w.confirm) && v.who != cl.from && listed && v.at-cl.askedAt-c.stood(cl.askedAt, v.at) <= w.within {
			counted[v.who] = true
		}
	}
	return len(counted)
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
		case w.verdict == ask && c.agreed(cl, w) < w.need && !c.granted(cl, w) && !c.leftTo(cl, w):
			c.blame("I7", "%v is allowed by %v, of %v %d are needed", cl, cl.votes, w.of, w.need)
		}
	}
}

// someAsk and someEnvelope are for those who answer what they were not asked.
func (c *checker) someAsk(d dice) *asked {
	if len(c.askOrder) == 0 {
		return nil
	}
	return pick(d, c.askOrder...)
}

func (c *checker) someEnvelope(d dice) string {
	if a := c.someAsk(d); a != nil && d.chance(.5) {
		return a.id
	}
	if len(c.order) > 0 {
		return pick(d, c.order...).id
	}
	return "none"
}

// someQuestion is the id of a question that was put to somebody.
func (c *checker) someQuestion(d dice) string {
	if a := c.someAsk(d); a != nil {
		return string(a.rpc)
	}
	return "1"
}

// answerable: enough of those who may decide are there.
func (c *checker) answerable(cl *claim, w way) bool {
	n := 0
	for _, who := range w.of {
		if who != cl.from && (who != "local" || c.w.o.Local) {
			n++
		}
	}
	return n >= w.need
}
