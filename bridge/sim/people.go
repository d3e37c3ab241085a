package sim

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A person is a participant of the topic: a program that calls, somebody who
// decides, or both.
type person struct {
	w      *world
	dice   dice // for its calls
	mind   dice // for its answers
	id     string
	calls  bool
	serial int      // of its calls
	said   int      // of what it says else
	made   []*frame // the requests of this one
	relied *frame   // the last of them that somebody agreed to for longer
}

func (w *world) populate() {
	for _, id := range everybody {
		w.here[id] = true
		p := &person{w: w, dice: newDice(w.o.Seed, id), mind: newDice(w.o.Seed, id+"'s mind"), id: id, calls: id == "agent-a" || id == "agent-b" || id == "mallory"}
		w.people = append(w.people, p)
		if !p.calls || w.o.Calm && id == "mallory" && !w.o.Noise {
			continue
		}
		for range (w.o.Calls + 2) / 3 {
			w.after(p.dice.between(3*time.Second, w.o.Span), p.call)
		}
	}
}

func (w *world) callers() []*person   { return w.people[:3] }
func (w *world) approvers() []*person { return w.people[3:] }

// here: it is in the topic.
func (p *person) here() bool { return p.w.here[p.id] }

func (p *person) String() string { return p.id }

func (p *person) fresh(what string) string {
	p.serial++
	return fmt.Sprintf("%s-%s-%d", p.id, what, p.serial)
}

func (p *person) word(what string) string {
	p.said++
	return fmt.Sprintf("%s-%s-%d", p.id, what, p.said)
}

// call makes a request of the bridge.
func (p *person) call() {
	if !p.here() {
		return
	}
	s := p.request()
	f := p.w.topic.spell(s, s.payload())
	p.made = append(p.made, f)
	p.w.topic.send(f)
	if p.w.strikes(resend) {
		p.w.after(pick(p.dice, p.dice.between(0, 10*time.Second), p.dice.between(14*time.Minute, 20*time.Minute)), func() { p.w.topic.send(f) })
	}
	if p.w.strikes(cancel) {
		p.w.after(p.dice.between(0, pick(p.dice, 10*time.Millisecond, 10*time.Second)), func() { p.takeBack(f) })
	}
}

// probe asks, when all is well again, for what the server must answer.
func (p *person) probe() {
	s := said{id: p.fresh("probe"), from: p.id, to: []string{us}, kind: wire.Request, perfect: true, method: "tools/list", args: []byte("probe"), rpc: []byte("0")}
	p.w.topic.send(p.w.topic.spell(s, s.payload()))
}

// request is what a call says.
func (p *person) request() said {
	s := said{id: p.fresh("r"), from: p.id, to: []string{us}, kind: wire.Request, perfect: true}
	s.rpc = fmt.Append(nil, p.serial)
	if p.dice.chance(.3) {
		s.rpc = pick(p.dice, fmt.Appendf(nil, `"%d"`, p.serial), fmt.Appendf(nil, "%d.0", p.serial), fmt.Appendf(nil, "9007199254740%d", 993+p.serial))
	}
	if p.w.strikes(sameID) {
		s.rpc = []byte("1")
	}
	if p.dice.chance(.3) {
		s.token = pick(p.dice, []byte("1"), []byte(`"t"`), s.rpc)
	}
	switch p.dice.IntN(12) {
	case 0:
		s.method, s.tool = reads, "note://"+s.id
		s.args = fmt.Appendf(nil, `{"uri":"%s"}`, s.tool)
		s.withBeside(p.w.o)
		s.beside = besideIn(reads, []byte(s.beside))
	case 1:
		s.method, s.args = pick(p.dice, "ping", "initialize", "tools/list"), []byte(s.id)
		s.token = nil
	default:
		p.pickTool(&s)
	}
	return s
}

