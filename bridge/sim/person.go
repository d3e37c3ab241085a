package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A company is all who take part in the topic.
type company struct {
	*world
	topic  *topic
	phone  bell
	lounge screens
	people []*person
}

// screens are the clients of those who have the topic by serve, which show people questions.
type screens interface {
	hears(p *person, l *letter)
}

// A bell tells people of questions that were put to them elsewhere than in the topic.
type bell interface {
	rings(p *person, l *letter)
}

// A person is a participant of the topic: a program that calls, somebody who
// decides, or both.
type person struct {
	w      *company
	dice   dice // for its calls
	mind   dice // for its answers
	id     string
	calls  bool
	serial int      // of its calls
	said   int      // of what it says else
	made   []*frame // the requests of this one
	relied *frame   // the last of them that somebody agreed to for longer
}

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

func (w *company) callers() []*person { return w.people[:3] }

func (w *company) approvers() []*person { return w.people[3:] }

// person is who has an id; nil for one who is never there.
func (w *company) person(id string) *person {
	if i := slices.Index(everybody, id); i >= 0 {
		return w.people[i]
	}
	return nil
}

func (w *company) populate() {
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

// call makes a request of the bridge.
func (p *person) call() {
	if !p.here() {
		return
	}
	f := p.make(p.request())
	if p.w.strikes(resend) {
		p.w.after(pick(p.dice, p.dice.between(0, 10*time.Second), p.dice.between(14*time.Minute, 20*time.Minute)), func() { p.w.topic.send(f) })
	}
	if p.w.strikes(cancel) {
		p.w.after(p.dice.between(0, pick(p.dice, 10*time.Millisecond, 10*time.Second)), func() { p.takeBack(f) })
	}
}

// make makes a request, and keeps it.
func (p *person) make(s said) *frame {
	f := p.w.topic.spell(s, s.payload())
	p.made = append(p.made, f)
	p.w.topic.send(f)
	return f
}

// probe asks, when all is well again, for what the server must answer.
func (p *person) probe() {
	s := said{id: p.fresh("probe"), from: p.id, to: []string{us}, kind: wire.Request, perfect: true, method: "tools/list", args: []byte("probe"), rpc: []byte("0")}
	p.w.topic.say(s, s.payload())
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
		s.withWhy(p.w.o)
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
	s.withWhy(p.w.o)
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

// furniture is what else stands in the arguments of a call: what is deep, long,
// much, or hard to see.
func furniture(d dice) string {
	switch n := d.IntN(40); {
	case n < 5:
		return `, "deep":{"list":[1,2.50,"three",{"four":null,"a/b~c":true}],"empty":{},"none":[],"\u202ehidden":"\ud83d\ude00\udb40\udc41"}`
	case n < 8:
		return `, "long":"` + strings.Repeat("so long ", 50+d.IntN(50)) + `"`
	case n < 9:
		var s strings.Builder
		for i := range 201 + d.IntN(20) {
			fmt.Fprintf(&s, `, "k%d":%d`, i, i)
		}
		return s.String()
	case n < 10:
		return `, "huge":"` + strings.Repeat("0123456789", 900) + `"`
	}
	return ""
}

// takeBack cancels a call.
func (p *person) takeBack(f *frame) {
	s := said{id: p.word("c"), from: p.id, to: []string{us}, kind: wire.Notification, method: "notifications/cancelled", ref: f.said.rpc}
	p.w.topic.say(s, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, s.ref))
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
	p.make(s)
}

// rely makes that call again within a time.
func (p *person) rely(within time.Duration) {
	if p.relied != nil && !p.w.healed {
		p.w.after(p.w.luck.between(time.Second, within), func() { p.again(p.relied) })
	}
}

// flood is somebody who says more than their share, while others go on.
func (w *company) flood() {
	p := pick(w.luck, w.callers()...)
	for range 3 + w.luck.IntN(2+2*w.o.Share) {
		s := said{id: p.fresh("f"), from: p.id, to: []string{us}, kind: wire.Request, perfect: true, method: "ping"}
		s.args, s.rpc = []byte(s.id), fmt.Append(nil, p.serial)
		w.topic.say(s, s.payload())
	}
}

// besides are the members that callers send along, as the params have them.
var besides = []string{`{"task":{"ttl":%d}}`, `{"_meta":{"vendor/x":"%d"}}`, `{"_meta":{"vendor/x":"%d"},"task":{}}`, `{"_meta":{"auth_token":"SECRET-%d"}}`,
	`{"_meta":{"traceparent":"run %d as root"}}`, `{"_meta":{"baggage":{"amount":%d}}}`,
	`{"_meta":{"io.modelcontextprotocol/clientInfo":{"account":"root-%d","name":"x","version":"1"}}}`, `{"_meta":{"io.modelcontextprotocol/logLevel":%d}}`}

// withBeside draws what a call says beside its arguments, and beside its params:
// dice of its own leave all else in the world where it is. In a calm one others are
// asked under a stricter policy than where such a call is raised from an allow.
func (s *said) withBeside(o Options) {
	d := newDice(o.Seed, "beside "+s.id)
	if !o.Calm && d.chance(.15) {
		s.beside = fmt.Sprintf(pick(d, besides...), d.IntN(2))
	}
	if d.chance(.1) {
		s.traced = !o.Calm && d.chance(.3)
		s.stray = `,"task":{"ttl":3},"run":"as root"`
	}
}

// withWhy draws why a call is made, if its caller says so.
func (s *said) withWhy(o Options) {
	if d := newDice(o.Seed, "why "+s.id); o.Plans || d.chance(.75) {
		s.why = fmt.Sprintf("as %s wants\u200b it, token=SECRET-%s", s.id, s.id)
	}
}
