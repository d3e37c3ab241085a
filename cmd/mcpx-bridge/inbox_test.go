package main

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// sent is what a browser without a script does with a form of a page, and the page that it gets.
func sent(t *testing.T, c *http.Client, method, at string, form url.Values) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	got, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	page, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func found(t *testing.T, page, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, page)
	}
	return m[1]
}

// entered is a browser that a link has let in, and the address of the page without the last slash.
func entered(t *testing.T, link string) (c *http.Client, base string) {
	t.Helper()
	jar, _ := cookiejar.New(nil) // never fails
	c = &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	base, _, _ = strings.Cut(link, "/in/")
	sent(t, c, http.MethodPost, link, nil)
	return c, base
}

// A link lets in whoever reads it, so it does not go where others of this machine read: into a log
// that they can.
func TestNoLinkIsWrittenWhereOthersRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits say nothing there")
	}
	for mode, secret := range map[os.FileMode]bool{0o600: true, 0o644: false, 0o640: false} {
		file := filepath.Join(t.TempDir(), "run.log")
		log, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if err := log.Chmod(mode); err != nil {
			t.Fatal(err)
		}
		events, exit := newDiary(), make(chan int, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			exit <- run(ctx, append([]string{"run", "--json", "--listen", "127.0.0.1:0", "--inbox", "127.0.0.1:0", "--id", "fs", "--"}, stdiotest.Command(t, stdiotest.Script{})...),
				env{stdin: strings.NewReader(""), stdout: events, stderr: log, getenv: launch{}.getenv(t), environ: os.Environ})
		}()
		ready, ok := events.next(`{"event":"ready"}`, patience)
		cancel(errSignalled)
		if <-exit; !ok {
			t.Fatalf("%04o: it is not ready: %s", mode, events.text())
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if at, _ := ready["inbox"].(string); strings.Contains(at, "/in/") != secret || strings.Contains(string(text), "/in/") != secret || strings.Contains(at+string(text), "http://") != secret {
			t.Errorf("%04o: ready has %s, and the log %s", mode, at, text)
		}
		if said := "others read what is written here: mcpx-bridge inbox prints a link"; strings.Contains(string(text), said) == secret {
			t.Errorf("%04o: the log has %s", mode, text)
		}
	}
}

