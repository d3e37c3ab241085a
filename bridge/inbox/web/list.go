package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// perPage is how many questions one page lists.
const perPage = 50

// An item is a question in the list.
type item struct {
	at *Source
	approval.Summary
}

func (i *item) address() string { return address("q", i.at.Key, i.ID) }

// address is that of a page about a question.
func address(kind, bridge, id string) string {
	return "/" + kind + "/" + url.PathEscape(bridge) + "/" + url.PathEscape(id)
}

// waiting are all questions, the oldest first, and which sources did not say.
func (s *Server) waiting(ctx context.Context) (all []item, silent pieces) {
	for _, one := range askAll(s.all(), func(src *Source) ([]approval.Summary, error) { return src.List(ctx, false) }) {
		if one.err != nil {
			silent = append(silent, noAnswer(one.Source, one.err))
		}
		for _, q := range one.what {
			all = append(all, item{one.Source, q})
		}
	}
	slices.SortStableFunc(all, func(a, b item) int { return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID)) })
	return all, silent
}

// noAnswer says that a source did not say what there is, and why.
func noAnswer(src *Source, err error) piece {
	return element("p", class("warn"), name(src.Label), words(" does not answer: "+err.Error()+"."))
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	all, silent := s.waiting(r.Context())
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	from = min(max(from, 0), max(len(all)-1, 0)/perPage*perPage)
	shown := all[from:min(from+perPage, len(all))]
	var rows pieces
	for i := range shown {
		if row := s.row(r.Context(), &shown[i], now); row != nil {
			rows = append(rows, row)
		}
	}
	title := heading(len(all))
	s.page(w, r, http.StatusOK, sheet{title: title, on: "/", body: pieces{
		element("noscript", element("meta", attribute{"http-equiv", "refresh"}, attribute{"content", "15"})),
		element("h1", id("heading"), flag("data-live"), words(title)),
		element("div", id("silent"), flag("data-live"), silent),
		element("div", id("halted"), flag("data-live"), attribute{"aria-live", "polite"}, halts(r.Context(), s.all()...)),
		element("div", id("none"), flag("data-live"), when(len(all) == 0, nothing(s.all()))),
		element("ol", class("questions"), id("questions"), flag("data-live"), attribute{"aria-label", "Questions"}, rows),
		element("div", id("more"), flag("data-live"), turn(from, len(shown), len(all))),
	}})
}

func heading(n int) string {
	switch n {
	case 0:
		return "Nothing waits for you"
	case 1:
		return "1 question waits for you"
	}
	return fmt.Sprintf("%d questions wait for you", n)
}

// nothing says whose questions would be here.
func nothing(all []*Source) piece {
	if len(all) == 0 {
		return element("p", class("calm"), words("No bridge runs on this machine. Start one with "), element("code", words("mcpx-bridge run")), words("; its questions come up here."))
	}
	return element("p", class("calm"), words("Questions of these bridges come up here: "), each(all, func(src *Source) piece {
		return pieces{name(src.Label), words(" ")}
	}))
}

func look(v *approval.View) glance {
	return glance{version(&v.Summary), asks(v), when(!v.AboutPolicy, gist(v)), v.Needs(), len(v.Banner) > 0}
}

// row is one question in the list; nil if it has ended by now.
func (s *Server) row(ctx context.Context, i *item, now time.Time) piece {
	at, ok := s.glances.of(ctx, i.at, &i.Summary, look)
	if !ok {
		return nil
	}
	version := at.version
	if _, frozen := i.Left(now); frozen {
		version += ".halted"
	}
	return element("li", id("q."+i.at.Key+"."+i.ID), attribute{"data-version", version},
		element("a", class("card"), href(i.address()),
			element("span", class("asks"), at.asks),
			at.gist,
			element("span", class("meta"), left(&i.Summary, now), element("bdi", words(i.at.Label)), element("code", words(i.Short)),
				when(at.needs != "", element("span", words("needs "+at.needs))), when(at.hides, element("span", class("alarm"), words("holds what cannot be seen"))),
				when(i.Elsewhere != "", element("span", words(i.Elsewhere))))))
}

// How much of the arguments a list shows.
const (
	gistValues = 6
	gistRunes  = 100 // of one value
)

// gist is how the arguments begin, in the order in which they were written.
func gist(v *approval.View) piece {
	if len(v.Arguments) == 0 {
		return element("span", class("gist"), words(text.Cut(v.Compact, gistValues*gistRunes)))
	}
	shown := v.Arguments[:min(len(v.Arguments), gistValues)]
	return element("span", class("gist"), each(shown, func(l approval.Leaf) piece {
		return pieces{element("bdi", class("key"), words(text.Cut(strings.TrimPrefix(l.Name, "/"), gistRunes))), words(" "), element("code", words(text.Cut(l.Text, gistRunes))), words(" ")}
	}), when(len(shown) < len(v.Arguments)+v.More, words("…")))
}

// asks is who wants what, in a sentence.
func asks(v *approval.View) piece {
	switch {
	case v.AsksForTool():
		return pieces{name(v.From), words(" asks to run "), name(v.Tool)}
	case v.AboutPolicy:
		return words(v.Headline)
	}
	return element("bdi", words(v.Headline))
}

// turn leads to the questions before and after those that are shown.
func turn(from, shown, all int) piece {
	if shown == all {
		return nil
	}
	to := func(n int, said string) piece {
		return element("a", class("button"), href("/?from="+strconv.Itoa(n)), words(said))
	}
	return element("nav", class("turn"), attribute{"aria-label", "More questions"},
		when(from > 0, to(max(from-perPage, 0), "Before")),
		element("span", words(fmt.Sprintf("%d to %d of %d", from+1, from+shown, all))),
		when(from+shown < all, to(from+perPage, "After")))
}
