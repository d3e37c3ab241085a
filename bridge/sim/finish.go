package sim

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
)

// gaveUp: lingering ago the bridge gave up, and everybody owed an answer must have
// it; not who came in the last two seconds, nor who came since if the way out was
// full since, for which their refusal waits, perhaps while the machine slept.
func (c *checker) gaveUp() {
	for _, cl := range c.order {
		age := c.w.now - cl.heardAt
		tooLate := age < 2*time.Second || (age < lingering || c.w.dozedAt > cl.heardAt) && c.w.link.fullAt >= cl.heardAt
		if cl.proc == c.proc.number && cl.excused == "" && cl.answers == 0 && c.w.link.up && !tooLate {
			c.blame("I12", "%v has no answer, and the bridge has ended", cl)
		}
	}
}

// allTold: no answer goes missing unseen when the bridge ends.
func (c *checker) allTold() {
	for _, cl := range c.order {
		if cl.proc == c.proc.number && !cl.offer() && cl.done() && cl.answers == 0 && !cl.over && !cl.dropped && c.w.log.err == nil {
			c.blame("I12", "the answer to %v was lost, and that is not on record", cl)
		}
	}
}

// idle: when everything was mended long ago the bridge has no question open, and nothing to
// do by itself.
func (c *checker) idle(questions int, next time.Time) {
	if c.stopped() {
		return
	}
	if questions > 0 {
		c.blame("I11", "%d questions are still open", questions)
	}
	if !next.IsZero() && !c.mayGoOn(next) {
		c.blame("I11", "something is still to be done at %v", next)
	}
}

// finish looks at a world in which everything was mended long ago.
func (c *checker) finish() {
	if c.stopped() {
		return
	}
	if c.proc == nil {
		c.blame("I12", "the bridge is not running")
		return
	}
	for _, cl := range c.order {
		if cl.proc == c.proc.number && cl.excused == "" && cl.answers == 0 {
			c.blame("I12", "%v never got an answer", cl)
		}
	}
	if !c.w.link.up || !c.w.server.alive || c.w.log.err != nil {
		c.blame("I12", "the world was not mended")
	}
	c.verify()
	c.onRecord()
	if c.w.o.Calm {
		c.served()
	}
}

// probed is what asked for the tools last, when all was well again.
func (c *checker) probed() *claim { return c.order[len(c.order)-1] }

// listable: whoever asked for the tools when all was well again has got them.
func (c *checker) listable() {
	if probe := c.probed(); !c.stopped() && (!strings.Contains(probe.id, "probe") || probe.told != "yes") {
		c.blame("I12", "when all was well again, the server's tools could not be listed: %v %s", probe, probe.told)
	}
}

// served: in a calm world the outcome of every call is known beforehand.
func (c *checker) served() {
	for _, cl := range c.order {
		runs, code := true, 0
		switch w := cl.way(cl.book); {
		case cl.method != "tools/call" && cl.method != reads:
			continue
		case w.verdict == deny:
			runs, code = false, policyDenied
		case w.verdict == ask && !c.answerable(cl, w):
			runs, code = false, -31003
		case w.verdict == ask && !agrees(cl.id):
			runs, code = false, -31001
		}
		if ran := cl.line != nil && cl.line.runs == 1; ran != runs || cl.code != code {
			if !ran && (cl.code == busy) {
				continue // too many questions at one time
			}
			c.blame("must serve", "%v ran=%t code=%d, and should have ran=%t code=%d", cl, ran, cl.code, runs, code)
		}
	}
}

// outcomes says what became of the calls of some, by envelope.
func (c *checker) outcomes(of ...string) map[string]outcome {
	all := map[string]outcome{}
	for _, cl := range c.order {
		if slices.Contains(of, cl.from) {
			all[cl.id] = outcome{cl.line != nil && cl.line.runs > 0, cl.code}
		}
	}
	return all
}

type outcome struct {
	ran  bool
	code int
}

// verify has the log read by the real verifier.
func (c *checker) verify() {
	report, err := audit.Verify(bytes.NewReader(c.w.log.text), audit.Checks{})
	switch {
	case err != nil:
		c.blame("I4", "the log: %v", err)
	case !report.OK && c.w.stepped && strings.Contains(report.Fault.Why, "twice within"): // by a clock that was put back
	case !report.OK:
		c.blame("I4", "the log does not verify: %v", report.Fault)
	case len(report.Unfinished) > 0:
		c.blame("I5", "calls without a last word on record: %v", report.Unfinished)
	}
}
