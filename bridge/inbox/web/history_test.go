package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/web"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// recorded is a hall with a record, and a status of the test's own.
type recorded struct {
	*inboxtest.Hall
	status inbox.Status
}

func (r recorded) Status(context.Context) (inbox.Status, error) { return r.status, nil }

// record writes a log of so many lines, each for a minute of the last hour.
func record(t *testing.T, lines ...string) (file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, filepath.Base(dir)+".jsonl") // its name is its own
	var all strings.Builder
	for i, line := range lines {
		at := time.Now().Add(time.Duration(i-len(lines)) * time.Minute).UTC().Format(time.RFC3339Nano)
		fmt.Fprintf(&all, `{"seq":%d,"ts":%q,"mono_ms":%d,"prev":"%064d",%s}`+"\n", i+1, at, i, 0, line)
	}
	if err := os.WriteFile(file, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestHistoryIsWhatIsOnRecord(t *testing.T) {
	file := record(t,
		`"event":"asked","call":"1","from":"bob","tool":"write_file","of":["local"]`,
		`"event":"decided","call":"1","from":"bob","tool":"write_file","verdict":"allow","rule":"writes","by":["local"]`,
		`"event":"start","call":"1","from":"bob","tool":"write_file"`,
		`"event":"decided","call":"2","from":"<b>eve</b>","tool":"delete_file","verdict":"deny","rule":"never","reason":"policy_denied"`,
		`"event":"decided","call":"3","from":"bob","tool":"read_file","verdict":"allow"`)
	b := within(t, serve(t, source(recorded{inboxtest.New("notes"), inbox.Status{ID: "notes", Audit: file, AuditOK: true}}, "notes")))
	calls := func(query url.Values) string {
		got := b.get("/history?" + query.Encode())
		if got.status != http.StatusOK {
			t.Errorf("%v: %d", query, got.status)
		}
		var all []string
		for _, m := range regexp.MustCompile(`/history\?bridge=notes&amp;call=(\d)`).FindAllStringSubmatch(got.body, -1) {
			all = append(all, m[1])
		}
		return strings.Join(all, " ")
	}
	for want, query := range map[string]url.Values{
		"3 2 1": {},
		"3 1":   {"from": {"bob"}},
		"2":     {"verdict": {"deny"}},
		"1":     {"tool": {"write_*"}},
		"2 ":    {"q": {"NEVER"}, "since": {"1h"}},
		"":      {"q": {"nobody wrote this"}},
	} {
		if got := calls(query); got != strings.TrimSpace(want) {
			t.Errorf("%v finds %q, want %q", query, got, want)
		}
	}
	if page := b.get("/history").body; !strings.Contains(page, "&lt;b&gt;eve&lt;/b&gt;") || strings.Contains(page, "<b>") {
		t.Errorf("somebody leaves their frame:\n%s", page)
	}
	if page := b.get("/history?bridge=notes&call=1").body; strings.Count(page, "write_file for bob") != 3 || strings.Contains(page, "eve") {
		t.Errorf("the record of a call:\n%s", page)
	}
	for _, query := range []string{"since=whenever", "verdict=perhaps"} {
		if got := b.get("/history?" + query); got.status != http.StatusOK || !strings.Contains(got.body, `role="alert"`) {
			t.Errorf("%s: %d\n%s", query, got.status, got.body)
		}
	}
}

// What bridges decided that do not run any more is found beside what the others did.
func TestHistoryHasWhatHasEnded(t *testing.T) {
	runs := record(t, `"event":"decided","call":"1","from":"bob","tool":"write_file","verdict":"allow"`)
	ended := record(t, `"event":"decided","call":"1","from":"carol","tool":"delete_file","verdict":"deny"`)
	src := source(recorded{inboxtest.New("notes"), inbox.Status{ID: "notes", Audit: runs, AuditOK: true}}, "notes")
	s, err := web.Open(web.Options{Listen: "127.0.0.1:0", Find: only([]*web.Source{src}), Ended: func() []string { return []string{runs, ended} }})
	if err != nil {
		t.Fatal(err)
	}
	serving(t, s)
	b := within(t, s)
	page := b.get("/history").body
	if strings.Count(page, ">bob<") != 1 || strings.Count(page, ">carol<") != 1 {
		t.Errorf("%s", page)
	}
	for at, want := range map[string][2]string{"/history?bridge=notes&call=1": {"bob", "carol"}, "/history?call=1&log=" + filepath.Base(ended): {"carol", "bob"}} {
		if at != "/history?bridge=notes&call=1" && !strings.Contains(page, strings.ReplaceAll(at, "&", "&amp;")) {
			t.Errorf("nothing leads to %s:\n%s", at, page)
		}
		if page := b.get(at).body; !strings.Contains(page, "for "+want[0]) || strings.Contains(page, "for "+want[1]) {
			t.Errorf("%s: %s", at, page)
		}
	}
	for _, at := range []string{"/history?call=1&log=../../etc/passwd", "/history?call=1&log=" + url.QueryEscape(ended), "/history?call=1&bridge=none"} {
		if page := b.get(at).body; !strings.Contains(page, "nothing on record of it") {
			t.Errorf("%s: %s", at, page)
		}
	}
}

func TestWhatIsRememberedIsTakenBack(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Remember = []string{"session"}
	id := h.Ask(q)
	v, _ := h.Question(id)
	if _, err := h.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: true, Remember: "session"})); err != nil {
		t.Fatal(err)
	}
	page := b.get("/remembered").body
	grant := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(page)
	if grant == nil || !strings.Contains(page, `>agent-a</bdi> may run <bdi class="name">write_file</bdi>`) || !strings.Contains(page, "/a&#34;") {
		t.Fatalf("%s", page)
	}
	if b.get("/remembered?bridge=notes&id=" + grant[1]); len(grants(t, h)) != 1 {
		t.Error("a GET takes back what is remembered")
	}
	form := url.Values{"bridge": {"notes"}, "id": {grant[1]}}
	if got := b.post("/remembered", form, from("same-site")); got.status != http.StatusForbidden || len(grants(t, h)) != 1 {
		t.Errorf("another page takes it back: %d", got.status)
	}
	if got := b.post("/remembered", form); got.status != http.StatusSeeOther || len(grants(t, h)) != 0 {
		t.Errorf("%d", got.status)
	}
}

