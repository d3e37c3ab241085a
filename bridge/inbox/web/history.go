package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

// mostHistory is how many records a page has: the latest, or of one call the first.
const mostHistory = 200

// decisions are the events that tell how something was decided, or that somebody tried.
var decisions = []string{"decided", "withdrawn", "rejected", "revoked", "reload_decided", "late_answer", "foreign_answer", "security"}

// logs are the records of the sources, or of one alone, and of bridges that have ended, and by the
// path what has an address tell which log is meant.
func (s *Server) logs(ctx context.Context, only url.Values) (paths []string, which map[string]url.Values) {
	which = map[string]url.Values{}
	add := func(path, kind, value string) {
		if which[path] == nil && (!only.Has("bridge") && !only.Has("log") || only.Get(kind) == value) {
			paths, which[path] = append(paths, path), url.Values{kind: {value}}
		}
	}
	for _, one := range statuses(ctx, s.all()) {
		if one.err == nil && filepath.IsAbs(one.what.Audit) {
			add(one.what.Audit, "bridge", one.Key)
		}
	}
	if s.o.Ended != nil {
		for _, path := range s.o.Ended() {
			add(path, "log", filepath.Base(path))
		}
	}
	return paths, which
}

// history shows what was decided, or with a call all that is on record of that.
func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	now, query := time.Now(), r.URL.Query()
	since := cmp.Or(query.Get("since"), "24h")
	if query.Has("call") {
		s.record(w, r, now)
		return
	}
	f := show.Filter{From: query.Get("from"), Tool: query.Get("tool"), Verdict: query.Get("verdict"), Since: since, Event: decisions}
	paths, which := s.logs(r.Context(), nil)
	var rows pieces
	wrong := s.read(r.Context(), f, paths, now, func(one show.Found) {
		if !says(&one, query.Get("q")) {
			return
		}
		if rows = append(rows, decision(&one, which[one.Path], now)); len(rows) > 4*mostHistory { // a log may have millions
			rows = slices.Delete(rows, 0, len(rows)-mostHistory-1)
		}
	})
	more := len(rows) > mostHistory
	rows = rows[max(0, len(rows)-mostHistory):]
	slices.Reverse(rows)
	s.page(w, r, http.StatusOK, sheet{title: "History", on: "/history", body: pieces{
		element("h1", words("What was decided")),
		search(query, since),
		wrong,
		when(rows == nil, element("p", class("calm"), words("Nothing on record fits."), when(s.o.Ended == nil, words(" Records of bridges that have ended: mcpx-bridge inbox, or mcpx-bridge audit show.")))),
		element("ol", class("history"), attribute{"aria-label", "Decisions, the latest first"}, rows),
		when(more, element("p", class("calm"), words(fmt.Sprintf("These are the latest %d; ask for less to see others.", mostHistory)))),
	}})
}

// says reports whether a record has some words in it, in any case of letters.
func says(one *show.Found, words string) bool {
	return words == "" || strings.Contains(strings.ToLower(show.Words(&one.Record)), strings.ToLower(words))
}

// read reads records one after the other, for one page at a time: logs may be long. It returns
// what went wrong.
func (s *Server) read(ctx context.Context, f show.Filter, paths []string, now time.Time, each func(show.Found)) (wrong pieces) {
	s.reading.Lock()
	defer s.reading.Unlock()
	say := func(what string) {
		wrong = append(wrong, element("p", class("warn"), attribute{"role", "alert"}, words(what)))
	}
	found, err := f.In(ctx, paths, now)
	if err != nil {
		say(sentence(err))
		return wrong
	}
	for one, err := range found {
		switch {
		case ctx.Err() != nil:
			return wrong
		case err != nil:
			say("The record at " + one.Path + " cannot be read any further: " + err.Error() + ".")
		default:
			each(one)
		}
	}
	return wrong
}

// search is the form that says which decisions are wanted.
func search(query url.Values, since string) piece {
	field := func(name, said, value, hint string) piece {
		return element("label", class("field"), words(said), element("input", attribute{"name", name}, attribute{"value", value}, attribute{"placeholder", hint}, attribute{"autocomplete", "off"}))
	}
	return element("form", class("search"), action("/history"), attribute{"role", "search"}, attribute{"aria-label", "Search the record"},
		field("q", "Words", query.Get("q"), "any"), field("from", "Caller", query.Get("from"), "anybody"), field("tool", "Tool", query.Get("tool"), "write_*"),
		element("label", class("field"), words("Verdict"), element("select", attribute{"name", "verdict"}, each([]string{"", "allow", "ask", "deny", "withdrawn"}, func(v string) piece {
			return element("option", attribute{"value", v}, when(v == query.Get("verdict"), flag("selected")), words(cmp.Or(v, "any")))
		}))),
		field("since", "Since", since, "24h"), element("button", words("Search")))
}

