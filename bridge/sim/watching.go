package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// put sees a frame that the bridge sends.
func (c *checker) put(raw []byte) {
	l, err := readLetter(raw)
	switch {
	case err != nil:
		c.blame("I8", "a frame of the bridge cannot be read: %v: %s", err, raw)
		return
	case l.From != us:
		c.blame("I8", "the bridge speaks as %q", l.From)
	case bytes.Contains(raw, []byte("SECRET")) && !slices.Equal(l.To, []string{us}): // there it is what was proposed, as everybody has seen
		c.blame("I17", "a secret is told to the topic: %s", raw)
	}
	c.letters[&raw[0]] = l
	switch {
	case strings.HasPrefix(l.Kind, "capability/") || strings.HasPrefix(l.Kind, "participant/"):
	case l.Payload.Method == "elicitation/create":
		c.puts(l)
	case l.Payload.Method == "notifications/progress":
		c.progress(l)
	case l.Payload.Method == "notifications/cancelled":
		c.closed(l)
	case l.Payload.Method == "notifications/mcpx/checkpoint":
		c.shown(l)
	case l.Kind == "mcp/reject", l.Kind == "mcpx.reject.proposal", l.Kind == "proposal-reject":
		c.rejects(l)
	case len(l.To) == 1 && l.To[0] == us:
		c.takesUp(l)
	case l.Payload.Method == "":
		c.response(l)
	}
}

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
	cl.told = "yes"
	if e := l.Payload.Error; e != nil {
		cl.code = e.Code
		if e.Data.Executed != "" {
			cl.told = e.Data.Executed
		}
	}
	c.truthful(cl, l)
}

// Codes of answers (WIRE 7.3).
const (
	policyDenied = -31004
	busy         = -31005
	stoppingNow  = -31006
	timedOut     = -31010
)

