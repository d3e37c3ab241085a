package approval

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// params are those of the elicitation/create that puts the question before a
// participant (seed 003, patterns 1 to 3). The topic is public, so they hold
// only what may be seen there.
func (d *Desk) params(p *pending, s *ballot, problem string) []byte {
	shown := d.publish(p)
	v := p.view(d.now, s.till, shown.sight, p.q.Program)
	v.DelegateTo, v.RememberMeans = p.delegates(s), d.o.mean(&p.q, v.Remember, d.redact)
	var message strings.Builder
	message.WriteString(v.Headline + " on " + text.Line(p.q.Bridge) + " [" + v.Short + "]")
	for _, line := range v.Banner {
		message.WriteString("; it " + line)
	}
	if problem != "" {
		message.WriteString(". Please answer again: " + text.Line(problem))
	}
	meta := p.metadata(s, shown, int(s.till.Sub(d.now)/time.Second))
	var mirror, params object
	mirror.raw("mcpx/approval", meta)
	params.str("message", message.String())
	params.raw("requestedSchema", p.schema(&v))
	params.raw("metadata", meta)
	params.put("_meta", mirror)
	return params.end()
}

func (p *pending) metadata(s *ballot, shown *published, seconds int) []byte {
	var m, original object
	original.str("from", p.q.Caller)
	original.str("tool", p.q.Tool)
	if p.q.Method != "tools/call" {
		original.str("method", p.q.Method)
	}
	if shown.sizes[0] > 0 {
		original.num("argumentsBytes", shown.sizes[0])
	} else if shown.args != nil {
		original.raw("arguments", shown.args)
	}
	if shown.sizes[1] > 0 {
		original.num("besideBytes", shown.sizes[1])
	} else if shown.beside != nil {
		original.raw("beside", shown.beside)
	}
	if p.q.RPC != nil {
		original.raw("requestId", p.q.RPC)
	}
	original.str("envelopeId", p.q.Envelope)
	if p.q.Proposer != "" {
		original.str("proposer", p.q.Proposer)
	}
	if p.q.Reason != "" {
		original.str("reason", p.q.Reason)
	}
	m.str("elicitationType", "tool_approval")
	m.num("timeout", seconds)
	if p.q.Terms.Priority != "" {
		m.str("priority", p.q.Terms.Priority)
	}
	m.put("originalRequest", original)
	if len(s.chain) > 0 {
		m.raw("delegation", appendHops(nil, s.chain))
	}
	if p.need > 1 {
		p.putTally(&m)
	}
	if p.q.Terms.Confirm != "" {
		m.str("confirm", p.q.Terms.Confirm)
	}
	m.put("why", p.why())
	m.str("digest", p.digest.String())
	return m.end()
}

// putTally says how many must agree, and who does by now.
func (p *pending) putTally(to *object) {
	to.num("need", p.need)
	var names []string
	for _, w := range p.who(agreed) {
		names = append(names, w.String())
	}
	to.raw("agreed", list(names...))
}

// why says why somebody is asked, and what the server says of the tool, as the person at the
// bridge is shown it. The topic knows all of that.
func (p *pending) why() (o object) {
	if p.q.Via != "" {
		o.str("via", p.q.Via)
	}
	o.raw("rules", list(p.q.Terms.Rules...))
	if p.q.About != "" {
		o.str("about", p.q.About)
	}
	o.raw("hints", list(p.q.Hints.Words()...))
	o.raw("asked", list(p.askedNow()...))
	return o
}

// askedNow are those who have the question before them, or get it with this one.
func (p *pending) askedNow() (names []string) {
	states := []state{beingAsked}
	if !p.sequential() {
		states = append(states, waiting)
	}
	for _, w := range p.who(states...) {
		names = append(names, w.String())
	}
	return names
}

// sendTally tells whoever has a question open in the topic who agrees by now.
func (d *Desk) sendTally(p *pending) {
	for _, s := range p.ballots {
		if s.state != beingAsked || len(s.asks) == 0 {
			continue
		}
		var params object
		params.raw("requestId", s.asks[len(s.asks)-1].rpc())
		p.putTally(&params)
		d.do(Tally{ID: p.id, To: s.who, Params: params.end()})
	}
}

// schema is the form: approve or, where the question may be passed on, action
// and delegateTo; then what may be changed; then the person's own words.
func (p *pending) schema(v *View) []byte {
	var properties object
	required, title := "approve", "Approve this tool call?"
	if len(v.DelegateTo) > 0 {
		required = "action"
		action := newProperty("string", title, v.description(), "approve", "deny", "delegate")
		action.raw("enumNames", list("Approve", "Deny", "Delegate to another user"))
		properties.put("action", action)
		properties.put("delegateTo", newProperty("string", "Delegate to (participant ID)", "Only required if action is 'delegate'", v.DelegateTo...))
	} else {
		if p.q.Method != toolsCall {
			title = "Approve this request?"
		}
		properties.put("approve", newProperty("boolean", title, v.description()))
	}
	for i := range v.Edits {
		properties.put(v.Edits[i].Field, v.Edits[i].property())
	}
	if len(v.Remember) > 0 {
		covers := "For this caller, this tool and exactly these arguments"
		if slices.ContainsFunc(v.Remember, policy.CoversMore) {
			covers = "For this caller and this tool"
		}
		properties.put("remember", newProperty("string", "Remember this answer (optional)", covers+v.meanings(), v.Remember...))
	}
	properties.put("reason", newProperty("string", "Reason (optional)", "Provide a reason for your decision"))
	return schema(properties, required)
}

// meanings are those of a View as sentences of a form.
func (v *View) meanings() string {
	var b strings.Builder
	for i, means := range v.RememberMeans {
		b.WriteString(". " + v.Remember[i] + ": " + means)
	}
	return b.String()
}
