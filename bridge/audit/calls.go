package audit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// A progress is how far a call has come. One that has its last word is forgotten.
type progress uint8

const (
	unjudged progress = iota
	refused
	allowed
	running
)

// openCalls are the calls that have no last word yet. The log that is written keeps them,
// and whoever reads a log finds them again.
type openCalls struct {
	come  map[string]progress
	last  uint64 // the highest number that a call had
	blind bool   // calls may have begun that are not among them
}

func newOpenCalls() openCalls { return openCalls{come: map[string]progress{}} }

// move takes a record of a call; allow says what a decision was. It returns what is wrong
// with the record at this place, "" if nothing is: the call has moved all the same.
func (c *openCalls) move(event, call []byte, allow bool) (why string) {
	if call == nil {
		if string(event) == "start" || string(event) == "end" {
			why = fmt.Sprintf("the %s names no call", event)
		}
		return why
	}
	c.number(call)
	came, known := c.come[string(call)]
	if !known && c.blind {
		came = allowed
		if string(event) == "end" {
			came = running
		}
	}
	switch string(event) {
	case "decided":
		return c.decide(string(call), came, allow)
	case "start":
		return c.start(string(call), came)
	case "end":
		if came != running {
			why = fmt.Sprintf("call %s ended without having started", call)
		}
		delete(c.come, string(call))
	case "rejected", "withdrawn": // of a call that has started they are no end
		if came != running {
			delete(c.come, string(call))
		}
	}
	return why
}

func (c *openCalls) decide(call string, came progress, allow bool) string {
	switch {
	case came == running:
		return fmt.Sprintf("call %s was decided after it had started", call)
	case allow:
		c.come[call] = allowed
	default:
		c.come[call] = refused
	}
	return ""
}

func (c *openCalls) start(call string, came progress) string {
	c.come[call] = running
	switch came {
	case running:
		return fmt.Sprintf("call %s started twice", call)
	case unjudged:
		return fmt.Sprintf("call %s started without a decision", call)
	case refused:
		return fmt.Sprintf("call %s started, but the decision was no", call)
	}
	return ""
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
	for _, call := range d.Open {
		c.come[string(call)] = running
	}
	for _, call := range d.Allowed {
		c.come[string(call)] = allowed
	}
}

// write notes a batch. Most calls are allowed and start in one, which costs nothing here.
func (c *openCalls) write(recs [][]byte) {
	for i, rec := range recs {
		event, call, _ := subjectOf(rec)
		decides := string(event) == "decided"
		if !decides || i+1 == len(recs) || !starts(recs[i+1], call) {
			c.move(event, call, decides && verdictOf(rec) == `"allow"`)
		}
	}
}

func starts(rec, call []byte) bool {
	event, of, _ := subjectOf(rec)
	return string(event) == "start" && bytes.Equal(of, call)
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