// Who has a yes remembered for more than one call reads what for, before and afterwards.
func TestWhatIsRememberedOfMoreThanOneCallSaysSo(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	q := inboxtest.Write(`{"path":"/notes/a","text":"x"}`)
	q.Terms.Remember, q.Terms.Folder = []string{"session", "folder", "tool"}, "/path"
	id := h.Ask(q)
	page := b.get("/q/notes/" + id).body
	for _, want := range []string{`value="folder"`, "For the folder", "/notes", "For the tool, whatever its arguments", "every call of write_file"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	yes := form(t, page, "allow")
	yes.Set("remember", "folder")
	b.post("/q/notes/"+id, yes)
	allowed(t, h, id)
	if page := b.get("/remembered").body; !strings.Contains(page, "with whatever arguments fit this") || !strings.Contains(page, "under") || strings.Contains(page, "exactly these") {
		t.Errorf("%s", page)
	}
}

// What a plan covers is shown before its arguments, and what is left of it afterwards.
func TestAPlanIsShownWhole(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	q := inboxtest.Write(`{"items":[{"tool":"add_note","args":{"/text":{"any":true}},"uses":3}],"seconds":600}`)
	q.Via, q.Method, q.Tool = "proposal", plan.Method, ""
	p, err := plan.Parse(q.Args)
	if err != nil {
		t.Fatal(err)
	}
	q.Terms.Edit = approval.EditsOf(p)
	id := h.Ask(q)
	page := b.get("/q/notes/" + id).body
	for _, want := range []string{"A plan: nothing runs by a yes", "What would run unasked", "<dt>Item 1</dt>", "these calls of the same caller, and no others", `name="field.uses1"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	if strings.Contains(page, "this bridge makes the call") || strings.Count(page, "<dt>Item 1</dt>") != 1 {
		t.Errorf("it says what is not so, or twice:\n%s", page)
	}
}

func grants(t *testing.T, h *inboxtest.Hall) []inbox.Grant {
	t.Helper()
	all, err := h.Grants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestThePageSaysHowABridgeIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ndefault: ask # <b>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status := inbox.Status{ID: "notes", Topic: "lobby", Policy: file, Flags: []string{"--allow read_*", "--deny <i>"}, PolicyErr: "line 3: no such key", Audit: "no room", Server: "npx notes", PID: 7}
	b := within(t, serve(t, source(recorded{inboxtest.New("notes"), status}, "notes")))
	page := b.get("/bridges").body
	for _, want := range []string{"no seat in the topic", "server is not up", "cannot be written, so nothing runs: no room", "line 3: no such key", "default: ask # &lt;b&gt;", "npx notes", "--allow read_*, --deny &lt;i&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}

// Who is here is named as others call themselves, and of many the first.
func TestThePageSaysHowMuchThereIsToDoAndWhoIsHere(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	shows := func(want ...string) {
		t.Helper()
		page := b.get("/bridges").body
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("no %s in\n%s", w, page)
			}
		}
	}
	shows("<dd><bdi>no calls</bdi></dd>", "<dd>nobody else</dd>")
	h.Calls.Store(1)
	h.Here("it has no calls</bdi>\u202E", true)
	shows("<dd><bdi>1 call</bdi></dd>", `<li><bdi class="name">it has no calls&lt;/bdi&gt;\u{202e}</bdi></li></ul>`)
	for i := range 60 {
		h.Here(fmt.Sprintf("bob-%02d", i), true)
	}
	shows(`<li><bdi class="name">bob-49</bdi></li><li>and 11 more</li></ul>`)
	unseated := inbox.Status{ID: "notes"}
	b = within(t, serve(t, source(recorded{h, unseated}, "notes")))
	if page := b.get("/bridges").body; strings.Contains(page, "Last minute") || strings.Contains(page, "In the topic") {
		t.Errorf("it says what nobody knows:\n%s", page)
	}
}

func TestACallOnRecordIsJudgedByTheRulesInForce(t *testing.T) {
	log := record(t,
		`"event":"asked","call":"1","from":"bob","method":"tools/call","tool":"write_file","via":"request","args":{"path":"/a","key":"[redacted]"},"of":["local"]`,
		`"event":"decided","call":"1","from":"bob","method":"tools/call","tool":"write_file","via":"request","verdict":"ask","args":{"path":"/a","key":"[redacted]"},"by":["local"]`,
		`"event":"decided","call":"3","from":"bob","method":"tools/call","tool":"write_file","via":"request","verdict":"allow","args_bytes":99999`)
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(recorded{h, inbox.Status{ID: "notes", Audit: log, AuditOK: true}}, "notes")))
	flags, err := policy.Flags(nil, []string{"write_*"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := policy.Load("policy.yaml", []byte("version: 1\ndefault: ask\nrules: [{name: bob-may, allow: write_file, from: bob, args: {path: {under: /}}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	judged := func(rules *policy.Policy, call string) string {
		h.Rules.Store(rules)
		_, said, _ := strings.Cut(b.get("/history?bridge=notes&call="+call).body, "What the rules in force make of it now")
		return said
	}
	for want, rules := range map[string]*policy.Policy{
		"DENY: write_file from bob": file.With(flags), "because of --deny write_*: ": file.With(flags), "ALLOW: write_file from bob": file,
		"of which some was hidden. Limits count as unused.": file, "This inbox belongs to no bridge that has rules.": nil,
	} {
		if said := judged(rules, "1"); !strings.Contains(said, want) {
			t.Errorf("no %s in\n%s", want, said)
		}
	}
	if said := judged(file, "3"); !strings.Contains(said, "Its arguments (99999 bytes) are not on record") || strings.Contains(said, "ALLOW") {
		t.Errorf("%s", said)
	}
	if page := b.get("/history?bridge=notes&call=2").body; strings.Contains(page, "make of it now") || !strings.Contains(page, "nothing on record") {
		t.Errorf("%s", page)
	}
}

// A field may be called anything.
func TestWhatIsWrongWithAFieldIsSaidWhateverItIsCalled(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	q := inboxtest.Write(`{"mode":1}`)
	q.Terms.Edit = []policy.Edit{{Field: "mode", Arg: "/mode", Title: "über", Type: "integer", Max: "7"}}
	id := h.Ask(q)
	yes := form(t, b.get("/q/notes/"+id).body, "allow")
	yes.Set("field.mode", "8")
	if got := b.post("/q/notes/"+id, yes); !strings.Contains(got.body, "Über must be at most 7.") {
		t.Errorf("%s", got.body)
	}
}

// A log may have millions of decisions: of all that fit, the latest are kept.
func TestOfALongHistoryTheLatestAreShown(t *testing.T) {
	var lines []string
	for i := range 1100 {
		lines = append(lines, fmt.Sprintf(`"event":"decided","call":"%d","from":"bob","tool":"read_file","verdict":"allow"`, i))
	}
	status := inbox.Status{ID: "notes", Audit: record(t, lines...), AuditOK: true}
	b := within(t, serve(t, source(recorded{inboxtest.New("notes"), status}, "notes")))
	got := b.get("/history?since=48h").body
	all := regexp.MustCompile(`&amp;call=(\d+)`).FindAllStringSubmatch(got, -1)
	if len(all) != 200 || all[0][1] != "1099" || all[199][1] != "900" || !strings.Contains(got, "These are the latest 200") {
		t.Errorf("%d: %v", len(all), all)
	}
}
