package approval

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
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
	Confirm    string         `json:"confirm"`
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
	if len(e.Metadata.Digest) != hex.EncodedLen(sha256.Size) || !lowerHex().MatchString(e.Metadata.Digest) {
		e.Metadata.Digest = hex.EncodeToString(sum[:])
	}
	args, beside := e.args(), e.beside()
	if why := Beyond(args, beside); why != "" {
		return nil, fmt.Errorf("%w: %s", errBeyond, why)
	}
	if !namesFit(e.Metadata.Agreed) {
		return nil, fmt.Errorf("%w: at most %d who agree are named, in %d bytes each", errBeyond, maxAgree, maxAgreeName)
	}
	q := &Elicited{Key: e.key(asker)}
	var m text.Marks
	v := &q.View
	v.Digest, v.Short, v.Priority = e.Metadata.Digest, e.Metadata.Digest[:8], text.Line(e.Metadata.Priority)
	v.Asked, v.Deadline, v.Me = now, now.Add(e.timeout()), text.Line(me)
	need := e.Metadata.Need
	if need == 0 && len(e.Metadata.Why) > 0 {
		need = 1 // who says why says how many too, where that is more than one
	}
	v.setTally(need, e.Metadata.Agreed, v.readWhy(e.Metadata.Why))
	if e.Metadata.Confirm == policy.Passkey { // no other word is known
		v.Confirm = policy.Passkey
	}
	v.Headline = e.headline(&m)
	q.form(&e)
	switch size := e.Metadata.Original.Bytes; {
	case args != nil:
		v.Args, v.Compact = args, compact(args, &m)
		v.Arguments, v.More = leaves(args, true)
	case size > 0:
		v.Compact = fmt.Sprintf("too long to be sent: %d bytes, not shown here", size)
	}
	v.Facts = e.facts(asker, &m)
	if of, err := plan.Parse(args); err == nil && e.Metadata.Original.Method == plan.Method {
		v.Plan = planned(of, &m, nil)
		v.Facts = append(v.Facts, v.Plan...)
	}
	v.Banner = m.Banner()
	if beside != nil {
		v.setBeside(beside, beside)
		v.Facts = append(v.Facts, Fact{"Beside the arguments", v.BesideText})
	}
	v.Bridge, v.From, v.Tool, v.Asking = text.Line(asker), v.fact("Caller"), v.fact("Tool"), []string{v.Me}
	if v.From == PolicyFile { // by which scripts know our own question, and which is no participant's id
		v.From = text.Quote(v.From, len(PolicyFile))
	}
	return q, nil
}

// key tells one question of an asker from another. The id of an envelope is its sender's choice,
// so whoever calls under that of somebody else must not put their own question in the place of it.
func (e *elicitation) key(asker string) string {
	o := &e.Metadata.Original
	return string(list(asker, o.From, o.Proposer, o.Method, o.Tool, cmp.Or(o.Envelope, e.Metadata.Digest)))
}

// beside is what stands beside the arguments, nil for nothing.
func (e *elicitation) beside() []byte {
	beside := []byte(e.Metadata.Original.Beside)
	if len(beside) == 0 || jsonrpc.Scan(beside, jsonrpc.Judged, nil, nil) != nil {
		return nil
	}
	return beside
}

var errBeyond = errors.New("this is more than a person is shown")

// How many who agree may be named in the topic, which is as many as a policy can want, and in how
// many bytes each.
const (
	maxAgree     = 100
	maxAgreeName = 256
)

func namesFit(names []string) bool {
	return len(names) <= maxAgree && !slices.ContainsFunc(names, func(name string) bool { return len(name) > maxAgreeName })
}

// Kept is about how many bytes the lists of a question take. A list of many short things takes
// many times what it took in the params, and so do the names of arguments that stand deep.
func (q *Elicited) Kept() (n int) {
	const each = 64 // bytes of one entry besides its text
	for i := range q.View.Arguments {
		n += each + len(q.View.Arguments[i].Name)
	}
	for i := range q.View.People {
		n += each + len(q.View.People[i].Who)
	}
	for i := range q.View.Edits {
		n += each * (3 + len(q.View.Edits[i].Enum))
	}
	return n + each*(len(q.View.Facts)+len(q.View.Hints)+len(q.DelegateTo))
}

// readWhy takes why one is asked and what the server says of the tool, as our bridges say it: others
// may mean something else by the member. It returns who is asked, as far as it says so.
func (v *View) readWhy(raw []byte) []string {
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

// setTally says how many must agree, 0 where the asker does not say, who does by now, and who is
// asked beside us.
func (v *View) setTally(need int, agree, asked []string) {
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
// strictly before. It reports false if that is nothing that can be read, or names more than agree
// to anything.
func (v *View) Tallied(params []byte) (View, bool) {
	var says claims
	if json.Unmarshal(params, &says) != nil || says.Need < 1 || !namesFit(says.Agreed) {
		return *v, false
	}
	now := *v
	var asked []string
	for _, p := range v.People {
		asked = append(asked, p.Who)
	}
	now.setTally(says.Need, says.Agreed, asked)
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

var lowerHex = text.Pattern(`^[0-9a-f]+$`)

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
	return time.Duration(min(f, policy.MaxQuestion.Seconds()) * float64(time.Second))
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
	return string(m.AppendLine(append(m.AppendLine(nil, o.From), wantsTo...), e.wants()))
}

// wants says what the call is, in the words that the bridge has for it.
func (e *elicitation) wants() string {
	o := &e.Metadata.Original
	q := Question{Method: cmp.Or(o.Method, toolsCall), Tool: o.Tool}
	return q.wants()
}

// via is the road by which the call came, "" if the asker does not say.
func (e *elicitation) via() string {
	if len(e.Metadata.Why) == 0 {
		return ""
	}
	via, _ := jsonrpc.Unquote(rawjson.At(e.Metadata.Why, "/via"))
	return via
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
		facts = append(facts, Fact{saysWhy(e.via()), string(m.AppendQuoted(nil, o.Reason))})
	}
	add("It says", e.unsaid(asker, m.Banner()))
	if e.Metadata.Confirm == policy.Passkey {
		add("Confirmed", TakesPasskey)
	}
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
	ours := o.From + wantsTo + e.wants() + " on " + asker + " [" + e.Metadata.Digest[:8] + "]"
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
		for _, word := range policy.Memories() { // of those that cover more it is not said apart what that is
			if !policy.CoversMore(word) && slices.ContainsFunc(p.Enum, isWord(word)) {
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
