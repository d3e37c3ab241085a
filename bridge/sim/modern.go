package sim

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// A server of 2026-07-28 says nothing of its own accord. Who has its tools changed
// without a word, as such a server may, must not have people agree to one definition and
// run another (FINDINGS P1): so its tools are read once more before a start that
// somebody agreed to, and at intervals where it cannot be listened to.

// ours2026 is what each request to such a server carries.
const ours2026 = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`

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

// withoutOurs is what a line says beside what every request carries.
func withoutOurs(params []byte) []byte {
	if !bytes.Contains(params, []byte(ours2026)) {
		return params
	}
	return []byte(strings.NewReplacer(","+ours2026, "", ours2026+",", "", ours2026, "").Replace(string(params)))
}

// own: the bridge asks for itself.
func (l *line) own() bool {
	params := string(withoutOurs(l.Params))
	return l.Method == "tools/list" && (params == "{}" || params == `{"_meta":{}}`) || l.Method == "subscriptions/listen"
}

// A looking is when the bridge has looked at the tools of a server that may change them
// without a word: in the order of what the checker saw.
type looking struct {
	count int           // of what it saw
	read  int           // when the listing that was answered last was asked for
	last  int           // when the last one was asked for
	asked time.Duration // when the last listing was asked for
}

// looks takes down the order of a line, and when the tools were asked for.
func (c *checker) looks(l *line) {
	c.looking.count++
	l.order = c.looking.count
	if !l.own() || l.Method != "tools/list" {
		return
	}
	c.looking.asked, c.looking.last = c.w.now, l.order
}

// looked notes which listing was answered last, if in time.
func (c *checker) looked(l *line) {
	if c.w.now-l.at < callTime {
		c.looking.read = l.order
	}
}

// longestUnread is how long the tools of a server that tells nothing may go unread: a
// minute, or a listing without an answer and another try.
const longestUnread = time.Minute + 10*time.Second

// startsAsRead: what is to start was read again since somebody agreed to it, and what
// nobody was asked about not long ago.
func (c *checker) startsAsRead(cl *claim) {
	if !c.w.o.Modern || cl.method != "tools/call" {
		return
	}
	switch {
	case cl.question != "" && c.looking.read < cl.allowedOrder:
		c.blame("P1", "%v starts, and its tool was not read again since somebody agreed to it", cl)
	case cl.question == "" && c.w.server.listening == "" && c.w.dozedAt < c.looking.asked && c.w.now-c.looking.asked > longestUnread:
		c.blame("P1", "%v starts, and the tools of a server that tells nothing were not asked for since %v", cl, c.looking.asked)
	}
}

// notReadAgain: what was agreed to may not start, as the server has not said once more
// what its tools are.
func (c *checker) notReadAgain(cl *claim) bool {
	unasked := c.w.log.err != nil || c.w.log.troubleAt+belated >= cl.allowedAt // what could not be put on record took the question along
	return c.w.o.Modern && cl.allowed && (c.looking.read < cl.allowedOrder || c.looking.read < c.looking.last || unasked)
}

// mayGoOn: something is still to be done when all is over: the tools are read again.
func (c *checker) mayGoOn(next time.Time) bool {
	return c.w.o.Modern && next.Sub(c.w.clock(c.proc)) <= time.Minute
}
