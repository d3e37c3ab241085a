package sim

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// A policy file that anybody may have written, a tool among them: what lets more
// through than the policy in force counts only when the person at this machine has
// said yes to it (DESIGN 7).

// saved: the file says something else from now on.
func (c *checker) saved(b *rulebook) { c.filed, c.filedAs, c.filedYes = b, "", false }

// ofFile sees what becomes of a changed file.
func (c *checker) ofFile(r record.Record) {
	switch {
	case r.Event == record.ReloadWaiting:
		c.filedAs = r.Question
	case r.Event == record.ReloadDecided && r.Verdict == "allow" && !c.filedYes:
		c.blame("M1", "the policy file is agreed to, and nobody said yes")
	case r.Event == record.Reloaded && c.filed != nil:
		if c.filed.surelyLooser(c.inForce()) && !c.filedYes {
			c.blame("M1", "a looser policy is in force, and nobody said yes")
		}
		c.reloaded(c.filed)
		c.filed = nil
	}
}

// filedAnswer takes what the person at this machine says to the file.
func (c *checker) filedAnswer(a inbox.Decision, digest string) {
	if a.ID == c.filedAs && digest != "" && (a.Digest == digest || a.Digest == digest[:8]) {
		c.filedYes = c.filedYes || !c.inForce().confirms() && readAnswer(a.Result, way{}).yes
	}
}
