package approval

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// An Elicited is a question as somebody in the topic puts it to us (seed 003,
// patterns 1 to 3). All that it says is the asker's word.
type Elicited struct {
	View     View   // as people may see it, without an ID; nothing in it is known but who asks
	Key      string // the same when the asker puts the same question again
	Delegate bool   // it may be passed on, the asker decides to whom

	// DelegateTo are those to whom, if the asker says so: our bridges do, and name local
	// and host too, who are no participants.
	DelegateTo []string
}

// An elicitation is what is read of the parameters of elicitation/create.
type elicitation struct {
	Message  string         `json:"message"`
	Schema   formSchema     `json:"requestedSchema"`
	Metadata claims         `json:"metadata"`
	Meta     jsontext.Value `json:"_meta"`
}

type formSchema struct {
	Properties jsontext.Value `json:"properties"`
}

type claims struct {
	Type       string         `json:"elicitationType"`
	Timeout    jsontext.Value `json:"timeout"` // seconds
	Priority   string         `json:"priority"`
	Digest     string         `json:"digest"`
	Need       int            `json:"need"`   // how many must agree; 0 where the asker does not say, or one is enough
	Agreed     []string       `json:"agreed"` // who has
	Why        jsontext.Value `json:"why"`
	Delegation []struct {
		By string `json:"by"`
		To string `json:"to"`
	} `json:"delegation"`
	Original struct {
		From     string         `json:"from"`
		Tool     string         `json:"tool"`
		Method   string         `json:"method"`
		Args     jsontext.Value `json:"arguments"`
		Bytes    int            `json:"argumentsBytes"`
		Beside   jsontext.Value `json:"beside"`
		Envelope string         `json:"envelopeId"`
		Proposer string         `json:"proposer"`
		Reason   string         `json:"reason"`
	} `json:"originalRequest"`
}

