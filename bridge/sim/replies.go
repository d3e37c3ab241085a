package sim

import (
	"bytes"
	"encoding/json"
	"slices"
)

// response is the one answer that a request gets.
func (c *checker) response(l *letter) {
	if c.ambiguous(l) {
		return
	}
	cl := c.isAnswered(l)
	if cl == nil {
		c.blame("I8", "an answer is for no request: %s", l.raw)
		return
	}
	if cl.answers++; cl.answers > 1 {
		c.blame("I5", "%v is answered twice", cl)
	}
	if !bytes.Equal(l.Payload.ID, cl.rpc) {
		c.blame("I8", "%v is answered with the id %s instead of %s", cl, l.Payload.ID, cl.rpc)
	}
	if cl.method == planMethod {
		c.answersPlan(cl, l)
	}
	cl.told = "yes"
	if e := l.Payload.Error; e != nil {
		cl.code = e.Code
		if e.Data.Executed != "" {
			cl.told = e.Data.Executed
		}
	}
	c.truthful(cl, l)
}

// answeredOf is to which of the calls of one caller under one envelope an answer
// is: the newest earlier one that it can be to, which may have waited for so long
// that the call was forgotten, else the newest. What was withdrawn on record gets none of our
// own words (seed 80005518).
func (c *checker) answeredOf(cl *claim, l *letter) *claim {
	for old := cl.earlier; old != nil && old.proc == cl.proc; old = old.earlier {
		if old.answers == 0 && !old.dropped && (old.ownWord() && old.executed == "" || old.done() && (old.line != nil && c.said(old, l) || old.mayBeRefusedBy(l, cl))) {
			return old
		}
	}
	return cl
}

// isAnswered finds what an answer is to: a request of whom it goes to, and then
// where the dialect has it so to the proposer too; or our own request for a
// proposal of whom it goes to.
func (c *checker) isAnswered(l *letter) *claim {
	if len(l.To) == 0 || len(l.Corr) == 0 {
		return nil
	}
	if cl := c.claimOf(l.To[0], l.Corr[0]); cl != nil && !cl.offer() && len(l.Corr) == 1 {
		if len(l.To) == 1 || len(l.To) == 2 && c.mayHear(cl, l.To[1]) {
			return c.answeredOf(cl, l)
		}
		if len(l.To) != 2 || l.To[1] != us { // else it is to our own request, whose id somebody has used as well (seed 16798)
			return nil
		}
	}
	var served []*claim
	for _, cl := range c.order {
		if cl.offer() && cl.proc == c.proc.number && cl.from == l.To[0] && (cl.started || cl.shown) {
			served = append(served, cl)
		}
	}
	if i := slices.IndexFunc(served, func(cl *claim) bool { return cl.self == l.Corr[0] }); i >= 0 {
		return served[i]
	}
	for _, cl := range served {
		if c.mistaken(cl, l.Corr[0]) {
			return cl
		}
		if cl.self == "" && (len(l.Corr) == 1 || l.Corr[1] == cl.id) {
			cl.itself(l.Corr[0])
			return cl
		}
	}
	return nil
}

// mayHear: somebody has proposed what a request is for.
func (c *checker) mayHear(cl *claim, who string) bool {
	return slices.ContainsFunc(c.offersOf(cl.corr), func(of *claim) bool { return of.from == who }) || c.proposedUnread(cl, who)
}

// mistaken: of several proposals with one id the checker took another for the
// one that a request was made for, as nobody could know before the answer. One that never
// started has none, be it that its reject was sent first (seed 2002707).
func (c *checker) mistaken(cl *claim, self string) bool {
	for _, other := range c.offersOf([]string{cl.id}) {
		if other.self == self && (other.answers == 0 || !other.started) && other.from != cl.from {
			cl.self, cl.rpc, cl.shown, other.self, other.rpc, other.shown = other.self, other.rpc, other.shown, cl.self, cl.rpc, cl.shown
			return true
		}
	}
	return false
}

// truthful: what the answer says of the call is so.
func (c *checker) truthful(cl *claim, l *letter) {
	switch {
	case cl.told == "no" && cl.line != nil && cl.line.runs > 0:
		c.blame("I10", "%v is said not to have run, and it did", cl)
	case cl.told == "no" && cl.line != nil && c.w.server.alive && slices.Contains(c.w.server.queue, cl.line):
		c.blame("I10", "%v is said not to have run, and it is on its way", cl)
	case cl.told == "unknown" && !cl.started:
		c.blame("I10", "%v may have run, it is said, and it was never started", cl)
	case cl.told == "yes" && cl.method == planMethod && !cl.started:
		c.blame("I8", "%v is answered, and does not count", cl)
	case cl.told == "yes" && !cl.ownWord() && cl.method != planMethod && (cl.line == nil || !c.said(cl, l)):
		c.blame("I8", "%v is answered with what the server did not say to it: %s", cl, l.raw)
	case cl.told == "yes" && !cl.ownWord() && l.Payload.Error == nil && !cl.ended && !marked(l.Payload.Result):
		c.blame("I4", "%v is answered before its end is on record", cl)
	case cl.code == policyDenied && !cl.denied && !cl.allowed:
		c.blame("I4", "%v is denied, and its decision is not on record", cl)
	case cl.code == timedOut && !c.stop && c.w.now-cl.since < callTime:
		c.blame("I10", "%v is said to have had its time, and had %v", cl, c.w.now-cl.since)
	case cl.executed != "" && cl.executed != cl.told:
		c.blame("I10", "%v is on record as %q, and its caller is told %q", cl, cl.executed, cl.told)
	case cl.told == "yes" && !cl.ownWord() && cl.ended && cl.outcome != l.outcome():
		c.blame("I10", "%v is on record as %q, and the server said %s", cl, cl.outcome, l.raw)
	case cl.told == "yes" && cl.ownWord() && l.Payload.Error != nil:
		c.blame("must serve", "%v is answered with an error", cl)
	}
}

// said: the server gave this answer to the line of the claim.
func (c *checker) said(cl *claim, l *letter) bool {
	var m struct{ Result, Error json.RawMessage }
	if json.Unmarshal(l.raw, &struct {
		Payload any `json:"payload"`
	}{&m}) != nil {
		return false
	}
	got := append(m.Result, m.Error...)
	return slices.ContainsFunc(c.answersOf[string(cl.line.ID)], func(said []byte) bool {
		if cl.method == "tools/list" || cl.modified || marked(got) {
			_, tail, _ := bytes.Cut(said, []byte("{"))
			return bytes.HasSuffix(got, tail)
		}
		return bytes.Equal(said, got)
	})
}

// marked: an answer says that the record ends before it.
func marked(result []byte) bool { return bytes.Contains(result, []byte(`"audit":"incomplete"`)) }
