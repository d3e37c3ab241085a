package notify

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// An overtaken inbox lists a question as it was before somebody changed the call.
type overtaken struct {
	*inboxtest.Hall
	was string
}

func (o overtaken) List(ctx context.Context, args bool) ([]approval.Summary, error) {
	all, err := o.Hall.List(ctx, args)
	for i := range all {
		all[i].Short = o.was
	}
	return all, err
}

// What was shown is agreed to, and not what somebody made of it while the answer came.
func TestAnAnswerIsForTheCallThatWasShown(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	v, _ := h.Question(id)
	for _, was := range []string{"0badf00d", v.Short} {
		decides := was == v.Short
		seat := overtaken{h, was}
		a := &answers{Channel: policy.Channel{Kind: "telegram", People: map[string]string{"7": "ann"}}, log: slog.New(slog.DiscardHandler),
			seat: func(context.Context, string) (inbox.Inbox, error) { return seat, nil }}
		said := a.take(t.Context(), channel.Answer{Person: "7", Question: id, Digest: was, Allow: true})
		if _, open := h.Question(id); open == decides || strings.Contains(said, "does not count") == decides {
			t.Errorf("an answer to %s: %q, open: %v", was, said, open)
		}
	}
}
