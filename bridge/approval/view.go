package approval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A View is a question as people see it. Every text in it has been made fit to
// be shown by bridge/text; terminal, page and topic show this and nothing else.
// Its JSON is what "approvals show --json" prints, and more.
type View struct {
	Summary
	Digest   string   `json:"full_digest"`
	Headline string   `json:"headline"`         // who asks for what, in the bridge's words
	Banner   []string `json:"banner,omitempty"` // what in it cannot be seen as it is
	Facts    []Fact   `json:"facts"`            // who, what, where, by which rule, until when

	Via   string   `json:"via,omitempty"`   // request or proposal; "" where that is not known
	About string   `json:"about,omitempty"` // what the tool does, by the word of its server; "" if it does not say
	Hints []string `json:"hints,omitempty"` // what else the server says of it, see [policy.Hints.Words]

	Plan []Fact `json:"plan,omitempty"` // those of Facts that say what a plan covers; nil where it is about none

	People     []Person `json:"people"`
	Edits      []Field  `json:"fields,omitempty"`      // what may be changed
	DelegateTo []string `json:"delegate_to,omitempty"` // to whom it may be passed on; empty: to nobody
	Away       []string `json:"away,omitempty"`        // those of DelegateTo who are not here now
	Remember   []string `json:"remember,omitempty"`    // what may be remembered; empty: nothing but this once

	Me            string   `json:"me,omitempty"`             // which of People is shown it, and may answer while asked
	RememberMeans []string `json:"remember_means,omitempty"` // what each of Remember would do, in words; empty: unknown
	RememberFor   []int    `json:"remember_for,omitempty"`   // for how many seconds; 0 for this once
	Choice        bool     `json:"choice,omitempty"`         // its form wants action instead of approve, see [Reply.Result]
	Priority      string   `json:"priority,omitempty"`
	Arguments     []Leaf   `json:"arguments,omitempty"`   // in the order in which they were written
	More          int      `json:"more,omitempty"`        // arguments beyond those; 0 in a whole View
	Compact       string   `json:"compact,omitempty"`     // all arguments on one line, cut to 2 KiB
	BesideText    string   `json:"beside_text,omitempty"` // the same of what stands beside them and reaches the server too; "" for nothing
}

// A Person is somebody with a part in a question.
type Person struct {
	Who   string `json:"who"`
	State string `json:"state"`          // waiting, asked, agreed, passed it on, away, failed, out of time, removed
	From  string `json:"from,omitempty"` // who passed it on to them; "" if they are on the list
}

// Over reports whether a question is over for somebody while it is open for others: they agreed,
// passed it on, or may decide it no more. For who is away it is not.
func (p *Person) Over() bool {
	return slices.Contains([]string{stateNames[agreed], stateNames[passedOn], stateNames[struck]}, p.State)
}

// View shows a pending question to somebody at this machine: nothing is
// redacted. A whole View holds every value at full length, however long.
func (d *Desk) View(now time.Time, id string, whole bool) (View, bool) {
	return d.ViewOf(now, id, Who{Door: Local}, whole)
}

// ViewOf is View for whoever answers by one of our own doors: to whom the question may
// be passed on depends on that.
func (d *Desk) ViewOf(now time.Time, id string, who Who, whole bool) (View, bool) {
	p := d.pending[id]
	if p == nil {
		return View{}, false
	}
	v := p.view(now, p.deadline, p.look(p.args, p.q.Beside, nil), p.q.Server)
	v.Me, v.Args, v.Beside, v.Asking = text.Line(who.String()), p.args, p.q.Beside, d.Waiting(id)
	v.Arguments, v.More = leaves(p.args, whole)
	v.Arguments = append(besideLeaves(p.q.Beside, whole), v.Arguments...)
	v.DelegateTo, v.RememberMeans, v.RememberFor = p.delegates(p.find(who)), d.o.mean(&p.q, v.Remember, nil), d.o.last(v.Remember)
	v.Choice, v.Away = len(v.DelegateTo) > 0, d.away(v.DelegateTo)
	return v, true
}

// PublicView is View for whoever is not at this machine: what the policy redacts is
// redacted, the server's command is no more than the name of its program, and values
// that are long or many are cut. It has nothing that the topic is not told.
func (d *Desk) PublicView(now time.Time, id string) (View, bool) {
	p := d.pending[id]
	if p == nil {
		return View{}, false
	}
	shown := d.publish(p)
	v := p.view(now, p.deadline, shown.sight, p.q.Program)
	if shown.args != nil {
		v.Arguments, v.More = leaves(shown.args, false)
	}
	me := Who{Door: Local}
	v.Me, v.Asking, v.DelegateTo = me.String(), d.Waiting(id), p.delegates(p.find(me))
	v.RememberMeans, v.RememberFor = d.o.mean(&p.q, v.Remember, d.redact), d.o.last(v.Remember)
	v.Choice, v.Away = len(v.DelegateTo) > 0, d.away(v.DelegateTo)
	return v, true
}

