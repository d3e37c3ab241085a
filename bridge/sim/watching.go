package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	case c.w.o.unverified():
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
	c.tellsWhy(cl, l.params.described())
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

func (c *checker) showedLocally(id, digest string) {
	if cl := c.questions[id]; cl != nil && cl.settled != nil {
		c.blame("AI-18", "%v is shown to us, though %v agreed for always", cl, cl.settled.by)
	}
	if cl := c.questions[id]; cl != nil {
		c.inStreak(cl)
	}
	c.local[id] = digest
}

func (c *checker) envelopeOf(question string) string {
	if cl := c.questions[question]; cl != nil {
		return cl.id
	}
	return ""
}
