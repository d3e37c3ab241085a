package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// A desk is where somebody at this machine sits: one person behind the local door, before
// several surfaces that all show what is asked.
type desk struct {
	w    *world
	dice dice
	by   dice // which surface, and what goes wrong there
	seen []shown
	keys *keys // nil: nobody has a passkey
}

// shown is a question that is before the person.
type shown struct{ id, digest string }

// told hears what is put before the person.
func (d *desk) told(p *process, a approval.Act) {
	put, ok := a.(approval.Show)
	if !ok || put.To.Door != approval.Local {
		return
	}
	s := shown{put.ID, put.Digest.String()}
	d.seen = append(d.seen, s)
	d.w.check.showedLocally(s.id, s.digest)
	wait := d.dice.between(time.Second, 8*time.Second)
	if d.w.o.Calm {
		wait = 2 * time.Second
	}
	if d.w.strikes(slow) {
		wait += d.dice.between(10*time.Second, 100*time.Second)
	}
	d.w.after(wait, func() { d.answer(p, s) })
	if d.w.o.tightens() && d.w.owner.now == 0 && d.w.joins(reload, .7) {
		d.w.after(d.keys.dice.between(0, wait), d.tightens)
	}
	if d.w.strikes(lateWord) { // from a page that was left open, be it that the bridge was started anew
		d.w.after(d.by.between(10*time.Second, pick(d.by, time.Minute, 20*time.Minute)), func() { d.decide(s, s.digest, anyWord(d.by)) })
	}
}

// tightens has the policy take passkeys while somebody looks at what took none.
func (d *desk) tightens() {
	if d.w.owner.now == 0 && d.w.mayReload() {
		d.w.reload()
	}
}

// anyWord is a yes, or a no.
func anyWord(d dice) string {
	return pick(d, `{"action":"accept","content":{"approve":true}}`, `{"action":"accept","content":{"action":"approve","approve":true}}`, `{"action":"decline"}`)
}

// answer decides, having looked at what the bridge shows.
func (d *desk) answer(p *process, s shown) {
	if !p.alive() {
		return
	}
	d.look(s)
	result := pick(d.dice, `{"action":"accept","content":{"approve":true}}`, `{"action":"accept","content":{"approve":true}}`,
		`{"action":"accept","content":{"action":"approve","approve":true}}`, `{"action":"decline"}`)
	if d.w.o.Calm {
		result = `{"action":"decline"}`
		if agrees(d.w.check.envelopeOf(s.id)) {
			result = `{"action":"accept","content":{"approve":true,"action":"approve"}}`
		}
	}
	digest := s.digest
	if d.w.strikes(strayDigest) {
		digest = pick(d.dice, "", "00000000", s.digest[:7], s.digest[1:])
	}
	d.goesWrong(s, result)
	d.decide(s, digest, result)
	d.signs(s)
}

// signs has a passkey sign a yes, a while after it is said what.
func (d *desk) signs(s shown) {
	if d.keys == nil {
		return
	}
	field, edit := d.changes(s)
	yes := approval.Answer{Who: approval.Who{Door: approval.Local}, Question: s.id, Digest: s.digest, Result: fmt.Appendf(nil, `{"action":"accept","content":{"approve":true%s}}`, field), Draft: true}
	for _, a := range d.says(yes) {
		if wanted, ok := a.(approval.ToSign); ok {
			d.w.check.drafted(s.id, wanted.Statement, edit)
			d.w.after(d.keys.dice.between(0, pick(d.keys.dice, time.Second, 20*time.Second)), func() { d.signed(s, wanted.Statement) })
		}
	}
}

// changes is what somebody makes of a call before they sign that, perhaps nothing.
func (d *desk) changes(s shown) (field, value string) {
	if d.w.proc == nil {
		return "", ""
	}
	v, err := d.w.proc.inbox.Show(context.Background(), s.id)
	if err != nil || len(v.Edits) == 0 || d.keys.dice.chance(.6) {
		return "", ""
	}
	value = "1"
	if v.Edits[0].Field == "amount" {
		value = pick(d.keys.dice, "7", "42")
	}
	return fmt.Sprintf(`,"%s":%s`, v.Edits[0].Field, value), value
}

