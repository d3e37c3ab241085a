package notify

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// A remembering inbox shows a question as it was then.
type remembering struct {
	*inboxtest.Hall
	was string
}

func (i remembering) Show(ctx context.Context, id string) (approval.View, error) {
	v, err := i.Hall.Show(ctx, id)
	if v.Short != i.was {
		v.Short, v.Digest = i.was, i.was
	}
	return v, err
}

// What was shown is agreed to, and not what somebody made of it while the answer came.
func TestAnAnswerIsForTheCallThatWasShown(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	v, _ := h.Question(id)
	for _, was := range []string{"0badf00d", v.Short} {
		decides := was == v.Short
		seat := overtaken{h, was}
		a := &answers{in: remembering{h, was}, Channel: policy.Channel{Kind: "telegram", People: map[string]string{"7": "ann"}}, log: slog.New(slog.DiscardHandler),
			seat: func(context.Context, string) (inbox.Inbox, error) { return seat, nil }}
		said := a.take(t.Context(), channel.Answer{Person: "7", Question: id, Digest: was, Allow: true})
		if _, open := h.Question(id); open == decides || strings.Contains(said, "does not count") == decides {
			t.Errorf("an answer to %s: %q, open: %v", was, said, open)
		}
	}
}

// A crowded inbox has the question of somebody else before ours, under the digest of ours.
type crowded struct {
	*inboxtest.Hall
	other approval.View
}

func (i crowded) List(ctx context.Context, args bool) ([]approval.Summary, error) {
	all, err := i.Hall.List(ctx, args)
	return append([]approval.Summary{i.other.Summary}, all...), err
}

func (i crowded) Show(ctx context.Context, id string) (approval.View, error) {
	if id == i.other.ID {
		return i.other, nil
	}
	return i.Hall.Show(ctx, id)
}

// Whoever puts a question under the digest of another gets no answer to that, and keeps none from it.
func TestAnAnswerIsForTheBridgeThatAsked(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	v, _ := h.Question(id)
	other := v
	other.ID, other.Bridge = "of-mallory", "mallory"
	a := &answers{Channel: policy.Channel{Kind: "telegram", People: map[string]string{"7": "ann"}}, in: h, log: slog.New(slog.DiscardHandler),
		seat: func(context.Context, string) (inbox.Inbox, error) { return crowded{h, other}, nil }}
	for _, not := range []channel.Answer{{Question: "of-mallory", Digest: v.Short}, {Question: id[:8], Digest: v.Short}, {Question: id, Digest: ""}, {Question: "", Digest: ""}} {
		not.Person = "7"
		if said := a.take(t.Context(), not); !strings.Contains(said, "does not count") {
			t.Errorf("%+v: %s", not, said)
		}
	}
	said := a.take(t.Context(), channel.Answer{Person: "7", Question: id, Digest: v.Short})
	if _, open := h.Question(id); open || strings.Contains(said, "does not count") {
		t.Errorf("%q, and ours is open: %v", said, open)
	}
}

// A distant inbox has its question when its watcher has looked, or never.
type distant struct {
	*inboxtest.Hall
	comes bool
	here  *bool
}

func (d distant) List(ctx context.Context, args bool) ([]approval.Summary, error) {
	if !*d.here {
		return nil, nil
	}
	return d.Hall.List(ctx, args)
}

func (d distant) Watch(ctx context.Context) iter.Seq2[inbox.Event, error] {
	return func(yield func(inbox.Event, error) bool) {
		if !yield(inbox.Event{}, nil) {
			return
		}
		if *d.here = d.comes; *d.here {
			yield(inbox.Event{Event: "asked"}, nil)
		} else {
			<-ctx.Done()
		}
	}
}

// A chat may be faster than the topic: the answer of who reads it there counts all the same, and
// waits for nothing that is not on its way to them.
func TestAnAnswerMayBeHereBeforeItsQuestionIsInTheTopic(t *testing.T) {
	for name, c := range map[string]struct {
		person        string
		comes, counts bool
		closes        time.Duration // after which it is taken back
		takes         time.Duration
	}{
		"it comes":           {"7", true, true, time.Minute, 0},
		"it does not":        {"7", false, false, time.Minute, onTheWay},
		"it is for somebody": {"8", true, false, time.Minute, 0},
		"it is closed":       {"7", false, false, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := inboxtest.New("notes")
				q := inboxtest.Write(`{"path":"/a"}`)
				q.Terms.Of = []string{"local", "ann"}
				id := h.Ask(q)
				v, _ := h.Question(id)
				a := &answers{Channel: policy.Channel{Kind: "telegram", People: map[string]string{"7": "ann", "8": "bob"}}, in: h, log: slog.New(slog.DiscardHandler),
					seat: func(context.Context, string) (inbox.Inbox, error) { return distant{h, c.comes, new(bool)}, nil }}
				defer time.AfterFunc(c.closes, func() { h.Withdraw(id) }).Stop()
				began := time.Now()
				said := a.take(t.Context(), channel.Answer{Person: c.person, Question: id, Digest: v.Short, Allow: true})
				closed := c.counts || c.closes < time.Minute
				if _, open := h.Question(id); open == closed || strings.Contains(said, "does not count") == c.counts {
					t.Errorf("%q, and it is open: %v", said, open)
				}
				if took := time.Since(began); took != c.takes {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
