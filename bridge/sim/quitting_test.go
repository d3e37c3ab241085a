package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Somebody said that they left, the time of that was over, the timer rang late, and a roster without them came before it
// rang: what is due is judged before what comes, so that the server hears it at once (seed 99712402). Whom an earlier
// roster did not have is waited for, whatever a later one says; and so is whose leave was not due, or was said before
// the seat was lost.
func TestALeaveThatWasDueBeforeTheRosterCountsAtOnce(t *testing.T) {
	leaves := func(c *checker) {
		c.heard(&frame{said: said{id: "gw", from: wire.Gateway, kind: wire.Presence, method: "leave", tool: "agent-a"}})
	}
	roster := func(c *checker) { c.seated(nil) }
	listed := func(c *checker) { c.seated([]wire.Participant{{ID: "agent-a"}}) }
	type step struct {
		do   func(*checker)
		wait time.Duration // after it
	}
	for name, tc := range map[string]struct {
		steps  []step
		atOnce bool
	}{
		"a leave":                               {[]step{{leaves, 6 * time.Second}}, true},
		"a leave, and a roster when it is due":  {[]step{{leaves, 6 * time.Second}, {roster, 0}}, true},
		"a leave, and a roster before":          {[]step{{leaves, 2 * time.Second}, {roster, 3 * time.Second}}, false},
		"a leave that is not due, and a roster": {[]step{{leaves, 4 * time.Second}, {roster, 0}}, false},
		"a leave, and rosters before and when":  {[]step{{leaves, 2 * time.Second}, {roster, 4 * time.Second}, {roster, 0}}, false},
		"a roster":                              {[]step{{roster, 5 * time.Second}}, false},
		"a roster, and it counts at once":       {[]step{{roster, 0}}, false},
		"no seat, and a roster":                 {[]step{{(*checker).unseated, 6 * time.Second}, {roster, 0}}, false},
		"a leave, no seat, and a roster":        {[]step{{leaves, 2 * time.Second}, {(*checker).unseated, 4 * time.Second}, {roster, 0}}, false},
		"a roster, and one when it is due":      {[]step{{roster, 6 * time.Second}, {roster, 0}}, false},
		"a roster, one with them, and a leave":  {[]step{{roster, time.Second}, {listed, time.Second}, {leaves, 6 * time.Second}}, true},
		"a leave, and a roster with them":       {[]step{{roster, time.Second}, {leaves, time.Second}, {listed, time.Second}, {roster, 6 * time.Second}}, false},
	} {
		for _, told := range []bool{false, true} {
			c := aChecker()
			c.w.now, c.w.server.alive = time.Minute, true
			cl := c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true})
			cl.started, cl.line = true, &line{claim: cl, life: c.w.server.life}
			c.lines["1"] = cl.line
			for _, s := range tc.steps {
				s.do(c)
				c.w.now += s.wait
			}
			c.emitted(record.Record{Event: record.Peer, ID: "agent-a", State: "left"})
			if told {
				c.quits([]byte(`{"method":"notifications/cancelled","params":{"requestId":1}}`), false)
			}
			if must := cl.line.moot; must != tc.atOnce {
				t.Errorf("%s: the server must hear it at once: %t", name, must)
			}
			blamed := slices.ContainsFunc(c.violations, func(v violation) bool { return v.invariant == "P12" })
			if blamed != (told && !tc.atOnce) {
				t.Errorf("%s, told: %t, and somebody is blamed: %v", name, told, c.violations)
			}
		}
	}
}