// away are those of them who cannot be asked now.
func (d *Desk) away(names []string) (away []string) {
	for _, name := range names {
		if !d.present(named(name)) {
			away = append(away, name)
		}
	}
	return away
}

// view shows the question by a sight of its arguments, without the list of them. server
// is what may be said of that to whom it is shown.
func (p *pending) view(now, till time.Time, s sight, server string) View {
	v := View{Summary: p.summary(till, s.about), Digest: p.digest.String(), Headline: s.headline, Banner: s.banner, Compact: s.compact, BesideText: s.beside,
		Priority: text.Line(p.q.Terms.Priority), Edits: s.edits, Remember: p.offersToKeep()}
	v.Facts, v.Plan = slices.Concat(p.facts(now, till, server, s.about), s.plan), s.plan
	v.Via, v.About, v.Hints = p.q.Via, text.Line(p.q.About), p.q.Hints.Words()
	for _, s := range p.ballots {
		person := Person{Who: text.Line(s.who.String()), State: stateNames[s.state]}
		if n := len(s.chain); n > 0 {
			person.From = text.Line(s.chain[n-1].By.String())
		}
		v.People = append(v.People, person)
	}
	return v
}

// delegates are those to whom somebody may pass the question on, nil if to nobody,
// as where it was passed on as often as it may be. s is nil for whoever has no ballot.
func (p *pending) delegates(s *ballot) (names []string) {
	t := p.q.Terms.Delegate
	if t == nil || s != nil && len(s.chain) >= depth(t) {
		return nil
	}
	for _, name := range t.To {
		if s == nil || named(name) != s.who {
			names = append(names, text.Line(name))
		}
	}
	return names
}

// facts are what the view says besides the arguments (RELIABILITY AI-16). about is what
// may be shown of what the question is about.
func (p *pending) facts(now, till time.Time, server, about string) []Fact {
	q := &p.q
	facts := []Fact{{"Tool", text.Line(q.Tool)}, {"Caller", text.Line(q.Caller)}}
	if q.Method != toolsCall {
		facts[0] = Fact{"Method", text.Line(q.Method)}
	}
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, Fact{name, text})
		}
	}
	if about != "" {
		what := deeds[q.Method].thing
		add(strings.ToUpper(what[:1])+what[1:], shortText(about))
	}
	if q.Unverified {
		add("Warning", "this gateway does not verify who sends what")
	}
	if q.Changed {
		add("Warning", "the server has changed this tool since the bridge first saw it")
	}
	add("Proposed by", text.Line(q.Proposer))
	if q.Reason != "" {
		var m text.Marks
		add(saysWhy(q.Via), string(m.AppendQuoted(nil, q.Reason)))
	}
	bridge := text.Line(q.Bridge)
	if server != "" {
		bridge += " (" + text.Line(server) + ")"
	}
	add("Bridge", bridge)
	add("Topic", text.Line(q.Topic))
	add("Gateway", text.Line(q.Gateway))
	add("Rule", text.Line(strings.Join(q.Terms.Rules, ", ")))
	if q.Terms.Confirm != "" {
		add("Confirmed", TakesPasskey)
	}
	if p.need > 1 {
		var have []string
		for _, s := range p.ballots {
			if s.state == agreed {
				have = append(have, text.Line(text.Person(s.who.String())))
			}
		}
		add("Needs", needs(p.need, have))
	}
	for _, s := range p.ballots {
		if s.state == beingAsked && len(s.chain) > 0 {
			h := s.chain[len(s.chain)-1]
			add("Passed on", "by "+text.Line(h.By.String())+" to "+text.Line(h.To.String()))
		}
	}
	if left := till.Sub(p.at(now)).Round(time.Second); p.frozen.IsZero() {
		add("Decide by", fmt.Sprintf("%s (in %s)", text.Stamp(till.UTC()), left))
	} else {
		add("Decide by", fmt.Sprintf("the bridge is halted; %s are left when it goes on", left))
	}
	add("Digest", p.digest.Short())
	return facts
}

// saysWhy is the name of the fact of why a call is made: it is the word of whoever wants it.
func saysWhy(via string) string {
	if via == "request" {
		return "The caller says"
	}
	return "The proposer says"
}

