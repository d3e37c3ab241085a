package approval

import "testing"

// Who was asked in a topic read "withdrawn: nobody decided in time": the sentences were known by
// their text elsewhere, and not all of them.
func TestEverySentenceOfAnEndIsKnownAsOurs(t *testing.T) {
	for outcome := range outcomes {
		for _, reason := range []string{"", CallerLeft, ShuttingDown, "cannot_run"} {
			s := Settled{Outcome: Outcome(outcome), Reason: reason, By: []Who{Participant("ann"), {Door: Local}}}
			if !Ours(s.Sentence()) {
				t.Errorf("%q is not ours", s.Sentence())
			}
		}
	}
	for _, other := range []string{"", "edited", "allowed", "the bridge is gone"} {
		if Ours(other) {
			t.Errorf("%q is ours", other)
		}
	}
}
