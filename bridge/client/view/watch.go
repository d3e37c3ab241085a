package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Watch says what happens in a topic to people who look on: one line for each call, when it
// is over, and one more while people decide about it. What goes without saying (who greets
// whom, lists of tools, who comes for a moment) it leaves out. It belongs to one goroutine.
type Watch struct {
	Columns func() int // of the terminal; 0: lines are whole

	open map[callKey]*call
}

// openMost bounds how many calls are followed. What is beyond gets a line as it is made.
const openMost = 4096

// A callKey is the envelope of a call, which its caller chose.
type callKey struct{ from, envelope string }

// A call is one that is followed.
type call struct {
	from, to, what, args string
	id, token            string // as its caller wrote them
	steps                []string
}

// Line is what there is to say of a frame, with a newline, nil if nothing.
func (w *Watch) Line(e *wire.Envelope, at time.Time) []byte {
	switch e.Kind {
	case wire.Presence:
		return w.left(e, at)
	case wire.Request:
		return w.request(e, at)
	case wire.Notification:
		return w.notification(e, at)
	case wire.Response:
		return w.response(e, at)
	}
	return w.fit(client.FrameLine(e, at))
}

// unspoken are methods that go without saying: greetings, lists, and what a bridge asks people,
// which is told with the call that it is about.
func unspoken(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover", "elicitation/create", "notifications/initialized", "notifications/mcpx/checkpoint", engine.Starting, engine.Agreed:
		return true
	}
	return strings.HasSuffix(method, "/list")
}

func (w *Watch) request(e *wire.Envelope, at time.Time) []byte {
	switch {
	case e.Method == "elicitation/create":
		return w.asked(e, at)
	case unspoken(e.Method):
		return nil
	case len(w.open) >= openMost:
		return w.fit(client.FrameLine(e, at))
	}
	c := newCall(e.From, strings.Join(e.To, ","), e.Method, e.Key)
	c.id, c.token = string(e.Message.Get(jsonrpc.ID)), string(e.Message.Get(jsonrpc.ProgressToken))
	var args map[string]json.RawMessage
	if raw := e.Message.Get(jsonrpc.Arguments); raw != nil && json.Unmarshal(raw, &args) == nil {
		c.args = " {" + text.Counted(len(args), "argument") + "}"
	}
	if w.open == nil {
		w.open = map[callKey]*call{}
	}
	w.open[callKey{e.From, e.ID}] = c
	return nil
}

// newCall is a call of a tool, or of something else that a server has.
func newCall(from, to, method, key string) *call {
	what := named(key)
	if method != "tools/call" || key == "" {
		what = strings.TrimSpace(named(method) + " " + named(key))
	}
	return &call{from: from, to: to, what: what}
}

// named is a name, which its caller chose, in quotes where it could be taken for more than one.
func named(name string) string {
	if strings.ContainsAny(name, " ;") {
		return text.Quote(name, 200)
	}
	return name
}

// asked tells whom a bridge asks about a call.
func (w *Watch) asked(e *wire.Envelope, at time.Time) []byte {
	var q struct {
		Metadata struct {
			Original struct {
				From     string `json:"from"`
				Envelope string `json:"envelopeId"`
			} `json:"originalRequest"`
		} `json:"metadata"`
	}
	if json.Unmarshal(e.Message.Get(jsonrpc.Params), &q) != nil {
		return nil
	}
	c := w.open[callKey{q.Metadata.Original.From, q.Metadata.Original.Envelope}]
	if c == nil || c.to != e.From {
		return nil // it is of a call from before, or anybody's word
	}
	return w.step(c, at, "asked "+strings.Join(e.To, ","))
}

// step goes on with a call, and says so.
func (w *Watch) step(c *call, at time.Time, step string) []byte {
	if slices.Contains(c.steps, step) || len(c.steps) == mostSteps {
		return nil
	}
	c.steps = append(c.steps, step)
	return w.line(c, at)
}

// mostSteps bounds what is told of one call before its end.
const mostSteps = 8

func (w *Watch) notification(e *wire.Envelope, at time.Time) []byte {
	switch {
	case e.Method == "notifications/progress":
		return w.progress(e, at)
	case e.Method == "notifications/cancelled":
		for key, c := range w.open {
			if c.from == e.From && c.id != "" && c.id == string(e.Message.Get(jsonrpc.RequestID)) {
				return w.end(key, c, at, "cancelled")
			}
		}
		return nil
	case e.Method == engine.Halting:
		return w.halted(e, at)
	case unspoken(e.Method):
		return nil
	}
	return w.fit(client.FrameLine(e, at))
}

