package sim

import (
	"testing"

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
