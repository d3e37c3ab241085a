package audit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// A progress is how far a call has come, in the order of the constants: up to beingAsked
// there is no decision that counts. A call that has its final record is forgotten.
type progress uint8

const (
	unjudged progress = iota
	beingAsked
	refused
	allowed
	running
)

// openCalls are the calls that have no final record yet. The log that is written keeps them,
// and whoever reads a log finds them again.
type openCalls struct {
	come  map[string]progress
	last  uint64 // the highest number that a call had
	blind bool   // calls may have begun that are not among them

	halted bool // no call may start
}

func newOpenCalls() openCalls { return openCalls{come: map[string]progress{}} }

// misplaced says what is wrong with an event of a call that has come so far.
var misplaced = map[string][running + 1]string{
	"decided": {running: "call %s was decided after it had started"},
	"started": {unjudged: undecided, beingAsked: undecided, refused: "call %s started, but the decision was no",
		running: "call %s started twice"},
	"ended": {unjudged: neverStarted, beingAsked: neverStarted, refused: neverStarted, allowed: neverStarted},
}

const (
	undecided    = "call %s started without a decision"
	neverStarted = "call %s ended without having started"
)

// wrong says what is wrong with a record of a call at this place, "" if nothing is.
func (c *openCalls) wrong(event, call []byte) string {
	if call == nil {
		if string(event) == "started" || string(event) == "ended" {
			return fmt.Sprintf("the event %s names no call", event)
		}
		return ""
	}
	came := c.come[string(call)]
	if came <= beingAsked && c.blind { // who was asked about may have been allowed before, in a file that says nothing of it
		came = allowed
		if string(event) == "ended" {
			came = running
		}
	}
	if why := misplaced[string(event)][came]; why != "" {
		return fmt.Sprintf(why, call)
	}
	if c.halted && string(event) == "started" {
		return fmt.Sprintf("call %s started while the bridge was halted", call)
	}
	return ""
}

// move takes a record of a call, be it wrong at its place or not: the call moves as far as
// it says. allow says what a decision was.
func (c *openCalls) move(event, call []byte, allow bool) {
	if call == nil {
		c.halt(event)
		return
	}
	c.number(call)
	switch string(event) {
	case "started":
		c.come[string(call)] = running
	case "ended":
		delete(c.come, string(call))
	case "asked":
		c.come[string(call)] = max(c.come[string(call)], beingAsked)
	case "decided":
		c.decide(call, allow)
	case "rejected", "withdrawn":
		if c.come[string(call)] != running { // those are no end
			delete(c.come, string(call))
		}
	}
}

// halt takes a record that is about no call.
func (c *openCalls) halt(event []byte) {
	switch string(event) {
	case "halted":
		c.halted = true
	case "resumed":
		c.halted = false
	}
}

// decide notes a decision. Another one of a call that runs changes nothing.
func (c *openCalls) decide(call []byte, allow bool) {
	switch {
	case c.come[string(call)] == running:
	case allow:
		c.come[string(call)] = allowed
	default:
		c.come[string(call)] = refused
	}
}

// number notes the number of a call: only logs of our own tests, and old ones, have such.
func (c *openCalls) number(call []byte) {
	if call[0] == '"' {
		return
	}
	if n, err := strconv.ParseUint(string(call), 10, 64); err == nil {
		c.last = max(c.last, n)
	}
}

// carry takes what a record of the log's own says of calls that began before it.
func (c *openCalls) carry(d details) {
	c.last = max(c.last, d.Last)
	c.halted = c.halted || d.Halted
	for _, call := range d.Open {
		c.come[string(call)] = running
	}
	for _, call := range d.Allowed {
		c.come[string(call)] = allowed
	}
	for _, call := range d.Asked {
		c.come[string(call)] = beingAsked
	}
}

// write notes a batch. Most calls are allowed and start in one, which costs nothing here.
func (c *openCalls) write(recs [][]byte, of []subject) {
	for i, s := range of {
		decides := string(s.event) == "decided"
		if !decides || i+1 == len(of) || string(of[i+1].event) != "started" || !bytes.Equal(of[i+1].call, s.call) {
			c.move(s.event, s.call, decides && verdictOf(recs[i]) == `"allow"`)
		}
	}
}

// in are the calls that have come so far, as they are written in records; shorter names
// first, so that numbers are sorted.
func (c *openCalls) in(p progress) (calls []string) {
	for call, came := range c.come {
		if came == p {
			calls = append(calls, call)
		}
	}
	slices.SortFunc(calls, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return calls
}