// AsksForTool reports whether the headline says that somebody wants to run a tool, and no more than
// who and which.
func (v *View) AsksForTool() bool { return v.Headline == v.From+wantsTo+"execute "+v.Tool }

// ServerSays is what the server says of the tool, "" if nothing.
func (v *View) ServerSays() string {
	says := strings.Join(v.Hints, ", ")
	if v.About != "" && says != "" {
		return v.About + "; " + says
	}
	return v.About + says
}

// WhyAsked is why somebody has to agree, "" where whoever asks does not say.
func (v *View) WhyAsked() string {
	switch {
	case v.AboutPolicy:
		return ""
	case v.Rule != "":
		return "rule " + v.Rule
	case v.Via != "":
		return "no rule names it"
	}
	return ""
}

// Needs says how many must agree and who has, "" where one is enough.
func (v *View) Needs() string {
	if v.Need < 2 {
		return ""
	}
	var have []string
	for _, p := range v.People {
		switch {
		case p.State != stateNames[agreed]:
		case p.Who == v.Me:
			have = append(have, "you")
		default:
			have = append(have, text.Person(p.Who))
		}
	}
	return needs(v.Need, have)
}

// NeedsOthers reports whether others must agree too when r is the answer. What changes the call is
// put anew to those who have agreed.
func (v *View) NeedsOthers(r *Reply) bool {
	return r.Allow && (v.Have+1 < v.Need || v.Need > 1 && len(r.Fields) > 0)
}

func needs(need int, have []string) string {
	if len(have) == 0 {
		return fmt.Sprintf("%d who agree", need)
	}
	return fmt.Sprintf("%d; %s agreed", need, strings.Join(have, ", "))
}

// Text is the whole View as lines: for a terminal, or to be pasted.
func (v *View) Text() string { return v.lines("", "! ") }

// lines are the View with something behind its headline, and before what cannot be seen.
func (v *View) lines(behind, warns string) string {
	var b strings.Builder
	b.WriteString(v.Headline + behind + "\n")
	for _, line := range v.Banner {
		b.WriteString(warns + line + "\n")
	}
	for _, f := range v.Facts {
		b.WriteString(f.Name + ": " + f.Text + "\n")
	}
	switch {
	case len(v.Arguments) > 0:
		b.WriteString("Arguments:\n")
	case v.Compact != "":
		b.WriteString("Arguments: " + v.Compact + "\n")
	}
	for _, l := range v.Arguments {
		b.WriteString("  " + l.Name + " = " + cmp.Or(l.Whole, l.Text) + "\n")
	}
	if v.More > 0 {
		fmt.Fprintf(&b, "  … and %d more values\n", v.More)
	}
	return b.String()
}