// truthful: what the answer says of the call is so.
func (c *checker) truthful(cl *claim, l *letter) {
	switch {
	case cl.told == "no" && cl.line != nil && cl.line.runs > 0:
		c.blame("I10", "%v is said not to have run, and it did", cl)
	case cl.told == "no" && cl.line != nil && c.w.server.alive && slices.Contains(c.w.server.queue, cl.line):
		c.blame("I10", "%v is said not to have run, and it is on its way", cl)
	case cl.told == "unknown" && !cl.started:
		c.blame("I10", "%v may have run, it is said, and it was never started", cl)
	case cl.told == "yes" && !cl.ownWord() && (cl.line == nil || !c.said(cl, l)):
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

// puts is a question that is put to somebody.
func (c *checker) puts(l *letter) {
	o := l.original()
	cl := c.claimOf(o.From, o.EnvelopeID)
	if cl == nil || cl.question == "" {
		c.blame("I7", "a question is put about no call: %s", l.raw)
		return
	}
	to := l.To[0]
	w := cl.terms(cl.book)
	switch {
	case len(l.To) != 1 || !w.mayDecide(to, cl.from):
		c.blame("I7", "%v is put before %v, who may not decide", cl, l.To)
	case !c.w.o.Trusted && c.w.o.Protocol == "mew/v0.4":
		c.blame("I7", "%v is put before %s, though anybody could answer in their name", cl, to)
	case len(l.Corr) > 0:
		c.blame("W-5", "a question names a request, as if it answered it")
	case cl.method == "tools/call" && o.Tool != cl.tool:
		c.blame("I2", "%v is shown as %s", cl, o.Tool)
	case cl.settled != nil:
		c.blame("AI-18", "%v is put before %s, though %v agreed for always", cl, to, cl.settled.by)
	case cl.over || cl.denied || cl.allowed:
		c.blame("AI-5", "%v is put before %s after it was settled", cl, to)
	}
	c.inStreak(cl)
	c.legible(l.params.Message)
	c.tellsAll(cl, l)
	if !slices.Contains(cl.digests, l.params.Metadata.Digest) {
		cl.digests = append(cl.digests, l.params.Metadata.Digest)
	}
	a := &asked{id: l.ID, to: to, rpc: bytes.Clone(l.Payload.ID), claim: cl, question: cl.question, at: c.w.now}
	if c.asks[l.ID] != nil {
		c.blame("AI-4", "two questions have one id")
	}
	c.asks[l.ID] = a
	c.askOrder = append(c.askOrder, a)
	c.everAsked[string(a.rpc)] = true
	c.newest[cl.question+to] = l.ID
}

// legible: a text holds nothing that people could not see.
func (c *checker) legible(text string) {
	for _, r := range text {
		if r != ' ' && (!unicode.IsGraphic(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Zs)) {
			c.blame("I16", "people are shown %U in %q", r, text)
			return
		}
	}
}

// void makes the questions that were put so far to somebody, or about a call,
// count no more: an answer counts only from a session that was sent the question
// as it is now.
func (c *checker) void(of func(*asked) bool) {
	for _, a := range c.askOrder {
		a.closed = a.closed || of(a)
	}
}

// closed is a question taken away from somebody.
func (c *checker) closed(l *letter) {
	var p struct{ RequestID json.RawMessage }
	if json.Unmarshal(l.Payload.Params, &p) != nil {
		return
	}
	for _, a := range c.askOrder {
		if !bytes.Equal(a.rpc, p.RequestID) {
			continue
		}
		if a.gone {
			c.blame("AI-4", "a question about %v is taken away from %s twice", a.claim, a.to)
		}
		a.closed, a.gone = true, true
	}
}

// shown is the head of the log, told to all.
func (c *checker) shown(l *letter) {
	if head := fmt.Sprintf(`{"seq":%d,"hash":"%x"}`, c.w.log.seq, c.w.log.prev); string(l.Payload.Params) != head {
		c.blame("I4", "the head of the log is %s, and the topic is told %s", head, l.Payload.Params)
	}
}

// progress belongs to a call of whoever gets it.
func (c *checker) progress(l *letter) {
	var p struct{ ProgressToken json.RawMessage }
	json.Unmarshal(l.Payload.Params, &p)
	if !slices.ContainsFunc(c.order, func(cl *claim) bool {
		return cl.from == l.To[0] && bytes.Equal(cl.token, p.ProgressToken) && cl.open()
	}) {
		c.blame("I8", "progress for nobody's call: %s", l.raw)
	}
}

// left sees a frame that leaves; it returns how participants read it.
func (c *checker) left(raw []byte) *letter {
	l := c.letters[&raw[0]]
	delete(c.letters, &raw[0])
	return l
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
	case said.failed || !first || a.closed:
	case said.delegates && w.mayDecide(s.from, cl.from):
		cl.passed = append(cl.passed, said.to)
	case said.yes:
		cl.votes = append(cl.votes, vote{s.from, c.w.now, said.edit, said.keep})
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
	return c.newest[cl.question+a.to] == a.id && !a.closed && !c.wentAfter(a) && !cl.allowed && !cl.denied && !cl.over && len(c.books) == 1 &&
		!cl.terms(cl.book).sequential && !slices.ContainsFunc(cl.votes, func(v vote) bool { return v.who == a.to })
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

func (c *checker) showedLocally(s shown) {
	if cl := c.questions[s.id]; cl != nil && cl.settled != nil {
		c.blame("AI-18", "%v is shown to us, though %v agreed for always", cl, cl.settled.by)
	}
	if cl := c.questions[s.id]; cl != nil {
		c.inStreak(cl)
	}
	c.local[s.id] = s.digest
}

// localAnswer takes what the person at this machine answers.
func (c *checker) localAnswer(a approval.Answer) {
	cl := c.questions[a.Question]
	digest, ok := c.local[a.Question]
	c.filedAnswer(a, digest)
	if cl == nil || !ok || a.Digest != digest && a.Digest != digest[:8] || cl.question != a.Question { // of one that came back another question is open
		return
	}
	if said := readAnswer(a.Result, cl.terms(cl.book)); said.yes {
		cl.votes = append(cl.votes, vote{"local", c.w.now, said.edit, said.keep})
	} else if cl.noes++; !cl.allowed && !cl.denied && !cl.over && len(c.books) == 1 && !cl.terms(cl.book).sequential {
		cl.refused = true
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

func (c *checker) envelopeOf(question string) string {
	if cl := c.questions[question]; cl != nil {
		return cl.id
	}
	return ""
}
