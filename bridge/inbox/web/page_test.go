package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
)

// Whatever is sent may have so much, and a form that is cut decides nothing.
func TestAFormThatIsTooLongDecidesNothing(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	f := form(t, b.get("/q/notes/"+id).body, "allow")
	f.Set("zzz", strings.Repeat("x", 2<<20)) // behind the rest
	for _, at := range []string{"/q/notes/" + id, "/alike/notes/" + id, "/bridges", "/remembered"} {
		if got := b.post(at, f); got.status < 400 {
			t.Errorf("%s: %d", at, got.status)
		}
	}
	undecided(t, h, id)
}

func TestTheListLeadsToEachQuestion(t *testing.T) {
	notes, files := inboxtest.New("notes"), inboxtest.New("files")
	first, second := notes.Ask(inboxtest.Write(`{"path":"/a"}`)), files.Ask(inboxtest.Write(`{"path":"/b"}`))
	b := within(t, serve(t, source(notes, "notes"), source(files, "files")))
	page := b.get("/").body
	at, then := strings.Index(page, "/q/notes/"+first), strings.Index(page, "/q/files/"+second)
	if at < 0 || then < at || !strings.Contains(page, "2 questions wait for you") {
		t.Errorf("not both in their order:\n%s", page)
	}
	if !strings.Contains(b.get("/q/files/"+second).body, "&#34;</code>") {
		t.Error("the path is not shown as text")
	}
}

func TestAllowAndDenyWithoutAScript(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	for button, outcome := range map[string]string{"allow": "allowed", "deny": "denied"} {
		at := "/q/notes/" + h.Ask(inboxtest.Write(`{"path":"/a"}`))
		answer := form(t, b.get(at).body, button)
		answer.Set("reason", "because")
		if got := b.post(at, answer); got.status != http.StatusSeeOther || originOf(b.base)+got.header.Get("Location") != b.base+at {
			t.Fatalf("%+v", got)
		}
		if s := h.Next(t); s.Outcome.String() != outcome || s.Said != "because" {
			t.Errorf("%s: %s, %q", button, s.Outcome, s.Said)
		}
		if got := b.get(at); got.status != http.StatusGone || !strings.Contains(got.body, outcome+" by local") {
			t.Errorf("the page does not say that it was %s:\n%s", outcome, got.body)
		}
	}
}

func TestAnAnswerCarriesTheDigestOfWhatWasShown(t *testing.T) {
	h := inboxtest.New("notes")
	id, other := h.Ask(inboxtest.Write(`{"path":"/a"}`)), h.Ask(inboxtest.Write(`{"path":"/b"}`))
	b := within(t, serve(t, source(h, "notes")))
	right := form(t, b.get("/q/notes/"+id).body, "allow")
	for name, answer := range map[string]url.Values{
		"of another question": form(t, b.get("/q/notes/"+other).body, "allow"),
		"none":                {"do": {"allow"}},
		"short":               {"do": {"allow"}, "digest": {right.Get("digest")[:8]}},
		"two":                 {"do": {"allow"}, "digest": {strings.Repeat("0", 64), right.Get("digest")}},
	} {
		if got := b.post("/q/notes/"+id, answer); got.status != http.StatusConflict || !strings.Contains(got.body, "decided nothing") {
			t.Errorf("%s: %d\n%s", name, got.status, got.body)
		}
	}
	for _, button := range [][]string{nil, {""}, {"Allow"}, {"yes"}, {"allow", "deny"}} {
		if got := b.post("/q/notes/"+id, url.Values{"digest": right["digest"], "do": button}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d", button, got.status)
		}
	}
	if got := b.get("/q/notes/" + id + "?" + right.Encode()); got.status != http.StatusOK {
		t.Errorf("a GET with an answer: %d", got.status)
	}
	undecided(t, h, id)
	b.post("/q/notes/"+id, right)
	allowed(t, h, id)
	if got := b.post("/q/notes/"+id, right); got.status != http.StatusConflict || len(h.Settled) > 0 {
		t.Errorf("an answer that comes again: %d", got.status)
	}
}

func TestWhoComesSecondIsToldWhoWasFirst(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	s := serve(t, source(h, "notes"))
	one, two := within(t, s), within(t, s)
	yes, no := form(t, one.get("/q/notes/"+id).body, "allow"), form(t, two.get("/q/notes/"+id).body, "deny")
	one.post("/q/notes/"+id, yes)
	allowed(t, h, id)
	if got := two.post("/q/notes/"+id, no); got.status != http.StatusConflict || !strings.Contains(got.body, "allowed by local") {
		t.Errorf("%d\n%s", got.status, got.body)
	}
}

func TestALongValueIsToBeSeenBeforeAYesAndNotBeforeANo(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	long := `{"path":"/a","content":"` + strings.Repeat("lorem ", 1000) + `the end"}`
	id := h.Ask(inboxtest.Write(long))
	page := b.get("/q/notes/" + id).body
	if !strings.Contains(page, "the end") || !strings.Contains(page, "6007 characters") {
		t.Error("not all of it is on the page")
	}
	yes := form(t, page, "allow")
	if got := b.post("/q/notes/"+id, yes); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Open the long values first") {
		t.Errorf("a yes unseen: %d\n%s", got.status, got.body)
	}
	undecided(t, h, id)
	yes.Set("seen", id+".0")
	b.post("/q/notes/"+id, yes)
	allowed(t, h, id)
	id = h.Ask(inboxtest.Write(long))
	b.post("/q/notes/"+id, form(t, b.get("/q/notes/"+id).body, "deny"))
	if s := h.Next(t); s.Outcome.String() != "denied" {
		t.Errorf("%s", s.Outcome)
	}
}