// A property is one field of a form.
type property struct {
	Type        string           `json:"type"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Default     jsontext.Value   `json:"default"`
	Enum        []jsontext.Value `json:"enum"`
	Minimum     jsontext.Value   `json:"minimum"`
	Maximum     jsontext.Value   `json:"maximum"`
	MinLength   jsontext.Value   `json:"minLength"`
	MaxLength   jsontext.Value   `json:"maxLength"`
}

// ErrNotApproval says that an elicitation asks for something else than leave
// for a call.
var ErrNotApproval = errors.New("this is no question about a tool call")

// Elicit reads the parameters of an elicitation/create from asker to me. They
// must have been scanned strictly before.
func Elicit(now time.Time, asker, me string, params []byte) (*Elicited, error) {
	var e elicitation
	if err := json.Unmarshal(params, &e); err != nil {
		return nil, err
	}
	if e.Metadata.Type != "tool_approval" && !e.mirrored() {
		return nil, ErrNotApproval
	}
	sum := sha256.Sum256(params)
	if len(e.Metadata.Digest) != hex.EncodedLen(sha256.Size) || !lowerHex.MatchString(e.Metadata.Digest) {
		e.Metadata.Digest = hex.EncodeToString(sum[:])
	}
	q := &Elicited{Key: asker + "\x00" + cmp.Or(e.Metadata.Original.Envelope, e.Metadata.Digest)}
	var m text.Marks
	v := &q.View
	v.Digest, v.Short, v.Priority = e.Metadata.Digest, e.Metadata.Digest[:8], text.Line(e.Metadata.Priority)
	v.Asked, v.Deadline, v.Me = now, now.Add(e.timeout()), text.Line(me)
	need := e.Metadata.Need
	if need == 0 && len(e.Metadata.Why) > 0 {
		need = 1 // who says why says how many too, where that is more than one
	}
	v.tally(need, e.Metadata.Agreed, v.why(e.Metadata.Why))
	v.Headline = e.headline(&m)
	q.form(&e)
	if args := e.args(); args != nil {
		v.Args = args
		v.Compact = compact(args, &m)
		v.Arguments, v.More = leaves(args, true)
	}
	v.Facts = e.facts(asker, &m)
	v.Banner = m.Banner()
	if beside := e.Metadata.Original.Beside; len(beside) > 0 && jsonrpc.Scan(beside, jsonrpc.Judged, nil, nil) == nil {
		v.setBeside(beside, beside)
		v.Facts = append(v.Facts, Fact{"Beside the arguments", v.BesideText})
	}
	v.Bridge, v.From, v.Tool, v.Asking = text.Line(asker), v.fact("Caller"), v.fact("Tool"), []string{v.Me}
	return q, nil
}

// why says why one is asked and what the server says of the tool, as our bridges say it: others
// may mean something else by the member. It returns who is asked, as far as it says so.
func (v *View) why(raw []byte) []string {
	var why struct {
		Via   string   `json:"via"`
		Rules []string `json:"rules"`
		About string   `json:"about"`
		Hints []string `json:"hints"`
		Asked []string `json:"asked"`
	}
	if json.Unmarshal(raw, &why) != nil {
		return nil
	}
	v.Via, v.About, v.Rule = text.Line(why.Via), text.Line(why.About), text.Line(strings.Join(why.Rules, ", "))
	for _, hint := range why.Hints {
		v.Hints = append(v.Hints, text.Line(hint))
	}
	return why.Asked
}

// tally says how many must agree, 0 where the asker does not say, who does by now, and who is
// asked beside us.
func (v *View) tally(need int, agree, asked []string) {
	v.Need, v.Have, v.People = need, len(agree), nil
	for _, who := range agree {
		v.People = append(v.People, Person{Who: text.Line(who), State: stateNames[agreed]})
	}
	v.People = append(v.People, Person{Who: v.Me, State: stateNames[beingAsked]})
	for _, who := range asked {
		if who = text.Line(who); who != v.Me && !slices.Contains(agree, who) {
			v.People = append(v.People, Person{Who: who, State: stateNames[beingAsked]})
		}
	}
}

// Tallied is the question with what the params of a tally say of it, which must have been scanned
// strictly before. It reports false if that is nothing that can be read.
func (v *View) Tallied(params []byte) (View, bool) {
	var says claims
	if json.Unmarshal(params, &says) != nil || says.Need < 1 {
		return *v, false
	}
	now := *v
	var asked []string
	for _, p := range v.People {
		asked = append(asked, p.Who)
	}
	now.tally(says.Need, says.Agreed, asked)
	return now, true
}

// fact is what a View says under a name, "?" if nothing.
func (v *View) fact(name string) string {
	for _, f := range v.Facts {
		if f.Name == name {
			return f.Text
		}
	}
	return "?"
}

var lowerHex = regexp.MustCompile(`^[0-9a-f]+$`)

// mirrored reads the metadata from where MCP has a place for it.
func (e *elicitation) mirrored() bool {
	var meta struct {
		Approval claims `json:"mcpx/approval"`
	}
	if json.Unmarshal(e.Meta, &meta) != nil || meta.Approval.Type != "tool_approval" {
		return false
	}
	e.Metadata = meta.Approval
	return true
}

func (e *elicitation) timeout() time.Duration {
	seconds, ok := number(e.Metadata.Timeout)
	if !ok || seconds.Sign() <= 0 {
		return defaultWithin
	}
	f, _ := seconds.Float64()
	return time.Duration(min(f, maxWithin.Seconds()) * float64(time.Second))
}

// args are the arguments, nil if the asker does not show them.
func (e *elicitation) args() []byte {
	args := []byte(e.Metadata.Original.Args)
	if jsonrpc.Scan(args, jsonrpc.Judged, nil, nil) != nil {
		return nil
	}
	return args
}

func (e *elicitation) headline(m *text.Marks) string {
	o := &e.Metadata.Original
	if o.From == "" || o.Tool == "" && o.Method == "" {
		return string(m.AppendLine(nil, e.Message))
	}
	return string(m.AppendLine(append(m.AppendLine(nil, o.From), " requests permission to "...), e.wants()))
}

// wants says what the call is, in the words that the bridge has for it.
func (e *elicitation) wants() string {
	o := &e.Metadata.Original
	q := Question{Method: cmp.Or(o.Method, toolsCall), Tool: o.Tool}
	return q.wants()
}

// maxDescribed is how many lines of a description are shown.
const maxDescribed = 40

func (e *elicitation) facts(asker string, m *text.Marks) (facts []Fact) {
	o := &e.Metadata.Original
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, Fact{name, string(m.AppendLine(nil, text))})
		}
	}
	add("Asked by", asker)
	add("Tool", cmp.Or(o.Tool, o.Method))
	add("Caller", o.From)
	add("Proposed by", o.Proposer)
	if o.Reason != "" {
		facts = append(facts, Fact{"The proposer says", string(m.AppendQuoted(nil, o.Reason))})
	}
	add("It says", e.unsaid(asker, m.Banner()))
	for _, d := range e.Metadata.Delegation {
		add("Passed on", "by "+d.By+" to "+d.To)
	}
	switch {
	case o.Bytes > 0:
		add("Warning", "the arguments are too long for the topic; they can be seen at the bridge")
	case e.args() == nil:
		add("Warning", "the asker does not say with which arguments, but in its own words")
	}
	if e.args() == nil {
		for _, line := range firstLines(e.description()) {
			add("It says", line)
		}
	}
	add("Digest", e.Metadata.Digest[:8])
	return facts
}

// unsaid is what of the asker's message the headline and the banner do not say: of that of a
// bridge of ours nothing, unless it asks again.
func (e *elicitation) unsaid(asker string, banner []string) string {
	o := &e.Metadata.Original
	ours := o.From + " requests permission to " + e.wants() + " on " + asker + " [" + e.Metadata.Digest[:8] + "]"
	rest, ok := strings.CutPrefix(e.Message, ours)
	if !ok {
		return e.Message
	}
	for _, line := range banner {
		rest = strings.TrimPrefix(rest, "; it "+line)
	}
	return strings.TrimLeft(rest, ".; ")
}

func firstLines(text string) []string {
	lines := strings.SplitN(text, "\n", maxDescribed+1)
	return lines[:min(len(lines), maxDescribed)]
}

func (e *elicitation) property(name string) (p property, ok bool) {
	if e.Schema.Properties.Kind() != '{' {
		return p, false
	}
	raw := rawjson.At(e.Schema.Properties, jsontext.Pointer("").AppendToken(name))
	return p, raw != nil && json.Unmarshal(raw, &p) == nil
}

func (e *elicitation) description() string {
	for _, name := range []string{"approve", "action"} {
		if p, ok := e.property(name); ok && p.Description != "" {
			return p.Description
		}
	}
	return ""
}

// form reads what the answer may hold beside yes and no.
func (q *Elicited) form(e *elicitation) {
	if p, ok := e.property("action"); ok && slices.ContainsFunc(p.Enum, isWord("approve")) {
		q.View.Choice, q.Delegate = true, slices.ContainsFunc(p.Enum, isWord("delegate"))
	}
	if p, ok := e.property("delegateTo"); ok && q.Delegate {
		for _, raw := range p.Enum {
			if name, ok := jsonrpc.Unquote(raw); ok && text.Plain(name) {
				q.DelegateTo = append(q.DelegateTo, name)
			}
		}
	}
	if p, ok := e.property("remember"); ok {
		for _, word := range []string{"once", "session", "always"} {
			if slices.ContainsFunc(p.Enum, isWord(word)) {
				q.View.Remember = append(q.View.Remember, word)
			}
		}
	}
	if e.Schema.Properties.Kind() != '{' {
		return
	}
	for m := range rawjson.Parts(e.Schema.Properties, 0) {
		var p property
		if isReserved(m.Name) || json.Unmarshal(m.Of(e.Schema.Properties), &p) != nil {
			continue
		}
		if f, ok := p.field(m.Name); ok {
			q.View.Edits = append(q.View.Edits, f)
		}
	}
}

func isWord(word string) func(jsontext.Value) bool {
	return func(raw jsontext.Value) bool {
		s, ok := jsonrpc.Unquote(raw)
		return ok && s == word
	}
}

func (p *property) field(name string) (f Field, ok bool) {
	f = Field{Field: name, Title: text.Line(cmp.Or(p.Title, name)), Type: p.Type, Now: string(p.Default)}
	switch p.Type {
	case "string":
		f.Min, f.Max = string(p.MinLength), string(p.MaxLength)
	case "number", "integer":
		f.Min, f.Max = string(p.Minimum), string(p.Maximum)
	case "boolean":
	default:
		return f, false
	}
	for _, one := range p.Enum {
		f.Enum = append(f.Enum, string(one))
	}
	if f.Now != "" {
		if _, problem := f.Value(f.Now); problem != "" {
			f.Now = ""
		}
	}
	return f, true
}
