package sim

import (
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// What the checker knows of plans: as often as people agreed to, and for as long, their
// proposer may make what the plan says, and nobody and nothing else.

// plans sees a decision that makes a plan, or rests on one.
func (c *checker) plans(cl *claim, r record.Record) {
	switch {
	case r.Verdict != "allow":
	case cl.method == planMethod && (r.Keep != "plan" || !slices.Equal(r.Uses, []int{cl.grants})):
		c.blame("plan", "%v is on record with the uses %v, and was shown with %d", cl, r.Uses, cl.grants)
	case cl.method == planMethod:
		c.given[r.Grant] = &planned{of: cl, version: cl.version, uses: cl.grants}
		if slices.ContainsFunc(cl.votes, func(v vote) bool { return v.signed }) {
			c.w.tally.PlansSigned++
		}
	case r.Item > 0:
		c.uses(cl, r)
	}
}

// begins: a plan counts from the start of its request on.
func (c *checker) begins(cl *claim, r record.Record) {
	for _, l := range c.given {
		if l.of == cl {
			l.begun, l.until = true, r.At.Add(cl.counts)
		}
	}
}

// uses is a call that rests on a plan.
func (c *checker) uses(cl *claim, r record.Record) {
	l := c.given[r.Grant]
	switch {
	case l == nil || !l.begun:
		c.blame("plan", "%v rests on the plan %s, which does not count", cl, r.Grant)
		return
	case l.uses == 0:
		c.blame("plan", "%v is more than the %d calls that %v was shown with", cl, l.of.grants, l.of)
	case !r.At.Before(l.until):
		c.blame("plan", "%v rests on %v, whose time was over at %v", cl, l.of, l.until)
	case cl.from != l.of.from || cl.tool != l.of.tool || cl.beside != "" || !l.of.covers(cl.args):
		c.blame("plan", "%v rests on %v, which does not cover it", cl, l.of)
	case l.version != cl.version && !c.listedLate:
		c.blame("plan", "%v rests on %v, and its tool has changed", cl, l.of)
	case r.Use != l.of.grants-l.uses+1:
		c.blame("plan", "%v is use %d of %v by the record, and there are %d left", cl, r.Use, l.of, l.uses)
	}
	l.uses--
	c.w.tally.Planned++
	cl.plan = l
}

// leftTo: those who agreed to the plan that a claim rests on may decide about it as a policy
// has it. What takes a passkey takes one each time.
func (c *checker) leftTo(cl *claim, w way) bool {
	if cl.plan == nil || w.confirm {
		return false
	}
	n := 0
	for _, v := range cl.plan.of.votes {
		if w.mayDecide(v.who, cl.from) {
			n++
		}
	}
	return n >= w.need
}

// answersPlan: whoever asked for a plan is told how often it covers a call.
func (c *checker) answersPlan(cl *claim, l *letter) {
	if l.Payload.Error == nil && !strings.Contains(string(l.Payload.Result), `"uses":[`) {
		c.blame("plan", "%v is answered with %s", cl, l.raw)
	}
}