func TestWhoMayOnlyLookGetsNoForm(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	b := within(t, serve(t, source(inbox.LookOnly(h), "notes")))
	page := b.get("/q/notes/" + id)
	if page.status != http.StatusOK || strings.Count(page.body, "<form") != 1 || strings.Contains(page.body, `name="do"`) || !strings.Contains(page.body, "--answers terminal") {
		t.Errorf("%d\n%s", page.status, page.body)
	}
	v, _ := h.Question(id)
	if got := b.post("/q/notes/"+id, url.Values{"digest": {v.Digest}, "do": {"allow"}}); got.status != http.StatusConflict {
		t.Errorf("%d", got.status)
	}
	undecided(t, h, id)
}

func TestArgumentsAreShownAsWhatTheyAre(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	id := h.Ask(inboxtest.Write(`{"n":9007199254740993,"yes":true,"none":null,"empty":{},"list":[],"text":"one\n\ttwo \nthree","deep":[{"a":"7"}],"rtl":"a\u202eb\u200d\\u{202e}"}`))
	page := b.get("/q/notes/" + id).body
	for what, want := range map[string]string{
		"a number":                 `n</bdi> <code class="value">9007199254740993</code>`,
		"true":                     `<code class="value">true</code>`,
		"null":                     `<code class="value">null</code>`,
		"an empty object":          `{} nothing`,
		"an empty list":            `[] an empty list`,
		"lines":                    "one\n\ttwo<mark class=\"gap\"> </mark>\nthree</pre>",
		"a text of digits":         `<code class="value text">&#34;7&#34;</code>`,
		"what cannot be seen":      `a<mark>U+202E</mark>b<mark>U+200D</mark>\u{202e}&#34;`,
		"that something is hidden": "direction",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: no %s in\n%s", what, want, page)
		}
	}
}

// A looked is a hall that counts how often somebody looked at a whole question.
type looked struct {
	*inboxtest.Hall
	times *atomic.Int64
}

func (l looked) Show(ctx context.Context, id string) (approval.View, error) {
	l.times.Add(1)
	return l.Hall.Show(ctx, id)
}

// While a bridge puts a question together that somebody has made long, all its calls wait; and
// a list is asked for again with each event.
func TestAListLooksAtAQuestionOnce(t *testing.T) {
	h := looked{inboxtest.New("notes"), new(atomic.Int64)}
	b := within(t, serve(t, source(h, "notes")))
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Of, q.Terms.Need = []string{"local", "ann"}, 2
	id := h.Ask(q)
	first := b.get("/").body
	for range 10 {
		if again := b.get("/").body; !strings.Contains(again, "write_file") || !strings.Contains(again, "/a") || !strings.Contains(again, "needs 2") {
			t.Fatalf("it is not what it was:\n%s\nbut\n%s", first, again)
		}
	}
	if n := h.times.Load(); n != 1 {
		t.Errorf("it was looked at %d times", n)
	}
	v, _ := h.Question(id)
	if _, err := h.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: true})); err != nil {
		t.Fatal(err)
	}
	if now := b.get("/").body; !strings.Contains(now, "needs 2; you agreed") || h.times.Load() != 2 {
		t.Errorf("looked at %d times, and nothing is said of the yes:\n%s", h.times.Load(), now)
	}
	h.Withdraw(id)
	if now := b.get("/").body; strings.Contains(now, "write_file") {
		t.Errorf("it is there still:\n%s", now)
	}
}

// An answer to a question of a bridge that had ended was told nothing of itself.
func TestAnAnswerToABridgeThatEndedIsToldThatItDecidedNothing(t *testing.T) {
	b := within(t, serve(t))
	if got := b.post("/q/none/x", url.Values{"do": {"allow"}, "digest": {"x"}}); got.status != http.StatusNotFound || !strings.Contains(got.body, "does not run any more. Nothing was decided.") {
		t.Errorf("%d: %s", got.status, got.body)
	}
}

// mum is an inbox that takes an answer and says nothing any more.
type mum struct{ *inboxtest.Hall }

func (m mum) Decide(ctx context.Context, d inbox.Decision) (inbox.Outcome, error) {
	if _, err := m.Hall.Decide(ctx, d); err != nil {
		return inbox.Outcome{}, err
	}
	return inbox.Outcome{}, errors.New("the bridge hung up")
}

// Where an answer left and nothing came back, nobody is told that it decided nothing.
func TestAnAnswerOfWhichNothingCameBackMayCount(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(mum{h}, "notes")))
	const unknown = "he bridge hung up; whether this answer counts is not known"
	one := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	got := b.post("/q/notes/"+one, form(t, b.get("/q/notes/"+one).body, "allow"))
	allowed(t, h, one)
	if got.status != http.StatusBadGateway || !strings.Contains(got.body, unknown) || strings.Contains(got.body, "decided nothing") {
		t.Errorf("%d\n%s", got.status, got.body)
	}
	two := h.Ask(inboxtest.Write(`{"path":"/b"}`))
	f := form(t, b.get("/q/notes/"+two).body, "allow")
	f.Set("q", two+" "+f.Get("digest"))
	got = b.post("/alike/notes/"+two, f)
	allowed(t, h, two)
	if !strings.Contains(got.body, unknown) || strings.Contains(got.body, "not decided by this") {
		t.Errorf("%s", got.body)
	}
}