func (p *person) pickTool(s *said) {
	s.method, s.tool = "tools/call", pick(p.dice, tools...)
	if p.w.o.Notes {
		s.tool = "note"
	}
	s.args = fmt.Appendf(nil, `{"n":"%s", "amount": 50, "memo":"to\u202eyou\u200b", "token":"SECRET-%s"%s}`, s.id, s.id, furniture(p.dice))
	if s.tool == "note" {
		s.args = fmt.Appendf(nil, `{"n":"note-%d"}`, p.dice.IntN(2))
	}
	s.withBeside(p.w.o)
	if d := newDice(p.w.o.Seed, "huge "+s.id); !p.w.o.Calm && s.tool != "note" && d.chance(.004) {
		s.huge = true
		s.args = fmt.Appendf(nil, `{"n":"%s", "all":[%s0]}`, s.id, strings.Repeat("0,", 16400))
	}
	if !p.w.strikes(badCall) {
		return
	}
	s.flaw = pick(p.dice, "unknown tool", "bad arguments", "no object", "keys alike")
	switch s.flaw {
	case "unknown tool":
		s.tool = "reboot"
	case "bad arguments":
		s.args = []byte(`{"amount":5000}`)
	case "no object":
		s.args = []byte(`[1]`)
	case "keys alike": // with one that the tool has, or that somebody puts there
		s.args = fmt.Appendf(nil, `{"n":"%s","Amount":50}`, s.id)
	}
}

