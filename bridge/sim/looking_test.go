package sim

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// While the links of its path are followed a call waits for the policy of then; no other call does,
// once the server is there (seeds 13331, 15947).
func TestACallWhoseLinksAreFollowedIsJudgedByThePolicyOfThen(t *testing.T) {
	for tool, anew := range map[string]bool{"note": true, "pay": false} {
		c := aChecker()
		c.met = true
		cl := c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: tool, perfect: true})
		was := cl.book
		c.reloaded(&rulebook{ways: map[string]way{tool: {verdict: ask}}})
		if (cl.book != was) != anew {
			t.Errorf("%s is judged by the policy of then: %t", tool, cl.book != was)
		}
	}
}

// What was forgotten comes again. If it came once and is dropped, it was known still; if it came
// twice, one of both is (seed 25990).
func TestOfTwoCopiesOneIsTaken(t *testing.T) {
	for _, copies := range []int{1, 2} {
		c := aChecker()
		c.met = true
		c.w.server.alive, c.listedLife = true, c.w.server.life
		s := said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "note", perfect: true}
		first := c.enter(&s)
		first.answers, first.over = 1, true
		c.w.now += 30 * time.Minute
		for range copies {
			c.enter(&s)
		}
		c.knownStill(c.claims[s.key()], record.Record{Event: record.Dropped, Reason: "duplicate_envelope"})
		if known := c.claims[s.key()] == first; known != (copies == 1) {
			t.Errorf("of %d the bridge knows the first still: %t", copies, known)
		}
	}
}
