package sim

import (
	"slices"
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

// A listing is answered after the one that was asked for later. If its time was over before, that tells the bridge
// nothing, and what the other one said holds (seed 91165096).
func TestAListingThatIsAnsweredTooLateChangesNothing(t *testing.T) {
	for took, version := range map[time.Duration]string{callTime - 1: "1", callTime: "2"} {
		c := aChecker()
		c.books = []*rulebook{{pin: "block", ways: map[string]way{"pay": {verdict: allow}}}}
		c.first["pay"] = "1"
		c.lines["3"] = &line{Method: "tools/list", at: c.w.now}
		c.w.now += took
		c.lines["4"] = &line{Method: "tools/list", at: c.w.now}
		c.answered([]byte(`{"id":4,"result":{"tools":[{"name":"pay","description":"2"}]}}`))
		c.answered([]byte(`{"id":3,"result":{"tools":[{"name":"pay","description":"1"}]}}`))
		if c.versions["pay"] != version {
			t.Errorf("answered after %v, and the tool is taken for version %s", took, c.versions["pay"])
		}
		c.lastWord(&claim{said: said{id: "r", method: "tools/call", tool: "pay", perfect: true}, book: c.books[0]}, policyDenied)
		if blamed := len(c.violations) > 0; blamed != (version == "1") {
			t.Errorf("answered after %v, and of a call that is refused for the change it is said: %v", took, c.violations)
		}
	}
}

// It was a proposal's turn, the timer rang late, and the first list came before it rang: what is due is judged before
// what comes, by no list, and so is refused for the halt, though the policy denies it (seed 94019774).
func TestWhatWasDueBeforeTheListIsJudgedWithoutIt(t *testing.T) {
	for _, tc := range []struct {
		late, awake time.Duration // since its turn, and since the machine slept; awake 0: it never did
		blamed      bool
	}{
		{-time.Second, 0, true}, {time.Second, 0, false}, {tickLate, 0, true},
		{-time.Second, time.Second, true}, {time.Minute, time.Second, false}, {time.Minute, tickLate, true},
	} {
		c := aChecker()
		c.books = []*rulebook{{ways: map[string]way{"pay": {verdict: deny}}}}
		c.w.server.alive = true
		cl := c.enter(&said{id: "p", from: "mallory", kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true,
			hints: hints{preferred: []string{"alice"}, wait: 5 * time.Second}})
		c.w.now += 5*time.Second + tc.late
		if tc.awake > 0 {
			c.w.dozedAt = c.w.now - tc.awake
		}
		c.listed([]byte(`{"result":{"tools":[{"name":"pay","description":"1"}]}}`))
		c.lastReject(cl, "busy", "halted")
		if is := slices.ContainsFunc(c.violations, func(v violation) bool { return v.invariant == "S4" }); is != tc.blamed {
			t.Errorf("its turn was %v ago, the machine is awake for %v, and it is said: %v", tc.late, tc.awake, c.violations)
		}
	}
}

// The time of a question was over, the timer rang late, and a list in which its tool has changed came before it rang: it is
// over because of its time, though a tool that has changed is blocked (seed 99320815).
func TestTheTimeOfAQuestionIsOverBeforeTheListThatComesThen(t *testing.T) {
	for waited, late := range map[time.Duration]bool{time.Minute - time.Second: false, time.Minute: true} {
		c := aChecker()
		c.books = []*rulebook{{ways: map[string]way{"pay": {verdict: ask, of: []string{"alice"}, need: 1, within: time.Minute}}, pin: "block"}}
		c.listed([]byte(`{"result":{"tools":[{"name":"pay","description":"1"}]}}`))
		c.firstSure["pay"] = "1"
		cl := c.enter(&said{id: "r", from: "agent-a", kind: wire.Request, method: "tools/call", tool: "pay", perfect: true})
		cl.question = "q"
		c.w.now += waited
		c.listed([]byte(`{"result":{"tools":[{"name":"pay","description":"2"}]}}`))
		if !c.surelyChanged("pay") {
			t.Fatal("the tool is the same")
		}
		if is := refusals[-31002](c, cl); is != late {
			t.Errorf("after %v its time is over: %t", waited, is)
		}
	}
}

// It was a proposal's turn, the timer rang late, and the first list of a server that was started anew came before it rang:
// until then nobody knew the tools, so it is refused for that. With a later list the server was there (seed 99695049).
func TestWhatWasDueBeforeTheFirstListHadNoServer(t *testing.T) {
	for _, first := range []bool{true, false} {
		for late, due := range map[time.Duration]bool{-time.Second: false, time.Second: true, tickLate: false} {
			c := aChecker()
			list := []byte(`{"result":{"tools":[{"name":"pay","description":"1"}]}}`)
			c.listed(list)
			c.w.server.alive, c.w.server.life, c.w.server.upAt = true, c.w.server.life+1, c.w.now
			if c.w.now += time.Second; !first {
				c.listed(list)
			}
			c.w.now += time.Second
			cl := c.enter(&said{id: "p", from: "agent-b", kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true,
				hints: hints{preferred: []string{"carol"}, wait: 5 * time.Second}})
			c.w.now += 5*time.Second + late
			c.listed(list)
			c.lastReject(cl, "incapable", "server_unavailable")
			if blamed := len(c.violations) > 0; blamed == (first && due) {
				t.Errorf("its turn was %v ago, the list is the first: %t, and it is said: %v", late, first, c.violations)
			}
		}
	}
}
