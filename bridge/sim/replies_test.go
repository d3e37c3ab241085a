package sim

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Of two proposals under one id our own requests are of either, for all that can be seen. One was given up with the
// seat, and its reject was sent first: the answer under the request that was taken for its own is that of the other one,
// unless it may have had an answer itself (seed 2002707).
func TestTheRequestOfAProposalThatNeverStartedMayBeThatOfTheOther(t *testing.T) {
	for _, started := range []bool{false, true} {
		c := aChecker()
		offer := func(from string) *claim {
			return c.enter(&said{id: "p", from: from, to: []string{us}, kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true})
		}
		bob, mallory := offer("bob"), offer("mallory")
		bob.itself("s1")
		mallory.itself("s2")
		bob.shown, bob.started, mallory.shown, mallory.started, mallory.answers = true, true, true, started, 1
		l := &letter{}
		l.To, l.Corr = []string{"bob", us}, []string{"s2"}
		if is := c.isAnswered(l); (is == bob) == started {
			t.Errorf("the other one has started: %t, and the answer is to %v", started, is)
		}
	}
}

// A denial waited for a pause to end and then for room on the way out, and the request came again when it was forgotten,
// was refused for a halt, and heard that first: what is on record of both says which refusal is to which (seed 99688444).
// One that is on record of neither is to the older, as before.
func TestARefusalIsToThatOfWhichItIsOnRecord(t *testing.T) {
	for told, newer := range map[int]bool{policyDenied: false, whileHalted: true, stoppingNow: false} {
		c := aChecker()
		s := said{id: "r", from: "agent-b", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}
		refuse := func(code int) *claim {
			cl := c.enter(&s)
			c.emitted(record.Record{Event: record.Rejected, From: "agent-b", Env: "r", Outcome: "error", Executed: "no", Code: code})
			return cl
		}
		refuse(policyDenied)
		c.w.now += 16 * time.Minute
		second := refuse(whileHalted)
		var l letter
		if err := json.Unmarshal(fmt.Appendf(nil, `{"payload":{"error":{"code":%d,"data":{"reason":"some","executed":"no"}}}}`, told), &l); err != nil {
			t.Fatal(err)
		}
		if is := c.answeredOf(second, &l) == second; is != newer {
			t.Errorf("%d is to the newer: %t", told, is)
		}
	}
}
