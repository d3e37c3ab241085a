package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// mostAlike is how many questions one answer may be for; more than that nobody reads.
const mostAlike = 20

// alike are the questions of a source that have caller, tool and rule of one of them, the oldest
// first. What is answered elsewhere, is about the policy, or takes a passkey is like nothing.
func alike(ctx context.Context, src *Source, one *approval.Summary) (all []approval.Summary) {
	list, err := src.List(ctx, false)
	if err != nil || one.Elsewhere != "" || one.AboutPolicy || one.Confirm != "" {
		return nil
	}
	for _, q := range list {
		if q.From == one.From && q.Tool == one.Tool && q.Rule == one.Rule && !q.AboutPolicy && q.Confirm == "" {
			all = append(all, q)
		}
	}
	return all
}

// more leads to the others that are like a question.
func more(ctx context.Context, src *Source, v *approval.View) piece {
	n := len(alike(ctx, src, &v.Summary)) - 1
	if n < 1 {
		return nil
	}
	return element("p", element("a", href(address("alike", src.Key, v.ID)), words(fmt.Sprintf("%d more like this: answer them together", n))))
}

// together shows questions that are alike, each whole, and a form for all that were shown.
func (s *Server) together(w http.ResponseWriter, r *http.Request) {
	src, list := s.source(r.PathValue("bridge")), []approval.Summary(nil)
	var first approval.View
	err := error(&inbox.Refusal{Reason: inbox.Unknown})
	if src != nil {
		first, err = src.Show(r.Context(), r.PathValue("id"))
	}
	if err == nil {
		list = alike(r.Context(), src, &first.Summary)
	}
	var shown pieces
	unread := false
	for _, q := range list[:min(len(list), mostAlike)] {
		v, err := src.Show(r.Context(), q.ID)
		if err != nil {
			continue // it has ended by now
		}
		one, unseen := oneOf(&v, time.Now())
		shown, unread = append(shown, one), unread || unseen
	}
	if shown == nil {
		s.page(w, r, http.StatusGone, sheet{title: "Nothing like it waits", on: "/", body: pieces{back(), element("h1", words("Nothing like it waits any more"))}})
		return
	}
	title := fmt.Sprintf("%d questions that are alike", len(shown))
	s.page(w, r, http.StatusOK, sheet{title: title, on: "/", body: pieces{
		back(),
		element("h1", name(first.From), words(" asks to run "), name(first.Tool), words(", "+times(len(shown)))),
		element("p", class("meta"), element("bdi", words(src.Label)), when(first.Rule != "", element("span", words("rule "), name(first.Rule)))),
		when(len(list) > len(shown), element("p", class("calm"), words(fmt.Sprintf("%d more are not shown here, and not answered.", len(list)-len(shown))))),
		element("ol", class("alike"), shown),
		element("form", id("answer"), attribute{"method", "post"}, action(r.URL.EscapedPath()), attribute{"aria-label", "One answer to all that are ticked"},
			element("fieldset",
				element("button", flag("disabled"), flag("hidden")),
				reason(),
				element("p", class("lock"), id("lock"), when(unread, words("Allow works once you have opened the long values above."))),
				element("div", class("buttons"), do("allow", "Allow those ticked", "primary", false), do("deny", "Deny those ticked", "no", true)))),
	}})
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// oneOf is one question among others, with a box that answers it too. What is ticked carries the
// digest of what is shown beside it.
func oneOf(v *approval.View, now time.Time) (one piece, unseen bool) {
	t := &tree{form: "answer", of: v.ID}
	arguments := t.arguments(v)
	return element("li", class("sheet"),
		element("label", class("choice"), element("input", attribute{"type", "checkbox"}, attribute{"name", "q"}, attribute{"form", "answer"},
			exact{"value", v.ID + " " + v.Digest}, flag("checked")), element("span", class("meta"), element("code", words(v.Short)), left(&v.Summary, now))),
		warnings(v), planned(v), arguments), len(t.long) > 0
}

// answerTogether gives one answer to those that were ticked, one after the other, and says what
// became of each.
func (s *Server) answerTogether(w http.ResponseWriter, r *http.Request) {
	src := s.source(r.PathValue("bridge"))
	if err := r.ParseForm(); err != nil || src == nil || len(r.PostForm["q"]) == 0 || len(r.PostForm["q"]) > mostAlike {
		s.page(w, r, http.StatusUnprocessableEntity, sheet{title: "Nothing was decided", on: "/", body: pieces{back(), element("h1", words("Nothing was decided")),
			element("p", words("The answer names no question, or too many, or its bridge does not run any more."))}})
		return
	}
	var rows pieces
	for _, ticked := range r.PostForm["q"] {
		id, digest, _ := strings.Cut(ticked, " ")
		rows = append(rows, element("li", element("a", href(address("q", src.Key, id)), element("code", words(text.Cut(digest, 8)))), words(" "), element("bdi", words(s.settled(r.Context(), src, id, digest, r.PostForm)))))
	}
	s.page(w, r, http.StatusOK, sheet{title: "Answered together", on: "/", body: pieces{back(), element("h1", words("Answered together")), element("ol", class("outcomes"), rows)}})
}

// settled answers one question, and says what came of it.
func (s *Server) settled(ctx context.Context, src *Source, id, digest string, form map[string][]string) string {
	outcome, err := decide(ctx, src, id, digest, form)
	if err != nil {
		if _, ok := errors.AsType[unsure](err); ok {
			return err.Error()
		}
		return "not decided by this: " + err.Error()
	}
	if outcome.Outcome == inbox.Pending {
		return "counted; others must agree too"
	}
	how := ended(outcome)
	s.end(questionID{src.Key, id}, how)
	return how
}