// signed brings a signature, which may be none, or one in the name of somebody else.
func (d *desk) signed(s shown, statement []byte) {
	if d.w.proc == nil {
		return
	}
	signed, genuine := d.keys.sign(statement, d.w.healed)
	who := pick(d.keys.dice, approval.Who{Door: approval.Local}, approval.Who{Door: approval.Local}, approval.Who{Door: approval.Local}, approval.Participant("alice"))
	if d.w.healed {
		who = approval.Who{Door: approval.Local}
	}
	d.w.check.signedAnswer(s.id, signed.Statement, genuine && who.Door == approval.Local)
	d.says(approval.Answer{Who: who, Question: s.id, Digest: s.digest, Signed: signed})
}

// says gives an answer to the bridge that there is now, if there is one.
func (d *desk) says(a approval.Answer) (acts []approval.Act) {
	if p := d.w.proc; p != nil {
		p.met("Decided")
		acts = p.sidecar.Decide(a)
		p.settle()
	}
	return acts
}

// goesWrong is what else comes to the bridge about a question that the person answers.
func (d *desk) goesWrong(s shown, result string) {
	if d.w.strikes(swapped) { // one page takes two questions for each other
		d.decide(s, pick(d.by, d.seen...).digest, anyWord(d.by))
	}
	if d.w.strikes(onlyLooks) {
		d.onlyLooks(s)
	}
	if d.w.strikes(doubled) { // in two tabs at once, or by page and phone
		d.w.after(d.by.between(0, pick(d.by, 10*time.Millisecond, 4*time.Second)), func() { d.decide(s, s.digest, anyWord(d.by)) })
	}
	if d.w.strikes(lostReply) { // they hear nothing, look again and say it again
		d.w.after(d.by.between(time.Second, 20*time.Second), func() {
			if again, open := d.look(s); open {
				s = again
			}
			d.decide(s, s.digest, result)
		})
	}
}

// look is how a question is shown now, if it is open still.
func (d *desk) look(s shown) (now shown, open bool) {
	p := d.w.proc
	if p == nil {
		return s, false
	}
	v, err := p.inbox.Show(context.Background(), s.id)
	if err != nil {
		return s, false
	}
	d.w.check.viewed(v)
	if public, err := inbox.Public(p.inbox).Show(context.Background(), s.id); err == nil {
		d.w.check.viewedOutside(v, public)
	}
	return shown{s.id, v.Digest}, true
}

// decide has one of the surfaces say it to the bridge that there is now.
func (d *desk) decide(s shown, digest, result string) {
	p := d.w.proc
	if p == nil {
		return
	}
	surface := pick(d.by, inbox.Inbox(p.inbox), inbox.Public(p.inbox))
	x := inbox.Decision{ID: s.id, Digest: digest, Result: []byte(result)}
	d.w.check.localAnswer(x)
	before := d.w.check.standing(s.id)
	p.met("Decided")
	out, err := surface.Decide(context.Background(), x)
	d.w.trace.note(d.w.now, "decided", fmt.Append(nil, out.Outcome, err))
	d.w.check.heardOf(x, before, out, err)
	p.settle()
}

// onlyLooks says yes where one may look and not decide.
func (d *desk) onlyLooks(s shown) {
	x := inbox.Decision{ID: s.id, Digest: s.digest, Result: []byte(`{"action":"accept","content":{"approve":true}}`)}
	before := d.w.check.standing(s.id)
	out, err := inbox.LookOnly(d.w.proc.inbox).Decide(context.Background(), x)
	d.w.check.heardOf(x, before, out, err)
	if err == nil {
		d.w.check.blame("I19", "where one may only look, an answer came to %v", out)
	}
}
