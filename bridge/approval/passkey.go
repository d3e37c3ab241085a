package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// A yes to a question whose terms say confirm: passkey counts where a passkey has signed a
// statement of all that would run, and nowhere else. The Desk writes the statement for an
// answer that is a draft, and takes it back once. Whether the signature is good is found out
// by whoever brings it, before the Desk is told: here counts which statement it was.

// maxDrafts is how many statements of one question wait for a signature; the oldest is
// forgotten.
const maxDrafts = 16

// draft says what is to be signed for a yes to count.
func (d *Desk) draft(p *pending, why string, to change) {
	one := draft{on: p.digest, to: to, why: why, nonce: p.nonce}
	if len(to.modified) > 0 {
		one.nonce = d.o.Random()
	}
	about := *p
	about.args, about.timeout, about.nonce = to.args, to.timeout, one.nonce
	if len(to.modified) > 0 { // else it is what was shown, whose time may be another one since
		about.digest = about.bind()
	}
	one.digest = about.digest
	one.statement = d.statement(&about)
	if p.drafts = append(p.drafts, one); len(p.drafts) > maxDrafts {
		p.drafts = slices.Clone(p.drafts[1:])
	}
	d.do(ToSign{ID: p.id, Statement: one.statement})
}

// statement says what would run, for whom, where and why it was asked, on one line of JSON that
// is never the same twice. The digest covers what the rest of it names, and more; the rest is
// there to be compared with the record, as which the arguments count in the spelling that they
// have there.
func (d *Desk) statement(p *pending) []byte {
	nonce := d.o.Random()
	var o object
	o.str("question", p.id)
	o.str("bridge", p.q.Bridge)
	o.str("topic", p.q.Topic)
	o.str("from", p.q.Caller)
	o.str("method", p.q.Method)
	o.str("tool", p.q.Tool)
	o.raw("rules", list(p.q.Terms.Rules...))
	if d.redactor != nil {
		recorded := sha256.Sum256(rawjson.OneLine(d.recorded(p)))
		o.str("recorded_args", hex.EncodeToString(recorded[:]))
	}
	o.str("digest", p.digest.String())
	o.str("nonce", hex.EncodeToString(nonce[:]))
	return o.end()
}

// recorded are the arguments as the record has them.
func (d *Desk) recorded(p *pending) []byte {
	if p.q.Method == plan.Method {
		return plan.Redacted(p.args, d.redactor.Redact)
	}
	return d.redactor.Redact(p.args)
}

// sign takes the draft that was signed, nil if it is none of those that wait, or the question
// has changed since.
func (p *pending) sign(s *Signed) *draft {
	i := slices.IndexFunc(p.drafts, func(d draft) bool { return string(d.statement) == string(s.Statement) })
	if i < 0 {
		return nil
	}
	one := p.drafts[i]
	p.drafts = slices.Delete(p.drafts, i, i+1)
	if one.on != p.digest {
		return nil
	}
	return &one
}
