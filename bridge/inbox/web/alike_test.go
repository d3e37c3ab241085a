package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
)

// ticked are the boxes of a page, as they are sent where nobody unticks one.
func ticked(page string) (all []string) {
	for _, m := range regexp.MustCompile(`name="q" form="answer" value="([0-9a-f]{32} [0-9a-f]{64})" checked`).FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return all
}

func TestOneAnswerIsForExactlyThoseThatWereShown(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	first, second := h.Ask(inboxtest.Write(`{"path":"/a"}`)), h.Ask(inboxtest.Write(`{"path":"/b"}`))
	other := inboxtest.Write(`{"path":"/c"}`)
	other.Caller = "agent-b"
	unlike := h.Ask(other)
	if page := b.get("/q/notes/" + first).body; !strings.Contains(page, "1 more like this") {
		t.Errorf("nothing leads to the others:\n%s", page)
	}
	page := b.get("/alike/notes/" + first)
	boxes := ticked(page.body)
	if page.status != http.StatusOK || len(boxes) != 2 || !strings.HasPrefix(boxes[0], first) || !strings.HasPrefix(boxes[1], second) {
		t.Fatalf("%d, %q", page.status, boxes)
	}
	late := h.Ask(inboxtest.Write(`{"path":"/late"}`))
	got := b.post("/alike/notes/"+first, url.Values{"q": boxes, "do": {"allow"}})
	if strings.Count(got.body, "allowed by local") != 2 {
		t.Errorf("%s", got.body)
	}
	allowed(t, h, first)
	allowed(t, h, second)
	undecided(t, h, late)
	undecided(t, h, unlike)
}

func TestOfSeveralEachIsDecidedByItsOwnDigest(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	first, second := h.Ask(inboxtest.Write(`{"path":"/a"}`)), h.Ask(inboxtest.Write(`{"path":"/b"}`))
	boxes := ticked(b.get("/alike/notes/" + first).body)
	swapped := []string{first + boxes[1][32:], second + boxes[0][32:], first, "x y", ""}
	if got := b.post("/alike/notes/"+first, url.Values{"q": swapped, "do": {"allow"}}); strings.Count(got.body, "not decided by this") != len(swapped) {
		t.Errorf("%s", got.body)
	}
	for name, form := range map[string]url.Values{"nothing": {"do": {"allow"}}, "too many": {"do": {"allow"}, "q": make([]string, 21)}} {
		if got := b.post("/alike/notes/"+first, form); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	b.post("/alike/notes/"+first, url.Values{"q": boxes})
	undecided(t, h, first)
	undecided(t, h, second)
	b.post("/alike/notes/"+first, url.Values{"q": boxes[1:], "do": {"deny"}})
	if s := h.Next(t); s.ID != second || s.Outcome.String() != "denied" {
		t.Errorf("%s: %s", s.ID, s.Outcome)
	}
	undecided(t, h, first)
}

func TestLongValuesOfSeveralAreToBeSeenToo(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	id := h.Ask(inboxtest.Write(`{"content":"` + strings.Repeat("lorem ", 1000) + `"}`))
	boxes := ticked(b.get("/alike/notes/" + id).body)
	if got := b.post("/alike/notes/"+id, url.Values{"q": boxes, "do": {"allow"}}); !strings.Contains(got.body, "open the long values first") {
		t.Errorf("%s", got.body)
	}
	undecided(t, h, id)
	b.post("/alike/notes/"+id, url.Values{"q": boxes, "do": {"allow"}, "seen": {id + ".0"}})
	allowed(t, h, id)
}
