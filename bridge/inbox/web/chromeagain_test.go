//go:build chrome

package web_test

import (
	"context"
	"iter"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// offersAllow says whether Allow can be pressed.
const offersAllow = `!document.querySelector("button[value=allow]").disabled`

// Whoever loads a question again, and finds another under the finger, allows it only after they
// have said that they have seen so.
func aQuestionChangesWhileItIsLoadedAgain(t *testing.T, browser context.Context) {
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Of, q.Terms.Need = []string{"local", "ben"}, 2
	q.Terms.Edit = []policy.Edit{{Field: "where", Arg: "/path", Title: "Where", Type: "string"}}
	h, id, b := asked(t, browser, q)
	b.do(chromedp.Reload())
	b.live()
	if !say[bool](b, offersAllow) {
		t.Error("the same question cannot be allowed when it is loaded again")
	}
	b.offline(true)
	h.Say(t, "ben", id, `{"action":"accept","content":{"approve":true,"where":"/b"}}`)
	b.offline(false)
	for range 2 { // pressed twice, too
		b.do(chromedp.Reload())
	}
	b.until(`document.querySelector(".sheet")?.textContent.includes('"/b"') && document.getElementById("wrong").innerText.includes("not the question that was shown here before")`)
	if say[bool](b, offersAllow) {
		t.Error("what nobody has looked at can be allowed by a press that was meant for something else")
	}
	b.do(chromedp.Click(`//label[contains(., "I have looked at it as it is now")]`))
	b.press("Allow")
	if s := h.Next(t); s.ID != id || string(s.Args) != `{"path":"/b"}` {
		t.Errorf("%s, %s", s.Outcome, s.Args)
	}
}

// late is an inbox whose events are a while on their way.
type late struct {
	*inboxtest.Hall
	come chan struct{}
}

func (l late) Watch(ctx context.Context) iter.Seq2[inbox.Event, error] {
	return func(yield func(inbox.Event, error) bool) {
		for e, err := range l.Hall.Watch(ctx) {
			if e.Event != "" {
				select {
				case <-l.come:
				case <-ctx.Done():
					return
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// How a question ended comes to whoever had it before them, and to whoever comes too late, when it
// is heard of.
func whoIsSecondReadsHowItEnded(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	src := late{h, make(chan struct{})}
	s := serve(t, source(src, "notes"))
	has, comes := loggedIn(t, browser, s), newTab(t, browser, s)
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	has.open("/q/notes/" + id)
	has.live()
	v, err := h.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: true})); err != nil {
		t.Fatal(err)
	}
	comes.open("/q/notes/" + id)
	comes.until(`document.getElementById("outcome").textContent.startsWith("It ended, or")`)
	close(src.come)
	comes.outcome("allowed by local")
	has.until(`document.getElementById("wrong").textContent.includes("closed: allowed by local") && document.querySelector("#answer fieldset").disabled`)
}
