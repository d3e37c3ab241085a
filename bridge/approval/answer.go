package approval

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// An Answer is what somebody said to a question.
type Answer struct {
	Who Who // who says so, by the word of the gateway or of our own door

	// How an answer from the topic says what it answers.
	Corr   []string // the envelopes it names
	ID     []byte   // its JSON-RPC id, raw; nil if it has none. It may name nothing, but no other question
	Linked bool     // its dialect requires it to name an envelope; else the id may do (WIRE 7.2)
	Method string   // what its kind says it answers; "" if that says nothing
	Astray bool     // it did not go to us alone, so it counts for nothing

	// How an answer from the other doors does, and which digest was shown
	// there, whole or short. Both are required.
	Question string
	Digest   string

	Result []byte // the elicitation's result, raw; it need not even be JSON
	Failed bool   // it is a JSON-RPC error

	// Where the terms say confirm: passkey, by the local door. A yes that is a Draft counts for
	// nothing, and what is to be signed for it comes back as a [ToSign]; Signed is that
	// signature, and the yes is the one of the draft, whatever else is here.
	Draft  bool
	Signed *Signed
}

// Answer takes what somebody said. No acts: it answers nothing of ours.
// Answers that cannot count are noted. Only who was asked is told, by being asked again.
func (d *Desk) Answer(now time.Time, a Answer) []Act {
	d.begin(now)
	switch {
	case a.Signed != nil && a.Who.Door != Local:
		d.foreign(a.Question, &a, WrongSender)
	case a.Who.Door == Topic:
		d.fromTopic(&a)
	default:
		d.fromDoor(&a)
	}
	return d.out
}

// fromTopic: the sender, the envelope and the kind must agree, and the JSON-RPC id must
// name no other question (RELIABILITY AI-3). It need not name this one: the stock client
// of mcpx/v0.1 answers everything under 0 (FINDINGS D6), and an answer that links one
// question alone, from whom that was put to, leaves no doubt. But an id of the
// form that ours have may be that of a question that is forgotten by now: what names two
// answers neither, however late it comes. Without a link the id must name it.
func (d *Desk) fromTopic(a *Answer) {
	linked, several := d.linked(a.Corr)
	named := askOf(a.ID)
	astray := linked != "" && named != "" && named != linked
	if !d.knows(named) {
		named = ""
	}
	id := cmp.Or(linked, named)
	switch {
	case a.Astray:
		if k := d.asks[id]; k != nil && k.s.who == a.Who {
			d.foreign(id, a, "not_addressed")
			d.correct(k, a, "send the answer to the bridge that asked, and to nobody else")
		}
	case id == "" && a.Method != "" && a.Method != "elicitation/create": // to something else
	case id == "":
		d.correct(d.openFor(a.Who), a, "your answer names no question: name it as correlation_id, or by the id of the request")
	case linked == "" && (len(a.Corr) > 0 || a.Linked), astray, several:
		d.foreign(id, a, "bad_correlation")
		d.correct(d.asks[id], a, "your answer names a second question, or names its own in the wrong place: name one, as correlation_id where the dialect has that")
	case a.Method != "" && a.Method != "elicitation/create":
		d.foreign(id, a, "wrong_kind")
		d.correct(d.asks[id], a, "your answer has another kind than the answer to an elicitation")
	default:
		d.toAsk(id, a)
	}
}

// correct puts a question once more to whom it was put, and whose answer cannot count:
// they would wait for what they think has been said (FINDINGS D6). Once is all, or a
// program that always errs would be asked for ever. What they were asked before counts on.
func (d *Desk) correct(k *ask, a *Answer, problem string) {
	if k == nil || k.s.who != a.Who || k.s.state != beingAsked || k.s.corrected || k.s.till.Sub(d.now) < leftToPassOn {
		return
	}
	k.s.corrected = true
	d.show(k.p, k.s, "misanswered", problem)
}

// openFor is what somebody was asked last about the oldest question that they have open,
// nil if they have none.
func (d *Desk) openFor(w Who) *ask {
	if d.before[w] == 0 {
		return nil
	}
	for _, p := range d.inOrder() {
		if s := p.find(w); s != nil && s.state == beingAsked && len(s.asks) > 0 {
			return s.asks[len(s.asks)-1]
		}
	}
	return nil
}

