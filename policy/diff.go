package policy

// A Change is a call whose verdict differs between two policies.
type Change struct {
	Call          Call
	Before, After Decision
}

// Diff judges past calls, oldest first, by both policies, and gives those whose
// verdict differs. Limits are counted along the way, as if every call that was
// not denied had run.
func Diff(before, after *Policy, calls []Call) []Change {
	var changes []Change
	var old, now Ledger
	for _, c := range calls {
		x, y := before.Decide(c, &old), after.Decide(c, &now)
		old.Commit(old.Reserve(x, c.Now))
		now.Commit(now.Reserve(y, c.Now))
		if x.Verdict != y.Verdict {
			changes = append(changes, Change{c, x, y})
		}
	}
	return changes
}
