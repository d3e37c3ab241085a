package approval

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// A Dialog is a question as an MCP client puts it to its person by an elicitation of
// its own: one required choice, and beside it what of the call may be changed and to
// whom the question may be passed on (seed 003, patterns 2 and 3). Whoever wrote the
// question named the fields, so none of them can stand for the choice.
type Dialog struct {
	Text       string // the question, as a person must see it, fit to be shown
	Edits      []Field
	DelegateTo []string
}

// Dialog is the question as a client shows it. problem is what was wrong with the answer
// before, "" if there was none.
func (v *View) Dialog(problem string) Dialog {
	if problem != "" {
		problem = "Please answer again: " + problem + "\n"
	}
	shown := *v
	shown.Facts = append(slices.Clip(v.Facts), v.besides()...)
	return Dialog{problem + strings.TrimSuffix(shown.lines(" ["+v.Short+"]", "It "), "\n"), v.Edits, v.DelegateTo}
}

// besides are what the facts of a View do not say and a person at a terminal is shown.
func (v *View) besides() (facts []Fact) {
	why := Fact{"Why asked", v.WhyAsked()}
	if v.Rule != "" && v.fact("Rule") == v.Rule {
		why.Text = ""
	}
	needs := Fact{"Needs", v.Needs()}
	if v.fact("Needs") != "?" {
		needs.Text = ""
	}
	for _, f := range []Fact{{"Server says", v.ServerSays()}, why, needs} {
		if f.Text != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

// Dialog is the question as the client of a participant shows it, who was asked in a topic
// and can pass it on to delegates. A dialog may have to wait for a call of the client's, so
// it does not say how long there is.
func (q *Elicited) Dialog(topic string, delegates []string) Dialog {
	v := q.View
	v.Facts = append(slices.Clip(v.Facts), Fact{"Topic", text.Line(topic)}, Fact{"Decide by", text.Stamp(v.Deadline.UTC())})
	v.DelegateTo = delegates
	return v.Dialog("")
}

const (
	maxOffers = 32  // fields in one dialog
	maxNow    = 100 // characters of the value that one has now
)

// An offer is a field as it stands in a dialog.
type offer struct {
	*Field
	key   string   // the property
	words []string // what can be chosen, nil if it is typed in
}

var (
	plainKey    = text.Pattern(`^[A-Za-z][A-Za-z0-9_]*$`)
	numberedKey = text.Pattern(`(?i)^edit[0-9]+$`)
)

// offers are the fields that a client's form can show. One whose values cannot be seen
// as they would be sent back is left to the other surfaces.
func (d *Dialog) offers() (all []offer) {
	taken := map[string]bool{"decision": true, "delegateto": true, "reason": true}
	for i := range d.Edits[:min(len(d.Edits), maxOffers)] {
		o := offer{Field: &d.Edits[i], key: d.Edits[i].Field}
		if len(o.key) > 64 || !plainKey().MatchString(o.key) || numberedKey().MatchString(o.key) || taken[strings.ToLower(o.key)] {
			o.key = "edit" + strconv.Itoa(i+1)
		}
		taken[strings.ToLower(o.key)] = true
		if o.choose() {
			all = append(all, o)
		}
	}
	return all
}

// choose makes a choice between words of what has an enum, for MCP knows no other, and
// of a boolean whose value is unknown: a box that nobody touched says false. It reports
// false if nothing can be chosen.
func (o *offer) choose() bool {
	enum := o.Enum
	if o.Type == "boolean" && len(enum) == 0 && o.Now == "" {
		enum = []string{"true", "false"}
	}
	for _, raw := range enum {
		word := raw
		if s, quoted := jsonrpc.Unquote([]byte(raw)); quoted {
			word = s
		}
		if o.unfit([]byte(raw)) != "" || !text.Plain(word) {
			return false
		}
		if word != "" && !slices.Contains(o.words, word) { // nothing chosen is no change
			o.words = append(o.words, word)
		}
	}
	return len(enum) == 0 || len(o.words) > 0
}

// Schema is the requestedSchema of the elicitation. What is decided has no default and
// must be chosen: an accept alone says nothing, for some clients accept what nobody saw.
func (d *Dialog) Schema() []byte {
	var properties object
	choices, names := []string{"allow", "deny"}, []string{"Allow this call", "Deny this call"}
	if len(d.DelegateTo) > 0 {
		choices, names = append(choices, "delegate"), append(names, "Let somebody else decide")
	}
	decision := newProperty("string", "Decision", "", choices...)
	decision.raw("enumNames", list(names...))
	properties.put("decision", decision)
	if len(d.DelegateTo) > 0 {
		properties.put("delegateTo", newProperty("string", "Who decides instead", "", d.DelegateTo...))
	}
	for _, o := range d.offers() {
		properties.put(o.key, o.property())
	}
	reason := newProperty("string", "Reason", "")
	reason.num("maxLength", maxSaid)
	properties.put("reason", reason)
	return schema(properties, "decision")
}

// property has a default for a boolean alone, which is what a box shows: elsewhere
// nothing in a field means that nothing changes.
func (o *offer) property() object {
	hint := "Left empty, it stays as it is."
	if o.Now != "" {
		hint = "Now " + text.Cut(o.Now, maxNow) + ". " + hint
	}
	if o.words != nil {
		return newProperty("string", o.Title, hint, o.words...)
	}
	p := newProperty(o.Type, o.Title, hint)
	if o.Type == "boolean" {
		p.raw("default", []byte(o.Now))
	} else {
		p.bounds(o.Field)
	}
	return p
}

// Slots of an answer to a dialog, after those of its action and content.
const (
	atDecision = atContent + 1 + iota
	atOther    // delegateTo
	atWhy      // reason
	atOffers
)

// Read takes the result of the elicitation, which need not even be JSON. problem says
// why it is no decision, "" if it is one; with a problem r is a no.
func (d *Dialog) Read(raw []byte) (r Reply, problem string) {
	offers := d.offers()
	inside := jsonrpc.Shape{{Name: "decision", Slot: atDecision}, {Name: "delegateTo", Slot: atOther}, {Name: "reason", Slot: atWhy}}
	for i, o := range offers {
		inside = append(inside, jsonrpc.Member{Name: o.key, Slot: atOffers + i})
	}
	in := result{raw, make([]jsonrpc.Span, atOffers+len(offers))}
	top := jsonrpc.Shape{{Name: "action", Slot: atAction}, {Name: "content", Slot: atContent, Inside: inside}}
	if jsonrpc.Scan(raw, jsonrpc.Judged, top, in.slots) != nil || raw[rawjson.Space(raw, 0)] != '{' {
		return r, "the answer could not be read"
	}
	switch action, _ := in.text(atAction); action {
	case "accept":
	case "decline":
		return r, ""
	case "cancel":
		return Reply{Dismiss: true}, ""
	default:
		return r, "the answer held no decision"
	}
	reason, _ := in.text(atWhy)
	to, _ := in.text(atOther)
	decision, _ := in.text(atDecision)
	switch {
	case decision == "deny":
		return Reply{Reason: reason}, ""
	case decision == "delegate" && slices.Contains(d.DelegateTo, to):
		return Reply{To: to, Reason: reason}, ""
	case decision != "allow":
		return r, "the answer held no decision"
	case in.named(atOther):
		return r, allowsAndPassesOn
	}
	fields, problem := in.changes(offers, inside)
	if problem != "" {
		return r, problem
	}
	return Reply{Allow: true, Reason: reason, Fields: fields}, ""
}

// changes are the fields that were filled in. What was not offered is a problem, for to
// run the call without it may not be what they agreed to.
func (in *result) changes(offers []offer, known jsonrpc.Shape) (all []Entry, problem string) {
	for m := range rawjson.Parts(in.raw, in.slots[atContent].Start) {
		if !slices.ContainsFunc(known, func(k jsonrpc.Member) bool { return k.Name == m.Name }) {
			return nil, "the answer holds " + text.Quote(m.Name, 64) + ", which was not asked for"
		}
	}
	for i, o := range offers {
		raw := in.get(atOffers + i)
		if !in.has(atOffers+i) || string(raw) == `""` {
			continue
		}
		value, problem := o.value(raw)
		if problem != "" {
			return nil, o.Title + " " + problem
		}
		if o.Now == "" || !same([]byte(o.Now), value) {
			all = append(all, Entry{o.Field.Field, value})
		}
	}
	return all, ""
}

// value is what was put into a field, as JSON of the field's type.
func (o *offer) value(raw []byte) (value []byte, problem string) {
	if word, ok := jsonrpc.Unquote(raw); ok && o.words != nil && o.Type != "string" {
		raw = []byte(word)
	}
	return raw, o.unfit(raw)
}
