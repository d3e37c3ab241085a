package sim

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// A desk is where somebody at this machine sits: one person behind the local
// door.
type desk struct {
	w    *world
	dice dice
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
	d.w.check.showedLocally(s.id, s.digest)
	wait := d.dice.between(time.Second, 8*time.Second)
	if d.w.o.Calm {
		wait = 2 * time.Second
	}
	if d.w.strikes(slow) {
		wait += d.dice.between(10*time.Second, 100*time.Second)
	}
	d.w.after(wait, func() { d.answer(p, s) })
}

// answer decides, having looked at what the bridge shows.
func (d *desk) answer(p *process, s shown) {
	if !p.alive() {
		return
	}
	if v, ok := p.sidecar.View(s.id, true); ok {
		d.w.check.viewed(v)
	}
	result := pick(d.dice, `{"action":"accept","content":{"approve":true}}`, `{"action":"accept","content":{"approve":true}}`,
		`{"action":"accept","content":{"action":"approve","approve":true}}`, `{"action":"decline"}`)
	a := approval.Answer{Who: approval.Who{Door: approval.Local}, Question: s.id, Digest: s.digest, Result: []byte(result)}
	if d.w.o.Calm {
		a.Result = []byte(`{"action":"decline"}`)
		if agrees(d.w.check.envelopeOf(s.id)) {
			a.Result = []byte(`{"action":"accept","content":{"approve":true,"action":"approve"}}`)
		}
	}
	if d.w.strikes(strayDigest) {
		a.Digest = pick(d.dice, "", "00000000", s.digest[:7], s.digest[1:])
	}
	d.w.check.localAnswer(a)
	p.met("Decided")
	p.sidecar.Decide(a)
	p.settle()
}
