package approval

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// A word is what an answer comes down to. The zero word is no.
type word uint8

const (
	no word = iota
	yes
	elsewhere // ask somebody else
)

// A reply is an answer, read.
type reply struct {
	said   word
	reason string // why it is a no
	detail string // the same for the record
	why    string // the person's own words, stripped
	to     string // whom to ask instead
	edits  []value
	keep   string // what to remember: "", "session", "folder", "tool" or "always"
}

// A value is what an answer puts in a field.
type value struct {
	edit int    // which of Terms.Edit
	raw  []byte // JSON
}

// Slots of an elicitation's result. The fields to edit come after them.
const (
	atAction = iota
	atContent
	atApprove
	atChoice
	atDelegate
	atReason
	atKeep
	atDigest
	atFields
)

// reserved are the properties that a question's schema has of itself.
var reserved = jsonrpc.Shape{
	{Name: "approve", Slot: atApprove}, {Name: "action", Slot: atChoice}, {Name: "delegateTo", Slot: atDelegate},
	{Name: "reason", Slot: atReason}, {Name: "remember", Slot: atKeep},
}

// digestField may be sent along to say what was shown.
const digestField = "digest"

func isReserved(name string) bool {
	return slices.ContainsFunc(reserved, func(m jsonrpc.Member) bool { return m.Name == name })
}

// A result is the text of an answer with its members found.
type result struct {
	raw   []byte
	slots []jsonrpc.Span
}

func (r *result) has(slot int) bool { return r.slots[slot].End != 0 }

func (r *result) get(slot int) []byte { return r.raw[r.slots[slot].Start:r.slots[slot].End] }

// text is the decoded string in a slot; ok says that it is one.
func (r *result) text(slot int) (s string, ok bool) { return jsonrpc.Unquote(r.get(slot)) }

func invalid(detail string) reply { return reply{reason: InvalidAnswer, detail: detail} }

// read is the truth table of WIRE 7.2. Nothing is coerced, and what can be
// read in two ways is no yes.
func (p *pending) read(raw []byte) reply {
	if len(raw) > MaxAsked {
		return invalid("it is longer than any question")
	}
	shape := append(jsonrpc.Shape(nil), reserved...)
	for i, e := range p.q.Terms.Edit {
		if p.offers(e.Field) {
			shape = append(shape, jsonrpc.Member{Name: e.Field, Slot: atFields + i})
		}
	}
	if !p.offers(digestField) {
		shape = append(shape, jsonrpc.Member{Name: digestField, Slot: atDigest})
	}
	r := result{raw, make([]jsonrpc.Span, atFields+len(p.q.Terms.Edit))}
	top := jsonrpc.Shape{{Name: "action", Slot: atAction}, {Name: "content", Slot: atContent, Inside: shape}}
	if err := jsonrpc.Scan(raw, jsonrpc.Judged, top, r.slots); err != nil {
		return invalid(err.Error())
	}
	why := ""
	if s, ok := r.text(atReason); ok && r.has(atReason) {
		why = text.Strip(s, maxSaid)
	}
	read := p.choose(&r)
	read.why = why
	return read
}

// maxSaid is how many characters are kept of a person's reason.
const maxSaid = 500

func (p *pending) choose(r *result) reply {
	action, _ := r.text(atAction)
	switch action {
	case "accept":
	case "decline":
		return reply{reason: Declined}
	case "cancel":
		return reply{reason: Cancelled}
	default:
		return invalid("action is none of accept, decline and cancel")
	}
	if !r.has(atContent) || r.get(atContent)[0] != '{' {
		return invalid("accepted without content")
	}
	read := p.decision(r)
	if read.said == no {
		return read
	}
	if text, ok := r.text(atDigest); r.has(atDigest) && !(ok && p.digest.Is(text)) {
		return invalid("the digest is not the question's")
	}
	return p.withEdits(r, read)
}

// decision reads action, where the question offers to pass it on, and approve
// (seed 003, patterns 1 and 3). If both are there they must not contradict.
func (p *pending) decision(r *result) reply {
	approve, choice := "", ""
	if r.has(atApprove) {
		approve = string(r.get(atApprove))
	}
	if r.has(atChoice) {
		choice, _ = r.text(atChoice)
	}
	if r.has(atChoice) && p.q.Terms.Delegate != nil {
		return p.chosen(r, choice, approve)
	}
	switch {
	case approve == "false":
		return reply{reason: Declined}
	case approve != "true":
		return invalid("approve is not true or false")
	case choice == "deny" || choice == "delegate":
		return invalid("approve and action contradict each other")
	case r.named(atDelegate):
		return invalid(allowsAndPassesOn)
	}
	return reply{said: yes}
}

const allowsAndPassesOn = "the answer allows the call and passes the question on"