// linked returns the question of ours that links name, the first one if they name several.
func (d *Desk) linked(links []string) (id string, several bool) {
	for _, l := range links {
		switch {
		case !d.knows(l) || l == id:
		case id != "":
			return id, true
		default:
			id = l
		}
	}
	return id, false
}

func (d *Desk) knows(id string) bool {
	_, ended := d.late[id]
	return ended || d.asks[id] != nil
}

// foreign notes an answer that does not come from where it should.
func (d *Desk) foreign(id string, a *Answer, reason string) {
	n := Noted{ID: d.late[id].id, Event: record.ForeignAnswer, Who: a.Who, Reason: reason}
	if a.Signed != nil {
		n.Said = a.Signed.Problem
	}
	if k := d.asks[id]; k != nil {
		n.ID, n.Digest = k.p.id, k.p.digest
	} else if p := d.pending[id]; p != nil {
		n.ID, n.Digest = p.id, p.digest
	}
	d.do(n)
}

func (d *Desk) toAsk(id string, a *Answer) {
	k := d.asks[id]
	switch {
	case k == nil && d.late[id].who != a.Who, k != nil && k.s.who != a.Who:
		d.foreign(id, a, WrongSender)
	case k == nil:
		d.do(Noted{ID: d.late[id].id, Event: record.LateAnswer, Who: a.Who, Reason: d.late[id].how})
	case k.s.state == struck:
		d.foreign(id, a, WrongSender)
	case k.void != "":
		d.note(k.p, record.LateAnswer, a.Who, k.void)
	case k.p.unsigned(a):
		d.foreign(id, a, Unconfirmed)
		d.correct(k, a, TakesPasskey)
	default:
		k.void, k.answered = "already_answered", true
		d.answered(k.p, k.s, a)
	}
}

// fromDoor takes the answer of one of our own doors.
func (d *Desk) fromDoor(a *Answer) {
	p := d.pending[a.Question]
	if p == nil {
		if e, ok := d.late[a.Question]; ok {
			d.do(Noted{ID: e.id, Event: record.LateAnswer, Who: a.Who, Reason: e.how})
		}
		return
	}
	s := p.find(a.Who)
	switch {
	case a.Draft && p.digest.Is(a.Digest):
		d.drafted(p, a)
	case s == nil || s.state == struck:
		d.foreign(p.id, a, WrongSender)
	case !p.digest.Is(a.Digest):
		d.foreign(p.id, a, DigestMismatch)
	case s.state == waiting || s.state == away:
		d.foreign(p.id, a, "not_asked")
	case s.state != beingAsked:
		d.note(p, record.LateAnswer, a.Who, voided[s.state])
	case a.Signed != nil:
		d.signed(p, s, a)
	case p.unsigned(a):
		d.foreign(p.id, a, Unconfirmed)
	default:
		d.answered(p, s, a)
	}
}

// unsigned reports whether an answer is a yes that lacks a signature.
func (p *pending) unsigned(a *Answer) bool {
	if p.q.Terms.Confirm != policy.Passkey || a.Signed != nil || a.Failed {
		return false
	}
	r := p.read(a.Result)
	_, unfit := p.edit(r.edits)
	return r.said == yes && unfit == "" // what is no well-formed yes is a no, from anywhere
}

// drafted says what is to be signed for a yes, whosever it will be, and decides nothing.
func (d *Desk) drafted(p *pending, a *Answer) {
	switch {
	case d.halted:
		d.note(p, record.LateAnswer, a.Who, Halted)
		return
	case p.count(beingAsked) == 0, !p.unsigned(a):
		d.foreign(p.id, a, Unconfirmed)
		return
	}
	r := p.read(a.Result)
	to, _ := p.edit(r.edits) // fits, or it were no yes
	d.draft(p, r.why, to)
}

// signed takes a yes that a passkey has signed.
func (d *Desk) signed(p *pending, s *ballot, a *Answer) {
	if d.halted {
		d.note(p, record.LateAnswer, s.who, Halted)
		return
	}
	if a.Signed.Problem != "" {
		d.foreign(p.id, a, BadPasskey)
		return
	}
	one := p.sign(a.Signed)
	if one == nil || p.q.Terms.Confirm == "" {
		d.foreign(p.id, a, OtherSigned)
		return
	}
	d.verify(&agreement{p: p, by: s, why: one.why, to: one.to, signed: a.Signed, nonce: one.nonce, digest: one.digest})
}