// halted tells that a bridge is halted, or goes on.
func (w *Watch) halted(e *wire.Envelope, at time.Time) []byte {
	var said struct {
		Halted     bool
		By, Reason string
	}
	if json.Unmarshal(e.Message.Get(jsonrpc.Params), &said) != nil {
		return nil
	}
	how := " goes on"
	if said.Halted {
		how = " is halted by " + refusal.People([]string{said.By})
	}
	if said.Halted && said.Reason != "" {
		how += ": " + said.Reason
	}
	return w.fit([]byte(at.Format(time.TimeOnly) + " " + text.Cell(e.From+how)))
}

// progress takes what a bridge says of its start and of an approval. What a server counts is for its caller.
func (w *Watch) progress(e *wire.Envelope, at time.Time) []byte {
	said, _ := refusal.HearProgress(e.Message.Get(jsonrpc.Params))
	if !said.Ours || said.Token == nil {
		return nil
	}
	for _, c := range w.open {
		switch {
		case c.to != e.From || c.token != string(said.Token):
		case said.Starting() != "":
			return w.step(c, at, "starting")
		case !said.Undecided() && len(c.steps) < mostSteps:
			c.steps = append(c.steps, text.Cut(said.Message, 80))
			return nil // its end is about to come
		case len(c.steps) == 0 || c.steps[len(c.steps)-1] == "starting":
			return w.step(c, at, "asked")
		}
	}
	return nil
}

func (w *Watch) response(e *wire.Envelope, at time.Time) []byte {
	for _, to := range e.To {
		for _, of := range e.Corr {
			key := callKey{to, of}
			if c := w.open[key]; c != nil && c.to == e.From {
				return w.end(key, c, at, outcome(e))
			}
		}
	}
	if e.Method != "tools/call" { // of what was asked before we came, or goes without saying
		return nil
	}
	return w.lineOf(newCall(strings.Join(e.To, ","), e.From, e.Method, e.Key), at, outcome(e))
}

// outcome says how a call has ended.
func outcome(e *wire.Envelope) string {
	raw := e.Message.Get(jsonrpc.Err)
	if raw == nil && string(e.Message.Get(jsonrpc.IsError)) == "true" {
		return "the tool failed"
	} else if raw == nil {
		return "ok"
	}
	h, _ := refusal.Hear(raw)
	switch {
	case !refusal.IsOurs(int(h.Code)):
		return "error: " + text.Cut(h.Message, 80)
	case int(h.Code) == refusal.CodeHalted:
		return "refused: halted"
	case h.By != "":
		return "denied by " + text.Cut(h.By, 80)
	}
	return "refused: " + text.Cut(cmp.Or(h.Reason, h.Message), 80)
}

// left ends the calls of who has left, and to them.
func (w *Watch) left(e *wire.Envelope, at time.Time) (out []byte) {
	event, who, err := e.Presence()
	if err != nil || event != "leave" {
		return nil
	}
	for key, c := range w.open {
		if c.from == who.ID || c.to == who.ID {
			out = append(out, w.end(key, c, at, text.Cell(who.ID)+" left")...)
		}
	}
	return out
}

func (w *Watch) end(key callKey, c *call, at time.Time, how string) []byte {
	delete(w.open, key)
	return w.lineOf(c, at, how)
}

func (w *Watch) lineOf(c *call, at time.Time, how string) []byte {
	c.steps = append(c.steps, how)
	return w.line(c, at)
}

// line is a call as far as it has come. Where that is too long for a terminal, its arguments
// are left out, then all but the last that became of it, then the time.
func (w *Watch) line(c *call, at time.Time) []byte {
	when := at.Format(time.TimeOnly) + " "
	head := text.Cell(cmp.Or(c.from, "-")) + " -> " + text.Cell(cmp.Or(c.to, "all")) + " " + text.Cell(text.Cut(c.what, 200))
	all, last := "; "+text.Cell(strings.Join(c.steps, "; ")), "; "+text.Cell(c.steps[len(c.steps)-1])
	columns := w.columns()
	for _, said := range []string{when + head + c.args + all, when + head + all, when + head + last} {
		if columns == 0 || text.Width(said) <= columns {
			return []byte(said + "\n")
		}
	}
	return w.fit([]byte(head + last))
}

func (w *Watch) columns() int {
	if w.Columns == nil {
		return 0
	}
	return w.Columns()
}

// fit is a line as wide as there is room, with its newline.
func (w *Watch) fit(line []byte) []byte {
	said := strings.TrimSuffix(string(line), "\n")
	if columns := w.columns(); columns > 0 {
		said = text.Fit(said, columns)
	}
	return []byte(said + "\n")
}
