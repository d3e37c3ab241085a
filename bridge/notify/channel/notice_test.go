package channel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// row is the buttons that a channel shows under a notice, and what it says above them.
func row(t *testing.T, n *channel.Notice) (buttons []string, body string) {
	t.Helper()
	s := newWorkspace(t, nil)
	if _, err := s.open(t).Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	p := (<-s.said).params
	if len(p.Blocks) > 2 {
		for _, e := range p.Blocks[2].Elements {
			buttons = append(buttons, e.Text.Text)
		}
	}
	return buttons, p.Blocks[1].Text.Text
}

// Arguments that are too long for the topic have no list, and are cut like those that are a little
// shorter: who writes more gets no button back.
func TestNobodyCanSayYesInAChatToWhatIsTooLongToBeShown(t *testing.T) {
	for length, whole := range map[int]bool{100: true, 1000: false, 8000: false, 9000: false, 70000: false} {
		n := asked(t, func(q *approval.Question) {
			q.Args = fmt.Appendf(nil, `{"path":"/a","text":"%s"}`, strings.Repeat("x", length))
		})
		n.Buttons = true
		if buttons, body := row(t, n); strings.HasPrefix(buttons[0], "Allow ") != whole || strings.Contains(body, "] here") != whole {
			t.Errorf("%d: %q under %q", length, buttons, body)
		}
	}
	n := asked(t, func(q *approval.Question) { q.Args = []byte(`{}`) })
	n.Buttons = true
	if buttons, body := row(t, n); len(buttons) != 2 {
		t.Errorf("%q under %q", buttons, body)
	}
}

// What the button itself adds to the text is counted.
func TestABodyWithAnAllowIsWhole(t *testing.T) {
	allowed := 0
	for length := range 360 {
		n := asked(t, func(q *approval.Question) {
			q.Args = fmt.Appendf(nil, `{"a":"%s"}`, strings.Repeat("x", 340))
			for i := range 6 {
				q.Args = fmt.Appendf(q.Args[:len(q.Args)-1], `,"%d":"%s"}`, i, strings.Repeat("x", 340))
			}
			q.Reason = strings.Repeat("y", length)
		})
		n.Buttons = true
		buttons, body := row(t, n)
		if len(buttons) < 2 {
			continue
		}
		allowed++
		if strings.Contains(body, "… (cut)") {
			t.Fatalf("%d: %q under %q", length, buttons, body)
		}
	}
	if allowed == 0 || allowed == 360 {
		t.Errorf("%d of 360 have the button: their lengths are not about the most there may be", allowed)
	}
}

func TestAReminderSendsNobodyToAButtonThatIsNotThere(t *testing.T) {
	for confirm, above := range map[string]bool{"": true, policy.Passkey: false} {
		n := asked(t, func(q *approval.Question) { q.Terms.Confirm = confirm })
		n.Buttons, n.Event, n.Ref = true, "reminder", "1700.5"
		if _, body := row(t, n); strings.Contains(body, "] above, or at the bridge") != above {
			t.Errorf("confirm %q: %q", confirm, body)
		}
	}
}