// answered takes the answer of somebody who was asked.
func (d *Desk) answered(p *pending, s *ballot, a *Answer) {
	if a.Failed {
		d.vacate(p, s, failed, "you answered already")
		d.note(p, record.Unavailable, s.who, "error")
		d.advance(p, NoApprover, "error")
		return
	}
	r := p.read(a.Result)
	switch {
	case d.halted:
		d.whileHalted(p, s, r)
	case r.said == yes:
		d.agree(p, s, r)
	case r.said == elsewhere:
		d.pass(p, s, r)
	default:
		d.settle(p, Settled{Outcome: Denied, Reason: r.reason, Detail: r.detail, Said: r.why}, s)
	}
}

// agree has a yes verified.
func (d *Desk) agree(p *pending, s *ballot, r reply) {
	c, detail := p.edit(r.edits)
	if detail != "" {
		d.settle(p, Settled{Outcome: Denied, Reason: InvalidModification, Detail: detail, Said: r.why}, s)
		return
	}
	d.verify(&agreement{p: p, by: s, why: r.why, keep: r.keep, to: c})
}

// Verified says whether the call may still run about which a [Verify] was returned: "", or
// why not, as [PolicyDenied] or [ToolChanged]. It must be the next that the Desk is told:
// a yes counts for nothing before that, and for nothing at all if the Desk is told something
// else in between (RELIABILITY AI-8, AI-9, AI-14).
func (d *Desk) Verified(now time.Time, id, reason string) []Act {
	a := d.unverified
	d.begin(now)
	switch {
	case a == nil || a.p.id != id:
	case a.grant != nil:
		d.useGrant(a, reason)
	case d.pending[id] != a.p || a.by.state != beingAsked: // time is over
	case reason != "":
		d.refute(a, reason)
	default:
		d.count(a)
	}
	return d.out
}

// refute ends a question whose call may not run as somebody agreed to it.
func (d *Desk) refute(a *agreement, reason string) {
	s := Settled{Outcome: Aborted, Reason: reason, Said: a.why}
	if len(a.to.modified) > 0 && reason != ToolChanged {
		s.Outcome, s.Reason, s.Detail = Denied, InvalidModification, reason
	}
	d.settle(a.p, s, a.by)
}

// count counts a yes that was verified.
func (d *Desk) count(a *agreement) {
	p, s, c := a.p, a.by, a.to
	d.vacate(p, s, agreed, "you answered already")
	s.keep = a.keep
	if len(c.modified) > 0 && !d.amend(a) {
		d.settle(p, Settled{Outcome: Denied, Reason: InvalidModification, Detail: "the people who must agree keep changing it", Said: a.why}, s)
		return
	}
	if a.signed != nil {
		d.do(Noted{ID: p.id, Event: record.Confirmed, Who: s.who, Chain: s.chain, Have: p.count(agreed), Digest: p.digest, Signed: a.signed, Question: &p.q, Args: p.args})
	}
	if p.count(agreed) < p.need {
		d.note(p, record.Answer, s.who, "approved")
		d.sendTally(p)
		d.advance(p, NoApprover, "")
		return
	}
	d.settle(p, Settled{Outcome: Allowed, Said: a.why, Made: d.grantFor(p)}, s)
}

// maxAmended bounds how often one question changes what it is about.
const maxAmended = 3

// amend makes an approver's edit what the question is about. Whoever else must
// agree is asked about that: what people agree to is what runs.
func (d *Desk) amend(a *agreement) bool {
	p, by, c := a.p, a.by, a.to
	p.args, p.timeout, p.published = c.args, c.timeout, nil
	for _, m := range c.modified {
		if !slices.Contains(p.modified, m) {
			p.modified = append(p.modified, m)
		}
	}
	if p.nonce, p.digest = a.nonce, a.digest; a.signed == nil {
		p.nonce = d.o.Random()
		p.digest = p.bind()
	}
	d.note(p, record.Modified, by.who, "")
	if p.amended++; p.need > 1 && p.amended > maxAmended {
		return false
	}
	if p.need == 1 {
		return true
	}
	for _, s := range p.ballots {
		if s == by || s.state != beingAsked && s.state != agreed {
			continue
		}
		if s.state == beingAsked {
			d.close(p, s, "the call was changed")
		}
		s.void("edited")
		if s.state == agreed && !d.present(s.who) {
			s.state = away
			continue
		}
		s.till = p.deadline
		d.show(p, s, "edited", "")
	}
	return true
}
