package sim

import (
	"testing"
	"time"

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
