package prompt_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
)

// What an edit takes away and puts there is read as such, to its last line, before it can be
// allowed.
func TestAnEditIsReadAsOne(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		h.Ask(inboxtest.Write(`{"path":"/srv/a.conf","edits":[{"oldText":"host = a\nport = 80\n","newText":"host = a\nport = 8080\nroot = /\n"}],"note":"two\nlines"}`))
		s := sit(t, dir, prompt.Options{}, columns, 40)
		s.Sees(`  /path = "/srv/a.conf"
  --- /edits/0/oldText
  +++ /edits/0/newText
  │ host = a
  - port = 80
  + port = 8080
  + root = /
  │
  /note = 2 lines
  │ two
  │ lines
`)
		s.Sees("d deny")
		s.Types("d")
		s.Sees("deny, because")
		s.Types("\r")
		if got := h.Next(t); got.Outcome != approval.Denied {
			t.Errorf("settled as %+v", got)
		}
	}
}
