package sim

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// That a grant is taken back may be the first that the disk does not take, together with the yes of another
// one: nobody has given that. Nothing else excuses that one cannot be taken back (seeds 91030522, 91188411).
func TestOnlyAYesThatTheDiskDidNotTakeIsNotThereToBeTakenBack(t *testing.T) {
	unwritten := record.Record{Event: record.Revoked, Grant: "858874ca", Reason: "audit_unavailable"}
	for name, tc := range map[string]struct {
		said   record.Record
		failed bool
		usedUp bool // and is listed for a call alone
		blamed bool
	}{
		"the disk did not take it":        {unwritten, true, false, false},
		"the disk takes everything":       {unwritten, false, false, true},
		"the disk did not take another":   {record.Record{Event: record.Revoked, Grant: "faed8c3c", Reason: "audit_unavailable"}, true, false, true},
		"it ended with its terms":         {record.Record{Event: record.Revoked, Grant: "858874ca", Reason: "policy_tightened"}, true, false, true},
		"the bridge says nothing of it":   {record.Record{}, true, false, true},
		"the disk did not take its call":  {record.Record{}, true, true, false},
		"it was used up, and is not here": {record.Record{}, false, true, true},
	} {
		c := aChecker()
		c.w.now = time.Hour
		if tc.failed {
			c.w.log.troubleAt = c.w.now
		}
		c.emitted(tc.said)
		c.wasGone("858874ca", tc.usedUp)
		if blamed := len(c.violations) > 0; blamed != tc.blamed {
			t.Errorf("%s: somebody is blamed: %t", name, blamed)
		}
	}
}

// A yes of before that was made at a time that has not come does not count: nobody has to be spared for it (seed 99019799), and
// nothing may run by it.
func TestAYesFromAheadOfTheClockSparesNobody(t *testing.T) {
	for ahead, counts := range map[time.Duration]bool{-time.Hour: true, 10 * time.Minute: true, time.Hour: false} {
		c := aChecker()
		c.grants = []grant{{id: "858874ca", caller: "agent-a", tool: "note", keep: "always", args: `{}`, vias: []string{"request"}, by: []string{"alice"}}}
		c.restored([]approval.Grant{{ID: "858874ca", Made: c.w.clock(c.proc).Add(ahead)}})
		cl := &claim{said: said{from: "agent-a", method: "tools/call", tool: "note", args: []byte(`{}`)}, vias: []string{"request"}}
		w := way{verdict: ask, of: []string{"alice"}, need: 1, remember: []string{"always"}}
		if spares, runs := c.sure(cl, w) != nil, c.granted(cl, w); spares != counts || runs != counts {
			t.Errorf("made %v after now: nobody is to be asked: %t, it may run: %t", ahead, spares, runs)
		}
	}
}
