package prompt

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

func TestWhatIsRememberedIsSaidPlainly(t *testing.T) {
	now := time.Date(2026, 3, 2, 20, 33, 0, 0, time.UTC)
	known := approval.View{Summary: approval.Summary{From: "bob"}, Remember: []string{"once", "session", "always"}, RememberFor: []int{0, 8 * 3600, 30 * 86400}}
	wide := known
	wide.Remember, wide.RememberFor, wide.RememberMeans = []string{"once", "folder"}, []int{0, 8 * 3600}, []string{"this one call", "every call of write with path in the folder \"/srv\", runs unasked"}
	unsaid := wide
	unsaid.Remember, unsaid.RememberMeans = []string{"once", "folder", "session"}, nil
	unknown := known // somebody else asks, and does not say for how long
	unknown.RememberFor = nil
	for _, c := range []struct {
		view *approval.View
		i    int
		want string
	}{
		{&approval.View{}, 0, "no"},
		{&known, 0, "no"},
		{&known, 1, "this very call of bob, until tomorrow 04:33, or until the caller leaves or the bridge stops"},
		{&known, 2, "this very call of bob, until 2026-04-01 20:33, also when the bridge starts anew"},
		{&wide, 0, "no"},
		{&wide, 1, "every call of write with path in the folder \"/srv\", runs unasked"},
		{&unsaid, 1, "this very call of bob, until tomorrow 04:33, or until the caller leaves or the bridge stops"},
		{&unknown, 1, "this very call of bob, until the caller leaves or the bridge stops"},
		{&unknown, 2, "this very call of bob, also when the bridge starts anew"},
	} {
		m := newModel(0, 0, true)
		m.view, m.remember = c.view, c.i
		if got := m.remembered(now); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}
