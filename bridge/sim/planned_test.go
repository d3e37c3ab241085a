package sim

import "testing"

// A policy that is stricter in something ends the plans that count. One that waited for the disk
// is judged by it before it counts, and then does (seed 15409).
func TestAStricterPolicyEndsThePlansThatCount(t *testing.T) {
	c := aChecker()
	c.books = []*rulebook{{ways: map[string]way{ruled[0]: {verdict: allow}}}}
	c.given["counts"], c.given["waits"] = &planned{begun: true}, &planned{}
	c.reloaded(&rulebook{ways: map[string]way{ruled[0]: {verdict: deny}}})
	if c.given["counts"] != nil || c.given["waits"] == nil {
		t.Errorf("left are %v", c.given)
	}
}
