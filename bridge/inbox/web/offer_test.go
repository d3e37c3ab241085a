package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func TestOnlyWhatIsOfferedIsChangedRememberedOrPassedOn(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	q := inboxtest.Write(`{"path":"/a","mode":1,"kind":"x"}`)
	q.Terms.Remember = []string{"session"}
	q.Terms.Delegate = &policy.Delegate{To: []string{"ben"}}
	q.Terms.Edit = []policy.Edit{{Field: "mode", Arg: "/mode", Title: "Mode", Type: "integer", Max: "7"}, {Field: "kind", Arg: "/kind", Title: "Kind", Type: "string", Enum: []string{`"x"`, `"y"`}}}
	id := h.Ask(q)
	page := b.get("/q/notes/" + id).body
	if !strings.Contains(page, "runs unasked until the bridge stops or the caller leaves") {
		t.Error("it does not say what it would cover")
	}
	yes := form(t, page, "allow")
	with := func(name string, values ...string) url.Values {
		answer := url.Values{name: values}
		for n, v := range yes {
			if n != name {
				answer[n] = v
			}
		}
		return answer
	}
	for name, answer := range map[string]url.Values{
		"too much":                with("field.mode", "8"),
		"no number":               with("field.mode", "7x"),
		"twice":                   with("field.mode", "2", "3"),
		"none of the choices":     with("field.kind", `"z"`),
		"for longer than offered": with("remember", "always"),
		"to somebody else":        {"digest": yes["digest"], "do": {"delegate"}, "to": {"eve"}},
		"to nobody":               {"digest": yes["digest"], "do": {"delegate"}},
		"both":                    with("do", "allow", "delegate"),
		"remembered in two ways":  with("remember", "once", "session"),
	} {
		if got := b.post("/q/notes/"+id, answer); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, got.status)
		}
		undecided(t, h, id)
	}
	yes.Set("field.mode", "7")
	yes.Set("field.kind", `"y"`)
	b.post("/q/notes/"+id, yes)
	if s := h.Next(t); string(s.Args) != `{"path":"/a","mode":7,"kind":"y"}` {
		t.Errorf("%s runs, with %s", s.Outcome, s.Args)
	}
}

// The form of before stays open where the policy takes away what it offers. Its yes is to the call
// as it was changed there, and must run no other.
func TestAFieldThatIsOfferedNoMoreIsNotPassedOver(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	q := inboxtest.Write(`{"path":"/a","mode":1}`)
	q.Terms.Edit = []policy.Edit{{Field: "mode", Arg: "/mode", Title: "Mode", Type: "integer", Max: "7"}}
	id := h.Ask(q)
	at := "/q/notes/" + id
	yes := form(t, b.get(at).body, "allow")
	yes.Set("field.mode", "7")
	stricter := q.Terms
	stricter.Edit = nil
	h.Judge(id, policy.Decision{Verdict: policy.Ask, Ask: &stricter})
	got := b.post(at, yes)
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "What may be changed is not what it was: look at it again.") {
		t.Errorf("%d\n%s", got.status, got.body)
	}
	undecided(t, h, id)
	b.post(at, form(t, got.body, "allow"))
	if s := h.Next(t); s.Outcome.String() != "allowed" || string(s.Args) != `{"path":"/a","mode":1}` {
		t.Errorf("as it is shown now: %s, with %s", s.Outcome, s.Args)
	}
}

func TestAQuestionIsRememberedOrPassedOnByForm(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Remember = []string{"session"}
	at := "/q/notes/" + h.Ask(q)
	yes := form(t, b.get(at).body, "allow")
	yes.Set("remember", "session")
	b.post(at, yes)
	if s := h.Next(t); s.Made == nil || s.Made.Keep != "session" {
		t.Errorf("%+v", s)
	}
	q = inboxtest.Write(`{"path":"/b"}`)
	q.Terms.Delegate = &policy.Delegate{To: []string{"ben"}}
	id := h.Ask(q)
	pass := form(t, b.get("/q/notes/"+id).body, "delegate")
	pass.Set("to", "ben")
	if got := b.post("/q/notes/"+id, pass); got.status != http.StatusSeeOther {
		t.Fatalf("%d", got.status)
	}
	h.Say(t, "ben", id, `{"action":"accept","content":{"approve":true}}`)
	allowed(t, h, id)
}
