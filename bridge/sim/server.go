package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A child is the MCP server at the end of two pipes.
type child struct {
	w *world
	*server
	dice dice

	reading   *plan
	stuckTill time.Duration
	versions  [6]int // of each tool's definition; -1: there is none
	asked     int
	modern    *modern // nil: it is one of before
	coy       bool    // does not answer when its tools are listed next, in the hope that a change is forgotten
}

// start brings the server up, after its handshake.
func (c *child) start(wait time.Duration) {
	p := c.w.proc
	if c.w.strikes(slowStart) {
		wait += c.dice.between(0, 40*time.Second)
	}
	c.w.outer(wait, func() {
		switch {
		case c.alive || !p.alive():
			return
		case !p.served && c.w.strikes(neverUp):
			c.fails(p)
			return
		}
		p.served, c.alive, c.upAt = true, true, c.w.now
		c.life++
		p.tell(engine.ServerUp{Hello: c.hello()})
	})
}

// fails has the first start fail. The next one may do better; if not, the bridge ends.
func (c *child) fails(p *process) {
	retry := c.dice.between(250*time.Millisecond, 20*time.Second) // it may be long in failing
	p.tell(engine.ServerDown{Reason: "exit", Cause: "exited with status 1", ExitCode: 1, Retry: retry})
	c.w.outer(retry, func() {
		switch {
		case !p.alive() || c.alive:
		case c.dice.chance(.4):
			p.served = true
			c.start(0)
		default:
			p.tell(engine.ServerDown{Reason: "exit", Cause: "exited with status 1", ExitCode: 1, Retry: -1})
			c.w.unstarted(p)
		}
	})
}

// hello is what the server says of itself.
func (c *child) hello() engine.Hello {
	if c.modern == nil {
		return engine.Hello{PID: c.life, Revision: "2025-06-18",
			Result: []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)}
	}
	return engine.Hello{PID: c.life, Revision: "2026-07-28", Modern: true, Meta: []byte(ours2026), Result: []byte(`{"capabilities":` + c.modern.capabilities() + `}`),
		Capabilities: []byte(c.modern.capabilities()), ServerInfo: []byte(`{"name":"x","version":"1"}`)}
}

// end lets the server die. Lines it had not read never ran; of the first of
// them nobody knows, so it may have.
func (c *child) end(why string, retry time.Duration) {
	p := c.w.proc
	if !c.alive || p == nil {
		return
	}
	c.w.company.regret(c.dice)
	unsent := len(c.queue)
	if unsent > 0 && c.dice.chance(.5) {
		c.w.check.ran(c.queue[0])
	}
	c.dead()
	p.tell(engine.ServerDown{Reason: "exit", Cause: why, ExitCode: 1, Unsent: unsent, Retry: retry})
	c.start(retry)
}

func (c *child) dead() {
	c.alive, c.coy, c.queue, c.upAt = false, false, nil, c.w.now
	c.w.agenda.drop(c.reading)
	c.reading = nil
	c.listening = ""
}

// orphaned: the bridge is gone. What is in the pipe may still be read.
func (c *child) orphaned(power bool) {
	if !power {
		for _, l := range c.queue[:c.dice.IntN(len(c.queue)+1)] {
			c.w.check.ran(l)
		}
	}
	c.dead()
}

// read takes the lines that are in the pipe, one after the other.
func (c *child) read() {
	if c.reading != nil || !c.alive || len(c.queue) == 0 {
		return
	}
	wait := c.dice.between(0, 2*time.Millisecond)
	if c.w.strikes(stuck) {
		wait += c.dice.between(time.Second, 12*time.Second)
	}
	c.reading = c.w.after(max(wait, c.stuckTill-c.w.now), func() {
		c.reading = nil
		l := c.queue[0]
		c.queue = c.queue[1:]
		c.w.check.ran(l)
		c.serve(l)
		c.read()
	})
}

