package web_test

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/web"
)

func halted(t *testing.T, h *inboxtest.Hall) *inbox.Halted {
	t.Helper()
	s, err := h.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Halted
}

func TestAPersonHaltsAndResumesWithoutAScript(t *testing.T) {
	notes, files := inboxtest.New("notes"), inboxtest.New("files")
	id := notes.Ask(inboxtest.Write(`{"path":"/a"}`))
	b := within(t, serve(t, source(notes, "notes"), source(files, "files")))
	halt := url.Values{"bridge": {"notes"}, "do": {"halt"}, "reason": {"mad <b>agents</b>"}}
	if page := b.get("/bridges").body; strings.Count(page, `value="halt"`) != 3 || strings.Contains(page, `value="resume"`) {
		t.Errorf("each can be halted, and both:\n%s", page)
	}
	if got := b.post("/bridges", halt, from("same-site")); got.status != http.StatusForbidden || halted(t, notes) != nil {
		t.Errorf("another page halts: %d", got.status)
	}
	if b.get("/bridges?" + halt.Encode()); halted(t, notes) != nil {
		t.Error("a GET halts")
	}
	if got := b.post("/bridges", halt); got.status != http.StatusSeeOther || halted(t, notes) == nil || halted(t, files) != nil {
		t.Fatalf("%d, %v", got.status, halted(t, notes))
	}
	for path, want := range map[string][]string{
		"/":              {"halted by <bdi>the person at the bridge</bdi>", "mad &lt;b&gt;agents&lt;/b&gt;", "halted, ", "Resume it"},
		"/q/notes/" + id: {"Nothing starts there, and no yes counts", "halted, ", "the time stands still"},
		"/bridges":       {"Nothing starts, and the time of its questions stands still", `value="resume"`},
	} {
		page := b.get(path).body
		for _, part := range want {
			if !strings.Contains(page, part) {
				t.Errorf("%s: no %s in\n%s", path, part, page)
			}
		}
	}
	yes := form(t, b.get("/q/notes/"+id).body, "allow")
	if got := b.post("/q/notes/"+id, yes); got.status != http.StatusConflict || !strings.Contains(got.body, "takes a no only until it is resumed") {
		t.Errorf("a yes: %d\n%s", got.status, got.body)
	}
	undecided(t, notes, id)
	if got := b.post("/bridges", url.Values{"bridge": {"notes"}, "do": {"resume"}}); got.status != http.StatusSeeOther || halted(t, notes) != nil {
		t.Errorf("%d, %v", got.status, halted(t, notes))
	}
	b.post("/q/notes/"+id, yes)
	allowed(t, notes, id)
	both := url.Values{"bridge": {"notes", "files"}, "do": {"halt"}, "reason": {"enough"}}
	if got := b.post("/bridges", both); got.status != http.StatusSeeOther || halted(t, notes) == nil || halted(t, files) == nil {
		t.Errorf("%d", got.status)
	}
}

func TestWhatCannotBeHaltedOrResumedIsSaid(t *testing.T) {
	h, other := inboxtest.New("notes"), inboxtest.New("files")
	b := within(t, serve(t, source(inbox.LookOnly(h), "notes"), source(inbox.Public(other), "files")))
	for want, form := range map[string]url.Values{
		"a reason":                   {"bridge": {"notes"}, "do": {"halt"}},
		"neither to be halted":       {"bridge": {"notes"}, "do": {"stop"}, "reason": {"x"}},
		"does not run any more":      {"bridge": {"none"}, "do": {"halt"}, "reason": {"x"}},
		"belongs to no bridge":       {"bridge": {"files"}, "do": {"halt"}, "reason": {"x"}},
		"Not all of it was done":     {"do": {"halt"}, "reason": {"x"}},
		"nobody resumes it from els": {"bridge": {"notes"}, "do": {"resume"}},
	} {
		if got := b.post("/bridges", form); got.status != http.StatusConflict || !strings.Contains(got.body, want) {
			t.Errorf("%v: %d\n%s", form, got.status, got.body)
		}
	}
	if halted(t, h) != nil || halted(t, other) != nil {
		t.Error("one of them halted it")
	}
	// One that cannot be halted keeps no other from it; who may only look may stop everything.
	if got := b.post("/bridges", url.Values{"bridge": {"files", "notes"}, "do": {"halt"}, "reason": {"x"}}); got.status != http.StatusConflict || halted(t, h) == nil {
		t.Errorf("%d", got.status)
	}
	if page := b.get("/bridges").body; strings.Contains(page, `action="/bridges" aria-label="Halt files`) {
		t.Errorf("it offers to halt what it cannot:\n%s", page)
	}
}

// A participant is the inbox of a serve, in the same directory as those of bridges.
type participant struct{ inbox.Inbox }

func (participant) Status(context.Context) (inbox.Status, error) {
	return inbox.Status{ID: "alice", Topic: "lobby", Seated: true, Audit: "off", Participant: true}, nil
}

// Who has no server has none that is down, no record, and nothing to halt.
func TestAParticipantIsNoBridgeThatIsOutOfOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "control")
	inboxtest.Open(t, socket.Options{Dir: dir, ID: "alice", Inbox: participant{inboxtest.New("alice")}})
	inboxtest.New("fs").Open(t, dir)
	s, err := web.Open(web.Options{Listen: "127.0.0.1:0", Find: web.Bridges(dir, nil)})
	if err != nil {
		t.Fatal(err)
	}
	serving(t, s)
	page := within(t, s).get("/bridges").body
	if !strings.Contains(page, `aria-label="alice in lobby"`) || !strings.Contains(page, `aria-label="Halt fs in lobby"`) {
		t.Fatalf("not both are there:\n%s", page)
	}
	for _, wrong := range []string{`aria-label="Halt alice`, "Halt all of them", "server is not up", "cannot be written"} {
		if strings.Contains(page, wrong) {
			t.Errorf("it says %s:\n%s", wrong, page)
		}
	}
}