// decision is one record in the list. of is what says in whose log it is.
func decision(one *show.Found, of url.Values, now time.Time) piece {
	r := &one.Record
	at := url.Values{"call": {r.Call}}
	maps.Copy(at, of)
	said := r.Event
	if r.Event == "decided" {
		said = cmp.Or(r.Outcome, r.Verdict, r.Event)
	}
	var about []string
	if len(r.By) > 0 {
		about = append(about, "by "+text.Some(r.By))
	}
	if r.Rule != "" {
		about = append(about, "rule "+r.Rule)
	}
	if r.Reason != "" {
		about = append(about, text.Uncounted(r.Reason))
	}
	what := cmp.Or(r.Tool, r.Method)
	return element("li", clock(r.At, now), element("span", class("verdict v-"+tone(said)), words(text.Words(said))),
		element("span", when(r.From != "", name(r.From)), when(r.From != "" && what != "", words(" → ")), when(what != "", name(what)),
			words(" "), element("bdi", words(strings.Join(about, ", ")))),
		when(r.Call != "", element("a", href("/history?"+at.Encode()), words("record"))))
}

// tone is how a decision looks.
func tone(said string) string {
	switch said {
	case "allow", "allowed":
		return "go"
	case "deny", "denied", "security", "foreign_answer", "rejected":
		return "no"
	}
	return "calm"
}

// record shows all that is on record of a call.
func (s *Server) record(w http.ResponseWriter, r *http.Request, now time.Time) {
	query := r.URL.Query()
	call := query.Get("call")
	paths, _ := s.logs(r.Context(), query)
	var rows pieces
	wrong := s.read(r.Context(), show.Filter{Call: call, All: true}, paths, now, func(one show.Found) {
		if len(rows) < mostHistory {
			rows = append(rows, element("li", words(show.Words(&one.Record))))
		}
	})
	s.page(w, r, http.StatusOK, sheet{title: "The record of a call", on: "/history", body: pieces{
		element("p", class("back"), element("a", href("/history"), words("← History"))),
		element("h1", words("The record of call "), name(call)),
		wrong,
		when(rows == nil, element("p", class("calm"), words("There is nothing on record of it."))),
		element("ol", class("record"), rows),
		s.explained(r.Context(), query.Get("bridge"), call),
	}})
}

// explained is what the rules of a bridge, as they are now, make of a call on record; nil where
// nobody has rules, or there is no such call.
func (s *Server) explained(ctx context.Context, bridge, call string) piece {
	src := s.source(bridge)
	if src == nil {
		return nil
	}
	in, is := src.Inbox.(inbox.Explainer)
	status, err := src.Status(ctx)
	if !is || err != nil || !filepath.IsAbs(status.Audit) {
		return nil
	}
	said, doubts, err := s.explain(ctx, in, &status, call)
	if errors.Is(err, report.ErrNotRecorded) {
		return nil
	}
	shown := block(said)
	if err != nil {
		shown = element("p", class("calm"), words(sentence(errors.New(strings.TrimPrefix(err.Error(), "--call: ")))))
	}
	return element("section", attribute{"aria-labelledby", "explained"}, element("h2", id("explained"), words("What the rules in force make of it now")), shown,
		element("p", class("calm small"), words(strings.Join(append(doubts, "Limits count as unused."), " "))))
}

// explain has a bridge judge a call that is on its record.
func (s *Server) explain(ctx context.Context, in inbox.Explainer, status *inbox.Status, call string) (said string, doubts []string, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	found, err := report.FindCall(ctx, call, []string{status.Audit})
	if err != nil {
		return "", nil, err
	}
	c, err := found.Call(status.Policy)
	if err != nil {
		return "", nil, err
	}
	for _, doubt := range found.Doubts() { // the bridge knows what its server says of tools
		doubts = append(doubts, sentence(errors.New(doubt)))
	}
	said, err = in.Explain(ctx, inbox.Call{From: c.From, Via: c.Via, Method: c.Method, Tool: c.Tool, Args: c.Args, Beside: c.Beside, Why: c.Why, At: c.Now})
	return said, doubts, err
}