// A bridge knows who is here from presence, and how many calls came, also those that ran unasked
// and those that were refused.
func TestAPersonInABrowserSeesWhoIsHereAndHowMuchTheyAsk(t *testing.T) {
	g := openStage(t, d1)
	s := launch{rules: []string{"--inbox", "127.0.0.1:0", "--allow", "*", "--deny", "delete_*"}}.start(t, g.url)
	g.side = s
	g.accept()
	g.greet("bob", "alice")
	c, base := entered(t, s.ready()["inbox"].(string))
	shows := func(want string) {
		t.Helper()
		if page := sent(t, c, http.MethodGet, base+"/bridges", nil); !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	shows(`<dd><bdi>no calls</bdi></dd><dt>In the topic</dt><dd><ul class="names" aria-label="In the topic"><li><bdi class="name">alice</bdi></li><li><bdi class="name">bob</bdi></li></ul></dd>`)
	g.settle() // by a list of the tools
	g.request("e1", "bob", call("7", "write_file", `{"path":"/a","text":"x"}`))
	s.await(`{"event":"ended","env":"e1"}`)
	g.request("e2", "bob", call("8", "delete_file", `{"path":"/a"}`))
	s.await(`{"event":"decided","env":"e2"}`)
	shows("<dd><bdi>3 calls</bdi></dd>")
}

// What a page says of a past call is what the bridge would do: by the file that is in force and
// by the rules of flags, with what its server says of the tool.
func TestAPageExplainsACallByTheRulesOfTheFileAndOfFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	save := func(rules string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("version: 1\ndefault: deny\nserver: {trust_hints: true}\n"+rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save("rules: [{name: harmless, allow: [read_file, write_file], hints: {readOnly: true}}]\n")
	g := openStage(t, d1)
	s := launch{rules: []string{"--inbox", "127.0.0.1:0", "--policy", file, "--allow", "write_*"}}.start(t, g.url)
	g.side = s
	g.accept()
	g.greet("bob")
	c, base := entered(t, s.ready()["inbox"].(string))
	g.settle()
	calls := map[string]string{}
	for _, tool := range []string{"write_file", "read_file"} {
		g.request(tool, "bob", call("7", tool, `{"path":"/a"}`))
		calls[tool] = s.await(`{"event":"decided","env":"` + tool + `"}`)["call"].(string)
	}
	explains := func(tool, want string) {
		t.Helper()
		page := sent(t, c, http.MethodGet, base+"/history?bridge=fs&call="+calls[tool], nil)
		if _, said, _ := strings.Cut(page, "What the rules in force make of it now"); !strings.Contains(said, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	explains("write_file", "because of --allow write_*: ")
	explains("read_file", "because of harmless (line ")
	if page := sent(t, c, http.MethodGet, base+"/bridges", nil); !strings.Contains(page, "<dt>Rules of flags</dt><dd><bdi>--allow write_*</bdi></dd>") {
		t.Errorf("which rules hold is not said:\n%s", page)
	}
	save("rules: [{name: harmless, allow: [read_file, write_file], hints: {readOnly: true}}, {name: not-now, deny: write_file}]\n")
	s.await(`{"event":"reloaded"}`)
	explains("write_file", "because of not-now (line ")
	save("rules: nothing\n") // what is no policy is not in force
	s.await(`{"event":"reload_failed"}`)
	explains("write_file", "because of not-now (line ")
}

// From the link in "ready" to the call that runs, by nothing but what pages show.
func TestAPersonInABrowserDecides(t *testing.T) {
	g := openStage(t, d1)
	s := launch{rules: []string{"--inbox", "127.0.0.1:0"}}.start(t, g.url)
	g.side = s
	g.accept()
	g.greet("bob", "alice")
	link := s.ready()["inbox"].(string)
	g.settle()
	g.request("e1", "bob", call("7", "write_file", `{"path":"/a","text":"x"}`))
	s.await(`{"event":"asked","env":"e1"}`)

	jar, _ := cookiejar.New(nil) // never fails
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	base, _, _ := strings.Cut(link, "/in/")
	if page := sent(t, c, http.MethodGet, link, nil); !strings.Contains(page, "Continue") || strings.Contains(page, "bob") {
		t.Fatalf("the link leads to\n%s", page)
	}
	list := sent(t, c, http.MethodPost, link, nil)
	at := base + found(t, list, `href="/[A-Z2-7]+(/q/[^"]+)"`)
	question := sent(t, c, http.MethodGet, at, nil)
	if !strings.Contains(question, "write_file") || s.ran() != 0 {
		t.Fatalf("it ran %d times before this was shown:\n%s", s.ran(), question)
	}
	end := sent(t, c, http.MethodPost, at, url.Values{"do": {"allow"}, "digest": {found(t, question, `name="digest" value="([0-9a-f]{64})"`)}})
	if !strings.Contains(end, "allowed by local") {
		t.Errorf("the answer leads to\n%s", end)
	}
	g.expect(d1.reply("bob", "e1", "tools/call", "write_file", `{"id":7,"result":"*"}`))
	if s.ran() != 1 {
		t.Errorf("it ran %d times", s.ran())
	}
	history := sent(t, c, http.MethodGet, base+"/history", nil)
	record := strings.ReplaceAll(found(t, history, `href="/[A-Z2-7]+(/history\?bridge=[^"]+)"`), "&amp;", "&")
	if page := sent(t, c, http.MethodGet, base+record, nil); !strings.Contains(page, "write_file for bob") {
		t.Errorf("the record of it:\n%s", page)
	}
	if page := sent(t, &http.Client{}, http.MethodPost, link, nil); strings.Contains(page, "bob") || !strings.Contains(page, "was used") {
		t.Errorf("the link works twice:\n%s", page)
	}
}