// payload is the JSON-RPC message of a request.
func (s *said) payload() []byte {
	var params []byte
	switch s.method {
	case "tools/call":
		params = fmt.Appendf(nil, `{"name":"%s","arguments":%s`, s.tool, s.args)
	case "resources/read":
		params = fmt.Appendf(nil, `{"uri":"%s"`, s.tool)
	case "initialize":
		params = []byte(`{"protocolVersion":"2025-06-18"`)
	default:
		params = fmt.Appendf(nil, `{"x":"%s"`, s.args)
	}
	params = s.furnish(params)
	method := s.method
	if s.asks {
		method = "tools/request"
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}%s}`, s.rpc, method, params, s.stray)
}

// takeBack cancels a call.
func (p *person) takeBack(f *frame) {
	s := said{id: p.word("c"), from: p.id, to: []string{us}, kind: wire.Notification, method: "notifications/cancelled", ref: f.said.rpc}
	p.w.topic.send(p.w.topic.spell(s, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, s.ref)))
}

// goAway leaves the topic for a while: perhaps too short to be believed.
func (p *person) goAway() {
	if !p.here() {
		return
	}
	p.w.here[p.id] = false
	p.w.topic.presence("leave", p.id)
	p.w.after(p.mind.between(time.Second, 30*time.Second), p.comeBack)
}

// comeBack joins again; whoever calls is likely to go on where it was.
func (p *person) comeBack() {
	if p.here() {
		return
	}
	p.w.here[p.id] = true
	p.w.topic.presence("join", p.id)
	if p.w.healed {
		return
	}
	p.rely(4 * time.Second)
	if n := len(p.made); n > 0 {
		p.w.after(p.dice.between(0, time.Second), func() { p.again(p.made[p.dice.IntN(n)]) })
	}
}

// again makes a call of a tool that remembers no more of it than its arguments
// for a second time, as a call of its own.
func (p *person) again(f *frame) {
	if !p.here() || f.said.tool != "note" || f.said.flaw != "" {
		return
	}
	s := f.said
	s.id = p.fresh("r")
	s.rpc = fmt.Append(nil, p.serial)
	f = p.w.topic.spell(s, s.payload())
	p.made = append(p.made, f)
	p.w.topic.send(f)
}

// relyOn lets a caller make a call again that somebody agreed to for longer: soon,
// and whenever that may have ended; and the owner take that back.
func (w *world) relyOn(g approval.Grant) {
	if w.o.Faults[revoke] {
		w.after(w.luck.between(time.Second, 50*time.Second), func() { w.befall(revoke) })
	}
	for _, p := range w.callers() {
		i := slices.IndexFunc(p.made, func(f *frame) bool {
			return p.id == g.Caller && f.said.tool == "note" && bytes.Equal(f.said.args, g.Args)
		})
		if i < 0 {
			continue
		}
		p.relied = p.made[i]
		p.rely(50 * time.Second)
	}
}

// rely makes that call again within a time.
func (p *person) rely(within time.Duration) {
	if p.relied != nil && !p.w.healed {
		p.w.after(p.w.luck.between(time.Second, within), func() { p.again(p.relied) })
	}
}

// relyAll is what callers do when something has changed.
func (w *world) relyAll() {
	for _, p := range w.callers() {
		p.rely(4 * time.Second)
	}
}

// got hears what the bridge says.
func (p *person) got(l *letter) {
	p.turnedAway(l)
	if !p.here() || l.Payload.Method != "elicitation/create" {
		return
	}
	wait := p.mind.between(time.Second, 8*time.Second)
	if p.w.o.Calm {
		wait = 2 * time.Second
	}
	if p.w.strikes(slow) {
		wait += p.ponder(l)
	}
	answer := p.decide(l)
	p.w.after(wait, func() { p.answer(l, answer) })
	p.w.justThen(l, wait)
	if p.w.strikes(doubleAnswer) {
		p.w.after(wait+p.mind.between(0, 4*time.Second), func() { p.answer(l, pick(p.mind, yesTo(l, ""), no)) })
	}
	if p.w.strikes(copied) {
		other := pick(p.mind, p.w.people...)
		p.w.after(wait/2, func() { other.answer(l, yesTo(l, "")) })
	}
}

// ponder is how long somebody thinks too long. Where they may take their time, the call
// may come once more when it was heard of first long ago, and was begun not so long ago.
func (p *person) ponder(l *letter) time.Duration {
	wait := p.mind.between(10*time.Second, pick(p.mind, 100*time.Second, 100*time.Second, 19*time.Minute))
	if p.w.book().ways[l.original().Tool].within < 10*time.Minute || !p.mind.chance(.6) {
		return wait
	}
	wait = p.mind.between(8*time.Minute, 18*time.Minute)
	again := p.mind.between(20*time.Minute+10*time.Second, min(wait+14*time.Minute, 25*time.Minute))
	p.w.after(again, func() {
		for _, f := range p.w.made(l.original()) {
			p.w.topic.send(f)
		}
	})
	return wait
}

// made finds the call that a question is about.
func (w *world) made(o *original) (all []*frame) {
	for _, p := range w.callers() {
		for _, f := range p.made {
			if p.id == o.From && f.said.id == o.EnvelopeID {
				all = append(all, f)
			}
		}
	}
	return all
}

// justThen is what may happen to a call while somebody decides about it: what
// goes wrong at that moment goes wrong worst.
func (w *world) justThen(l *letter, wait time.Duration) {
	if w.strikes(die) {
		w.outer(wait-min(wait, w.luck.between(0, 500*time.Millisecond)), func() { w.child.end("exited with status 3", w.luck.between(time.Second, 8*time.Second)) })
	}
	if w.strikes(cancel) {
		w.after(wait+w.luck.between(0, 3*time.Second), func() { w.takeBack(l.original()) })
	}
	if w.check.changed(l.original().Tool) && w.joins(reload, .7) { // what a policy says of tools that have changed may be another now
		w.after(w.luck.between(0, wait), func() {
			if !w.vain(reload) {
				w.reload()
			}
		})
	}
}

// takeBack lets the caller of a call that somebody was asked about take it back.
func (w *world) takeBack(o *original) {
	for _, f := range w.made(o) {
		i := slices.IndexFunc(w.people, func(p *person) bool { return p.id == o.From })
		w.people[i].takeBack(f)
	}
}

// What people say.
const no = `"result":{"action":"decline","content":{"reason":"no"}}`

func yesTo(l *letter, more string) string {
	word := `"approve":true`
	if l.delegable() {
		word = `"action":"approve"`
	}
	return `"result":{"action":"accept","content":{` + word + more + `}}`
}

// decide is what an honest person says; a calm one says the same about the same
// call in every world.
func (p *person) decide(l *letter) string {
	if p.w.o.Calm {
		if agrees(l.original().EnvelopeID) {
			return yesTo(l, "")
		}
		return no
	}
	switch {
	case p.w.strikes(wrongAnswer):
		return pick(p.mind, wrongs...)
	case p.w.strikes(errorAnswer):
		return `"error":{"code":-32601,"message":"no such method"}`
	case l.delegable() && p.mind.chance(.35):
		return `"result":{"action":"accept","content":{"action":"delegate","delegateTo":"` + pick(p.mind, "carol", "dave", "agent-a", "alice", "eve") + `"}}`
	case l.offers("amount") && p.mind.chance(.5):
		return yesTo(l, fmt.Sprintf(`,"amount":%d`, pick(p.mind, 1, 7, 42, 50, 99, 100, 101, -3)))
	case l.offers("remember") && p.mind.chance(.6):
		return yesTo(l, `,"remember":"`+pick(p.mind, "session", "always", "always", "once", "forever")+`"`)
	case p.mind.chance(.2):
		return no
	}
	return yesTo(l, "")
}

// agrees is what everybody thinks of a call.
func agrees(envelope string) bool {
	h := fnv.New32a()
	h.Write([]byte(envelope))
	return h.Sum32()%10 < 7
}

// wrongs can be read as no yes.
var wrongs = []string{
	`"result":{"action":"accept","content":{"approve":"true"}}`,
	`"result":{"action":"accept","content":{"approve":1}}`,
	`"result":{"action":"accept","content":{"approve":null}}`,
	`"result":{"action":"accept","content":{"approve":false}}`,
	`"result":{"action":"accept","content":{"Approve":true}}`,
	`"result":{"action":"accept","content":{}}`,
	`"result":{"action":"accept"}`,
	`"result":{"action":"Accept","content":{"approve":true}}`,
	`"result":{"action":"cancel","content":{"approve":true}}`,
	`"result":{"action":"decline","content":{"approve":true}}`,
	`"result":{"content":{"approve":true}}`,
	`"result":{"action":"accept","content":{"approve":false,"approve":true}}`,
	`"result":{"action":"accept","content":{"approve":true,"digest":"00000000"}}`,
	`"result":{"action":"accept","content":{"approve":true,"n":"something else"}}`,
	`"result":{"action":"accept","content":[{"approve":true}]}`,
	`"result":"accept"`,
	`"result":{"action":"accept","content":{"approve":true,"action":"deny"}}`,
	`"result":{"action":"accept","content":{"approve":false,"action":"approve"}}`,
}

// answer says it, to the question in l.
func (p *person) answer(l *letter, text string) {
	if !p.here() {
		return
	}
	s := said{id: p.word("a"), from: p.id, to: []string{us}, kind: wire.Response, method: "elicitation/create", corr: []string{l.ID}, rpc: l.Payload.ID,
		result: []byte(text)}
	if p.w.strikes(wrongAnswer) {
		switch p.mind.IntN(3) {
		case 0:
			s.corr = []string{p.w.check.someEnvelope(p.mind)}
		case 1:
			s.rpc = []byte(pick(p.mind, "0", `"elicit-"`, `"`+l.ID+`"`, p.w.check.someQuestion(p.mind)))
		case 2:
			s.method, s.tool = "tools/call", "read"
		}
	}
	p.w.topic.send(p.w.topic.spell(s, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, s.rpc, text)))
}

// A letter is a frame of the bridge, as a participant reads it.
type letter struct {
	ID      string     `json:"id"`
	From    string     `json:"from"`
	To      []string   `json:"to"`
	Kind    string     `json:"kind"`
	Corr    oneOrMany  `json:"correlation_id"`
	Payload letterBody `json:"payload"`

	params elicited
	raw    []byte
}

func (l *letter) delegable() bool          { return l.offers("delegateTo") }
func (l *letter) offers(field string) bool { return slices.Contains(l.params.fields(), field) }
func (l *letter) original() *original      { return &l.params.Metadata.OriginalRequest }

func text(s string) []byte { return jsonrpc.AppendQuote(nil, s) }