// named reports whether somebody is named in a slot, or something else than nobody is: a
// form may send what was left empty as null or as an empty text.
func (r *result) named(slot int) bool {
	raw := r.get(slot)
	return r.has(slot) && string(raw) != "null" && string(raw) != `""`
}

func (p *pending) chosen(r *result, choice, approve string) reply {
	switch {
	case choice == "deny":
		return reply{reason: Declined}
	case choice == "delegate" && approve != "true":
		to, _ := r.text(atDelegate)
		return reply{said: elsewhere, to: to}
	case choice == "approve" && approve != "false" && r.named(atDelegate):
		return invalid(allowsAndPassesOn)
	case choice == "approve" && approve != "false":
		return reply{said: yes}
	case choice == "approve" || choice == "delegate":
		return invalid("approve and action contradict each other")
	}
	return invalid("action is none of approve, deny and delegate")
}

// withEdits adds what the form was filled in with.
func (p *pending) withEdits(r *result, read reply) reply {
	if read.said != yes {
		return read
	}
	for i := range p.q.Terms.Edit {
		if r.has(atFields + i) {
			read.edits = append(read.edits, value{i, r.get(atFields + i)})
		}
	}
	if name := p.notOffered(r); name != "" {
		return reply{reason: InvalidModification, detail: "the question did not offer to change " + text.Line(name)}
	}
	if len(p.offersToKeep()) > 0 && r.has(atKeep) {
		keep, _ := r.text(atKeep)
		if !slices.Contains(p.offersToKeep(), keep) {
			return invalid("remember is none of what was offered")
		}
		if keep != "once" {
			read.keep = keep
		}
	}
	return read
}

// notOffered finds a member of the content by which somebody seems to mean to
// change the call although nothing of the kind was offered: it is named like an
// argument, or holds something that is. To run the call unchanged would not be
// what they agreed to. Other members are passed over (WIRE 7.2).
func (p *pending) notOffered(r *result) string {
	content := r.get(atContent)
	arguments := map[string]bool{}
	for m := range rawjson.Parts(p.args, rawjson.Space(p.args, 0)) {
		arguments[m.Name] = true
	}
	for m := range rawjson.Parts(content, 0) {
		if isReserved(m.Name) || p.offers(m.Name) || m.Name == digestField {
			continue
		}
		if arguments[m.Name] || p.offeredOnce(m.Name, m.Of(content)) {
			return m.Name
		}
		if content[m.Start] != '{' {
			continue
		}
		for inner := range rawjson.Parts(content, m.Start) {
			if arguments[inner.Name] {
				return m.Name
			}
		}
	}
	return ""
}

// offeredOnce: a form that somebody may still have open offers the field, the
// policy no longer does, and the value is not what the call has.
func (p *pending) offeredOnce(field string, raw []byte) bool {
	for i := range p.closed {
		if e := &p.closed[i]; e.Field == field {
			now := p.current(e, p.args)
			return now == nil || !same(now, raw)
		}
	}
	return false
}

// offers reports whether the question's form has a field of that name.
func (p *pending) offers(field string) bool {
	return !isReserved(field) && slices.ContainsFunc(p.q.Terms.Edit, func(e policy.Edit) bool { return e.Field == field })
}

// A Reply is an answer as one of our own doors puts it together.
type Reply struct {
	Allow    bool
	To       string // whom to ask instead; "" for nobody
	Reason   string
	Remember string // "once", "session", "folder", "tool", "always" or "", which is once
	Fields   []Entry
	Dismiss  bool // a no of somebody who closed the question without answering
}

// An Entry is what a form was filled in with.
type Entry struct {
	Field string
	Raw   []byte // JSON
}

// Result writes r as the result of an elicitation. delegating says that the
// question offers to pass it on ([View.DelegateTo] is not empty).
func (r *Reply) Result(delegating bool) []byte {
	if r.Dismiss {
		return []byte(`{"action":"cancel"}`)
	}
	if !r.Allow && r.To == "" {
		return append(jsonrpc.AppendQuote([]byte(`{"action":"decline","content":{"reason":`), r.Reason), "}}"...)
	}
	var b bytes.Buffer
	b.WriteString(`{"action":"accept","content":{`)
	switch {
	case r.To != "":
		b.Write(jsonrpc.AppendQuote([]byte(`"action":"delegate","delegateTo":`), r.To))
	case delegating:
		b.WriteString(`"action":"approve"`)
	default:
		b.WriteString(`"approve":true`)
	}
	if r.Reason != "" {
		b.Write(jsonrpc.AppendQuote([]byte(`,"reason":`), r.Reason))
	}
	if r.Remember != "" {
		b.Write(jsonrpc.AppendQuote([]byte(`,"remember":`), r.Remember))
	}
	for _, e := range r.Fields {
		b.Write(append(jsonrpc.AppendQuote([]byte{','}, e.Field), ':'))
		b.Write(e.Raw)
	}
	b.WriteString("}}")
	return b.Bytes()
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
