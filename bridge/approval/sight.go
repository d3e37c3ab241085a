package approval

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// look makes the sight of arguments, and of what stands beside them, as they may be
// shown; nil if they are hidden. redact hides what may not be shown of a plan; nil hides nothing.
func (p *pending) look(args, beside []byte, redact func([]byte) []byte) sight {
	var m text.Marks
	s := sight{headline: p.headline(&m), about: p.q.about(args), compact: compact(args, &m), edits: p.fields(args)}
	if of := p.q.aPlan(p.args); of != nil && args != nil {
		s.plan = planned(of, &m, redact)
	}
	s.banner = m.Banner()
	if len(p.q.Beside) > 0 {
		var of text.Marks
		s.beside = compact(beside, &of)
		s.banner = append(append(s.banner, besideNote), of.Banner()...)
	}
	return s
}

// headline holds nothing of the caller's but its id, which the gateway gave.
func (p *pending) headline(m *text.Marks) string {
	if p.q.AboutPolicy {
		return "The policy file was changed, and may let more through, or tell people less or other words. Shall it count?"
	}
	text := append(m.AppendLine(nil, p.q.Caller), wantsTo...)
	return string(m.AppendLine(text, p.q.wants()))
}

// publish makes it, unless it was made of the arguments as they are. Whoever changes
// them, or what may be seen of them or edited, forgets it.
func (d *Desk) publish(p *pending) *published {
	if p.published != nil {
		return p.published
	}
	args, redact := d.public(p.args), d.redact
	if p.q.aPlan(p.args) != nil && args != nil {
		args = plan.Redacted(p.args, redact)
	}
	var beside []byte
	if len(p.q.Beside) > 0 {
		beside = d.public(p.q.Beside)
	}
	p.published = &published{sight: p.look(args, beside, redact)}
	p.published.args, p.published.sizes[0] = original(args)
	p.published.beside, p.published.sizes[1] = original(beside)
	return p.published
}

// maxOriginal is how long the arguments in the metadata may be; of longer ones
// the length stands there.
const maxOriginal = 8 << 10

// original is one of two things that stand in the metadata: arguments in one spelling,
// or, where they are long, how many bytes that is; where they are very long, how many
// they have as they came.
func original(args []byte) (spelled []byte, size int) {
	switch {
	case args == nil:
		return nil, 0
	case len(args) > 8*maxOriginal:
		return nil, len(args)
	}
	spelled = rawjson.AppendRespelled(nil, args, text.AppendJSONString)
	if len(spelled) > maxOriginal {
		return nil, len(spelled)
	}
	return spelled, 0
}

// SetRedactor says what the topic, which is public (RELIABILITY AI-24), may see of
// arguments; nil, as before it is called: nothing. What was shown already is made anew
// by Judged.
func (d *Desk) SetRedactor(r Redactor) { d.redactor = r }

// redact is what the topic may see of the arguments of a call, nothing where nobody says.
func (d *Desk) redact(args []byte) []byte {
	if args = d.public(args); args == nil {
		return []byte("{}")
	}
	return args
}

// public is what the topic may see of arguments, nil if nothing.
func (d *Desk) public(args []byte) []byte {
	if d.redactor == nil {
		return nil
	}
	redacted := d.redactor.Redact(args)
	if jsonrpc.Scan(redacted, jsonrpc.Judged, nil, nil) != nil {
		return nil
	}
	return redacted
}

// fields are what may be changed, with the values they have in the arguments
// given.
func (p *pending) fields(args []byte) (fields []Field) {
	for i := range p.q.Terms.Edit {
		e := &p.q.Terms.Edit[i]
		if !p.offers(e.Field) {
			continue
		}
		title := e.Title
		if title == "" {
			title = e.Field
		}
		f := Field{Field: e.Field, Title: text.Line(title), Type: e.Type, Enum: e.Enum, Min: e.Min, Max: e.Max}
		now := p.current(e, args)
		if now != nil && unfit(e, now) == "" {
			f.Under = e.Under
			f.Now = string(rawjson.AppendCanonical(nil, now, text.AppendJSONString))
		}
		fields = append(fields, f)
	}
	return fields
}