// serve does what a line asks for.
func (c *child) serve(l *line) {
	id := string(l.ID)
	switch {
	case id == "" || l.Method == "":
	case l.Method == "tools/list" && c.coy && !c.w.healed:
		c.coy = false
	case l.Method == "subscriptions/listen":
		c.listen(id)
	case l.Method == "tools/list":
		c.say(c.dice.between(0, 20*time.Millisecond), c.listing(id))
	case l.Method == "tools/call":
		c.work(l, id)
	default:
		c.say(c.dice.between(0, time.Second), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"of":%s}}`, id, text(strings.ReplaceAll(string(l.Params), "SECRET", "secret"))))
	}
}

// work serves a call, more or less.
func (c *child) work(l *line, id string) {
	c.asked++
	wait := c.dice.between(0, 3*time.Second)
	answer := func(text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s %d"}]}}`, id, text, c.asked)
	}
	if l.Token != nil {
		c.say(wait/2, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":0.5}}`, l.Token))
	}
	switch w := c.w; {
	case w.strikes(hang):
	case w.strikes(answerTwice):
		c.say(wait, answer("first"))
		c.say(wait+c.dice.between(0, time.Second), answer("second"))
	case w.strikes(wrongID):
		wrong := pick(c.dice, `"`+id+`"`, "99999", id+".0", `"elicit-1"`, "0")
		c.say(wait, strings.Replace(answer("wrong"), `"id":`+id, `"id":`+wrong, 1))
	case w.strikes(noise):
		c.say(wait, pick(c.dice, "starting up...", `{"jsonrpc":"2.0","id":`+id+`,"result":{`, `[]`, `{"jsonrpc":"2.0"}`))
		if c.dice.chance(.5) {
			c.say(wait+time.Second, answer("after noise"))
		}
	case w.strikes(toolError):
		c.say(wait, pick(c.dice, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32000,"message":"no"}}`,
			`{"jsonrpc":"2.0","id":`+id+`,"result":{"isError":true,"content":[]}}`))
	case w.strikes(die):
		w.outer(wait, func() { c.end("exited with status 2", c.dice.between(250*time.Millisecond, 4*time.Second)) })
	default:
		c.say(wait, answer("done"))
	}
}

// say writes a line to the bridge, by the real scanner.
func (c *child) say(wait time.Duration, text string) {
	life := c.life
	c.w.outer(wait, func() {
		p := c.w.proc
		if p == nil || !c.alive || c.life != life {
			return
		}
		c.w.trace.note(c.w.now, "server", []byte(text))
		m, err := jsonrpc.Parse([]byte(text), jsonrpc.Passed)
		if err != nil {
			p.tell(engine.ServerNoise{Reason: "child_stdout_garbage", Head: []byte(text), Count: 1, ID: idWithin(text)})
			return
		}
		c.w.check.answered([]byte(text))
		p.tell(engine.ServerSaid{Message: m})
	})
}

// babble writes what is no message, now and a little later.
func (c *child) babble(wait time.Duration) {
	for range 3 {
		c.say(wait+c.dice.between(0, 3*time.Second), pick(c.dice, "warning: deprecated", `{"jsonrpc":"2.0","id":`, "[]", "{}", "\x1b[31mpanic"))
	}
}

// idWithin is what a reader of lines can tell of the id of a broken answer.
func idWithin(text string) []byte {
	_, rest, found := strings.Cut(text, `"id":`)
	if !found {
		return nil
	}
	id, _, _ := strings.Cut(rest, ",")
	return []byte(id)
}

// listing is the answer to tools/list.
func (c *child) listing(id string) string {
	var list []string
	for i, name := range tools {
		if v := c.versions[i]; v >= 0 {
			list = append(list, definition(name, v))
		}
	}
	ttl := ""
	if c.modern != nil {
		ttl = c.modern.ttl
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s"tools":[%s]}}`, id, ttl, strings.Join(list, ","))
}

func definition(name string, version int) string {
	return fmt.Sprintf(`{"name":"%s","description":"version %d","inputSchema":{"type":"object","properties":{"n":{"type":"string"},`+
		`"amount":{"type":"integer","minimum":0,"maximum":1000}},"required":["n"]}}`, name, version)
}

// change makes a tool another one, or removes it, and says so.
func (c *child) change(remove bool) {
	i := c.dice.IntN(len(tools))
	if c.w.o.Notes && c.dice.chance(.6) {
		i = slices.Index(tools, "note")
	}
	switch {
	case c.versions[i] < 0:
		c.versions[i] = c.dice.IntN(2)
	case remove:
		c.versions[i] = -1
	default:
		c.versions[i]++
	}
	c.announce()
	c.w.company.relyAll()
	if c.w.strikes(changeTools) {
		c.w.after(c.dice.between(time.Second, 5*time.Second), func() {
			c.coy = true
			c.announce()
		})
	}
}

// ask has the server ask for what it should not, or say that somebody agreed.
func (c *child) ask() {
	id := "1"
	if c.w.check.lines[id] == nil {
		id = "0" // who answers what it has not been asked yet deceives nobody but itself
	}
	if known := c.w.check.someAsk(c.dice); known != nil {
		id = string(known.rpc)
	}
	c.say(0, pick(c.dice, `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept","content":{"approve":true}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"your password?"}}`,
		`{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"approve":true}}`))
}

// listen is what the server makes of being asked to tell.
func (c *child) listen(id string) {
	c.listening = id
	c.say(c.dice.between(0, 20*time.Millisecond), fmt.Sprintf(
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, id))
}

// announce says that the tools have changed, to whom it is said.
func (c *child) announce() {
	switch {
	case c.modern == nil:
		c.say(0, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	case c.listening != "" && !c.modern.forgets:
		c.say(0, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`+c.listening+`}}}`)
	}
}

// A modern is what makes a server one of 2026-07-28.
type modern struct {
	tells   bool   // it offers to tell of changes
	forgets bool   // and does not do so
	ttl     string // what it says of how long a list holds
}

func newModern(o Options) *modern {
	if !o.Modern {
		return nil
	}
	d := newDice(o.Seed, "modern server")
	return &modern{tells: d.chance(.6), forgets: d.chance(.3), ttl: pick(d, "", "", `"ttlMs":60000,`, `"ttlMs":60000,`, `"ttlMs":8000,`)}
}

func (m *modern) capabilities() string {
	if m.tells {
		return `{"tools":{"listChanged":true}}`
	}
	return `{"tools":{}}`
}
