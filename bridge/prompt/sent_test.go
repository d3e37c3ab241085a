package prompt

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// Whoever changes something has the others asked anew, and an asker that does not say how many
// must agree may need more.
func TestOnlyTheLastYesIsSaidToBeTheLast(t *testing.T) {
	yes, changed, no := approval.Reply{Allow: true}, approval.Reply{Allow: true, Fields: []approval.Entry{{Field: "text"}}}, approval.Reply{}
	for name, c := range map[string]struct {
		v    approval.Summary
		r    approval.Reply
		last bool
	}{
		"one is enough":           {approval.Summary{Need: 1}, yes, true},
		"the second of two":       {approval.Summary{Need: 2, Have: 1}, yes, true},
		"the first of two":        {approval.Summary{Need: 2}, yes, false},
		"a changed second":        {approval.Summary{Need: 2, Have: 1}, changed, false},
		"a no":                    {approval.Summary{Need: 1}, no, false},
		"an asker that is silent": {approval.Summary{}, yes, false},
	} {
		want := "your answer was sent"
		if c.last {
			want = "your yes was enough"
		}
		if got := sentWords(&approval.View{Summary: c.v}, c.r); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
