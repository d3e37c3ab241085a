package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Whatever is sent, a question ends by the one word and the one digest that its form has, and by
// nothing that another page sends. DIGEST in a body stands for the right one.
func FuzzAnswer(f *testing.F) {
	f.Add("digest=DIGEST&do=allow", "application/x-www-form-urlencoded", "same-origin", "null")
	f.Add("digest=DIGEST&do=deny&reason=%00%ff", "application/x-www-form-urlencoded", "same-origin", "")
	f.Add("do=allow&digest=DIGEST&digest=DIGEST", "application/x-www-form-urlencoded; charset=x", "same-origin", "null")
	f.Add("do=allow;digest=DIGEST", "text/plain", "same-site", "null")
	f.Add("do=delegate&digest=DIGEST&to=ben", "application/x-www-form-urlencoded", "", "http://localhost")
	f.Add(`{"digest":"DIGEST","do":"allow"}`, "application/json", "none", "")
	h := inboxtest.New("notes")
	b := within(f, serve(f, source(h, "notes")))
	f.Fuzz(func(t *testing.T, body, kind, site, origin string) {
		id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
		defer h.Withdraw(id)
		v, _ := h.Question(id)
		body = strings.ReplaceAll(body, "DIGEST", v.Digest)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.base+"/q/notes/"+id, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": kind, "Sec-Fetch-Site": site, "Origin": origin} {
			if !regexp.MustCompile(`^[!-~]*( [!-~]+)*$`).MatchString(value) {
				return // no header can say that
			}
			set(r, name, value)
		}
		got, err := b.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		form, err := url.ParseQuery(body)
		right := err == nil && slices.Equal(form["digest"], []string{v.Digest})
		for len(h.Settled) > 0 {
			end := (<-h.Settled)
			said := map[string]string{"allowed": "allow", "denied": "deny"}[end.Outcome.String()]
			if end.ID == id && said != "" && !(right && slices.Equal(form["do"], []string{said}) && site != "same-site" && site != "cross-site") {
				t.Errorf("%s by %q from %q, %q", end.Outcome, body, site, origin)
			}
		}
	})
}

// tags are all that a page of a question may have.
var tags = strings.Fields("a article bdi body button code dd details div dl dt fieldset footer form h1 h2 h3 head header html input label legend li link main mark meta nav option p pre script section select span strong summary textarea time title ul")

// Whatever somebody calls something, a page has no other elements, and shows nothing that hides
// or turns text round.
func FuzzFrame(f *testing.F) {
	for _, s := range nasty {
		if len(s) < 200 {
			f.Add(s)
		}
	}
	h := inboxtest.New("notes")
	b := within(f, serve(f, source(h, "notes")))
	f.Fuzz(func(t *testing.T, s string) {
		id := h.Ask(everywhere(strings.ToValidUTF8(s, "?")))
		if id == "" {
			return
		}
		defer func() {
			h.Withdraw(id)
			for len(h.Settled) > 0 {
				<-h.Settled
			}
		}()
		b.t = t
		page := b.get("/q/notes/" + id).body
		for _, m := range regexp.MustCompile(`</?([^ >/!]+)`).FindAllStringSubmatch(page, -1) {
			if !slices.Contains(tags, m[1]) {
				t.Fatalf("%q makes a <%s>", s, m[1])
			}
		}
		for _, r := range page {
			if r != '\n' && r != '\t' && text.Hidden(r) {
				t.Fatalf("%q has %U shown as it is", s, r)
			}
		}
	})
}

// The bridge asks by the same form whether a policy file counts.
func TestAChangedPolicyFileIsAskedAbout(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	q := inboxtest.Write(`{"file":"/etc/policy.yaml","looser":["rule small-writes lets more through"]}`)
	q.Caller, q.Method, q.Tool, q.AboutPolicy, q.Terms = "policy-file", "policy/reload", "", true, policy.Terms{Of: []string{"local"}, Need: 1, Within: 300e9}
	id := h.Ask(q)
	if list := b.get("/").body; !strings.Contains(list, "The policy file was changed") || strings.Contains(list, "asks to run") {
		t.Errorf("%s", list)
	}
	page := b.get("/q/notes/" + id).body
	for _, want := range []string{"The policy file was changed", "rule small-writes lets more through", "What the file may let through"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	b.post("/q/notes/"+id, form(t, page, "allow"))
	allowed(t, h, id)
}
