package approval

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// maxOriginal is how long the arguments in the metadata may be; of longer ones
// the length stands there.
const maxOriginal = 8 << 10

// An object is a JSON object that is being written.
type object []byte

func (o *object) raw(name string, value []byte) {
	if len(*o) == 0 {
		*o = append(*o, '{')
	} else {
		*o = append(*o, ',')
	}
	*o = append(jsonrpc.AppendQuote(*o, name), ':')
	*o = append(*o, value...)
}

func (o *object) str(name, value string) { o.raw(name, text.AppendJSONString(nil, value)) }

func (o *object) num(name string, n int) { o.raw(name, strconv.AppendInt(nil, int64(n), 10)) }

func (o *object) put(name string, inner object) { o.raw(name, inner.end()) }

func (o *object) end() []byte {
	if len(*o) == 0 {
		return []byte("{}")
	}
	return append(*o, '}')
}

func list(words ...string) []byte {
	text := []byte{'['}
	for i, w := range words {
		if i > 0 {
			text = append(text, ',')
		}
		text = jsonrpc.AppendQuote(text, w)
	}
	return append(text, ']')
}

// newProperty begins one property of a form; what is empty is left out.
func newProperty(kind, title, description string, choices ...string) (p object) {
	p.str("type", kind)
	p.str("title", title)
	if description != "" {
		p.str("description", description)
	}
	if len(choices) > 0 {
		p.raw("enum", list(choices...))
	}
	return p
}

// bounds are those of a field's value, or of its length.
func (o *object) bounds(f *Field) {
	low, high := "minimum", "maximum"
	if f.Type == "string" {
		low, high = "minLength", "maxLength"
	}
	if _, ok := number([]byte(f.Min)); ok {
		o.raw(low, []byte(f.Min))
	}
	if _, ok := number([]byte(f.Max)); ok {
		o.raw(high, []byte(f.Max))
	}
}

// schema is a form as the requestedSchema of an elicitation.
func schema(properties object, required string) []byte {
	var s object
	s.str("type", "object")
	s.put("properties", properties)
	s.raw("required", list(required))
	return s.end()
}

// params are those of the elicitation/create that puts the question before a
// participant (seed 003, patterns 1 to 3). The topic is public, so they hold
// only what may be seen there.
func (d *Desk) params(p *pending, s *ballot, problem string) []byte {
	shown := d.publish(p)
	v := p.view(d.now, s.till, shown.sight, p.q.Program)
	v.DelegateTo, v.RememberMeans = p.delegates(s), d.o.mean(v.Remember)
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

// A published is what everybody asked over the topic is shown of the arguments of a
// question. It is made once, however many are asked and however often: that takes long
// where there are many arguments (FINDINGS M3).
type published struct {
	sight
	args, beside []byte // for the metadata: in one spelling; nil if hidden or too long to be in it
	sizes        [2]int // of those that are too long
}

// publish makes it, unless it was made of the arguments as they are. Whoever changes
// them, or what may be seen of them or edited, forgets it.
func (d *Desk) publish(p *pending) *published {
	if p.published != nil {
		return p.published
	}
	args := d.public(p.args)
	var beside []byte
	if len(p.q.Beside) > 0 {
		beside = d.public(p.q.Beside)
	}
	p.published = &published{sight: p.look(args, beside)}
	p.published.args, p.published.sizes[0] = original(args)
	p.published.beside, p.published.sizes[1] = original(beside)
	return p.published
}

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
	spelled = rawjson.AppendCanonical(nil, args, text.AppendJSONString)
	if len(spelled) > maxOriginal {
		return nil, len(spelled)
	}
	return spelled, 0
}

// public is what the topic may see of arguments, nil if nothing.
func (d *Desk) public(args []byte) []byte {
	if d.o.Redact == nil {
		return nil
	}
	redacted := d.o.Redact(args)
	if jsonrpc.Scan(redacted, jsonrpc.Judged, nil, nil) != nil {
		return nil
	}
	return redacted
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
	m.str("digest", p.digest.String())
	return m.end()
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
		properties.put("remember", newProperty("string", "Remember this answer (optional)",
			"For this caller, this tool and exactly these arguments"+v.meanings(), v.Remember...))
	}
	properties.put("reason", newProperty("string", "Reason (optional)", "Provide a reason for your decision"))
	return schema(properties, required)
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
			f.Now = string(rawjson.AppendCanonical(nil, now, text.AppendJSONString))
		}
		fields = append(fields, f)
	}
	return fields
}

// current is the value of what may be changed, nil if it has none or none that
// may be seen.
func (p *pending) current(e *policy.Edit, args []byte) []byte {
	switch {
	case e.Arg == timeoutArg && p.timeout > 0:
		return strconv.AppendFloat(nil, p.timeout.Seconds(), 'f', -1, 64)
	case e.Arg == timeoutArg || args == nil:
		return nil
	}
	pointer := jsontext.Pointer(e.Arg)
	shown, real := rawjson.At(args, pointer), rawjson.At(p.args, pointer)
	if shown == nil || real == nil || !same(shown, real) {
		return nil
	}
	return real
}

func (f *Field) property() object {
	o := newProperty(f.Type, f.Title, "")
	if f.Now != "" {
		o.raw("default", []byte(f.Now))
	}
	if len(f.Enum) > 0 {
		o.raw("enum", []byte("["+strings.Join(f.Enum, ",")+"]"))
	}
	o.bounds(f)
	return o
}