// description is the View as seed 003 writes it into a form.
func (v *View) description() string {
	var b strings.Builder
	for i, f := range v.Facts {
		b.WriteString(f.Name + ": " + f.Text + "\n")
		if i == 1 {
			b.WriteString("Arguments: " + v.Compact + "\n")
			if v.BesideText != "" {
				b.WriteString("Beside the arguments: " + v.BesideText + "\n")
			}
		}
	}
	for _, line := range v.Banner {
		b.WriteString("Note: " + line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// A Summary is a pending question in a list.
type Summary struct {
	ID       string          `json:"id"`
	Short    string          `json:"digest"` // the short form
	Bridge   string          `json:"bridge"` // this and the next two fit to be shown
	From     string          `json:"from"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args,omitempty"`   // as they came, not to be changed; nil in a brief list
	Beside   json.RawMessage `json:"beside,omitempty"` // members of params beside them; likewise
	Rule     string          `json:"rule"`
	Asked    time.Time       `json:"asked"`
	Deadline time.Time       `json:"deadline"`
	FrozenMS int64           `json:"frozen_ms,omitempty"` // while the bridge is halted: what is left to decide when it goes on. Deadline says nothing then
	Need     int             `json:"need"`
	Have     int             `json:"have"`
	Asking   []string        `json:"asking,omitempty"` // who has it open

	// Confirm is what a yes takes: "passkey", or "" for nothing; see [Answer.Draft].
	Confirm string `json:"confirm,omitempty"`

	// Elsewhere says that whoever is shown it may look, and where it is answered, in words; "": here.
	Elsewhere string `json:"elsewhere,omitempty"`

	// AboutPolicy is that of the [Question], on the way from a bridge to a surface at its machine.
	// What somebody else asks never has it.
	AboutPolicy bool `json:"about_policy,omitempty"`
}

// Left is how much time there is to decide, and whether the bridge is halted, so that it does
// not grow less.
func (s *Summary) Left(now time.Time) (left time.Duration, frozen bool) {
	if s.FrozenMS > 0 {
		return time.Duration(s.FrozenMS) * time.Millisecond, true
	}
	return s.Deadline.Sub(now), false
}

// frozenMS is that of the [Summary]; what stands still has some time left.
func (p *pending) frozenMS(till time.Time) int64 {
	if p.frozen.IsZero() {
		return 0
	}
	return max(till.Sub(p.frozen).Milliseconds(), 1)
}

// summary is the question as it stands in a list, without its arguments.
func (p *pending) summary(till time.Time, about string) Summary {
	return Summary{FrozenMS: p.frozenMS(till), ID: p.id, Short: p.digest.Short(), Bridge: text.Line(p.q.Bridge), From: text.Line(p.q.Caller), Tool: shortText(p.q.title(about)),
		Rule: text.Line(strings.Join(p.q.Terms.Rules, ", ")), Asked: p.asked, Deadline: till, Need: p.need, Have: p.count(agreed), AboutPolicy: p.q.AboutPolicy, Confirm: p.q.Terms.Confirm}
}

// Pending lists the questions, oldest first, from the skip-th on and at most
// limit of them; 0: all.
func (d *Desk) Pending(skip, limit int) []Summary {
	all := d.inOrder()
	all = all[min(skip, len(all)):]
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	list := make([]Summary, len(all))
	for i, p := range all {
		list[i] = p.summary(p.deadline, p.q.about(p.args))
		list[i].Args, list[i].Beside, list[i].Asking = p.args, p.q.Beside, d.Waiting(p.id)
	}
	return list
}

// Resolve finds the pending questions whose id begins with prefix.
func (d *Desk) Resolve(prefix string) (ids []string) {
	for _, p := range d.inOrder() {
		if strings.HasPrefix(p.id, prefix) {
			ids = append(ids, p.id)
		}
	}
	return ids
}

// Named reports whether a name is that of the question: its id, its digest, or a beginning of
// one of them. "sha256:" may stand before a digest, and around it the brackets in which it is
// shown. A Summary knows of the digest what is listed; what goes on behind that, [View.Named]
// compares.
func (s *Summary) Named(name string) bool {
	name = unbracketed(name)
	digest := strings.TrimPrefix(name, "sha256:")
	return name != "" && (strings.HasPrefix(s.ID, name) || digest != "" && strings.HasPrefix(s.Short, digest[:min(len(digest), len(s.Short))]))
}

// Named is [Summary.Named] with the whole digest.
func (v *View) Named(name string) bool {
	name = unbracketed(name)
	digest := strings.TrimPrefix(name, "sha256:")
	return name != "" && (strings.HasPrefix(v.ID, name) || digest != "" && strings.HasPrefix(v.Digest, digest))
}

func unbracketed(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
}

// setBeside says in a View what stands beside the arguments: shown is what of it may
// be seen, nil if nothing.
func (v *View) setBeside(beside, shown []byte) {
	if len(beside) == 0 {
		return
	}
	var m text.Marks
	v.BesideText = compact(shown, &m)
	v.Banner = append(append(v.Banner, besideNote), m.Banner()...)
}

// depth is how often a question may be passed on.
func depth(t *policy.Delegate) int { return min(max(t.Depth, 1), maxDepth) }

// maxDepth is how often one question can be passed on, whatever a policy says.
const maxDepth = 3

// Waiting are the names of those who have a question open.
func (d *Desk) Waiting(id string) (names []string) {
	people, _ := d.Asking(d.now, id)
	for _, who := range people {
		names = append(names, who.String())
	}
	return names
}

// Lacks is how many must agree yet, of those who are asked; 0 where the question is settled.
func (d *Desk) Lacks(id string) int {
	if p := d.pending[id]; p != nil {
		return p.need - p.count(agreed)
	}
	return 0
}

// Asking are those who have a question open, and when the time to decide is over, for the
// caller's notice; none, and the zero time, where it is settled. While the bridge is halted
// that is when it would be over if the bridge went on now.
func (d *Desk) Asking(now time.Time, id string) (people []Who, till time.Time) {
	p := d.pending[id]
	if p == nil {
		return nil, time.Time{}
	}
	for _, s := range p.ballots {
		if s.state == beingAsked {
			people = append(people, s.who)
		}
	}
	return people, p.deadline.Add(now.Sub(p.at(now)))
}
