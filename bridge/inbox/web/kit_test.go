package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/web"
)

// TestMain is another user's program when it is told to.
const aForm, aJSON = "application/x-www-form-urlencoded", "application/json"

func TestMain(m *testing.M) {
	if at := os.Getenv("TEST_KNOCK_AT"); at != "" {
		knock(at, os.Getenv("TEST_KNOCK_WITH"))
		return
	}
	if at := os.Getenv("TEST_CROWD_AT"); at != "" {
		crowd(at)
		return
	}
	if port := os.Getenv("TEST_THIEF_AT"); port != "" {
		thief(port, os.Getenv("TEST_THIEF_ANSWERS"))
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")) // half a second, after a body that is too long
}

// originOf is what a browser says of a page at an address.
func originOf(address string) string {
	at, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return at.Scheme + "://" + at.Host
}

// knock tries what a program of another user can: it says of itself whatever it likes, and knows
// of the question what stands in an answer to it.
func knock(base, with string) {
	for line := range strings.SplitSeq(with, "\n") {
		part := strings.Split(line, " ") // cookie, method, path, body, and what that is
		r, err := http.NewRequest(part[1], base+part[2], strings.NewReader(part[3]))
		if err != nil {
			panic(err)
		}
		r.Header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {originOf(base)}, "Content-Type": {part[4]}, "Cookie": {part[0]}}
		got, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(got.Body)
		got.Body.Close()
		fmt.Println(got.StatusCode, string(body))
	}
}

// thief is a program of another user, at the port of a page and the other address of localhost.
// What comes there it uses at the page.
func thief(port, answers string) {
	at, err := net.Listen("tcp", "[::1]:"+port)
	if err != nil {
		fmt.Println("refused: " + err.Error())
		return
	}
	fmt.Println("listens")
	c, err := at.Accept()
	if err != nil {
		panic(err)
	}
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		panic(err)
	}
	c.Close()
	base := "http://127.0.0.1:" + port
	root, _, _ := strings.Cut(r.URL.Path, "/in/")
	send := func(method, path, body, cookie string) *http.Response {
		r, _ := http.NewRequest(method, base+path, strings.NewReader(body))
		r.Header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {base}, "Content-Type": {aForm}, "Cookie": {cookie}}
		got, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			panic(err)
		}
		return got
	}
	cookie, _, _ := strings.Cut(send(http.MethodPost, r.URL.Path, "", "a=b").Header.Get("Set-Cookie"), ";")
	to, body, _ := strings.Cut(answers, " ")
	got := send(http.MethodPost, root+to, body, cookie)
	fmt.Println(got.StatusCode)
	page, _ := io.ReadAll(send(http.MethodGet, root+"/", "", cookie).Body)
	fmt.Println(strings.Contains(string(page), "agent-a"))
}

// crowd takes all places that it gets, says so, and keeps them until its stdin ends.
func crowd(at string) {
	var all []net.Conn
	for range 200 {
		if c, err := net.DialTimeout("tcp", at, time.Second); err == nil {
			all = append(all, c)
			io.WriteString(c, "GET /static/inbox.css HTTP/1.1\r\nHost: "+at+"\r\n\r\n")
		}
	}
	fmt.Println(len(all))
	io.Copy(io.Discard, os.Stdin)
}

// serve serves the page of some inboxes until the test ends.
func serve(t testing.TB, all ...*web.Source) *web.Server {
	t.Helper()
	s, err := web.Open(web.Options{Listen: "127.0.0.1:0", Find: only(all)})
	if err != nil {
		t.Fatal(err)
	}
	serving(t, s)
	return s
}

// serving serves a page until the test ends.
func serving(t testing.TB, s *web.Server) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func only(all []*web.Source) web.Finder {
	return func(_ context.Context, known func(string) bool) (found []*web.Source, err error) {
		for _, src := range all {
			if !known(src.Key) {
				found = append(found, src)
			}
		}
		return found, nil
	}
}

func source(in inbox.Inbox, key string) *web.Source {
	return &web.Source{Inbox: in, Key: key, Label: key + " in lobby"}
}

// A browser keeps cookies as browsers do, whatever the port, and says where a request comes from.
type browser struct {
	t    testing.TB
	base string // without the last slash
	http http.Client
}

func newBrowser(t testing.TB, s *web.Server) *browser {
	jar, _ := cookiejar.New(nil) // never fails
	b := &browser{t: t, base: strings.TrimSuffix(s.Address(), "/")}
	b.http = http.Client{Jar: jar, Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return b
}

// within is a browser that is logged in.
func within(t testing.TB, s *web.Server) *browser {
	t.Helper()
	b := newBrowser(t, s)
	if got := b.post(strings.TrimPrefix(s.Link(), b.base), nil); got.status != http.StatusSeeOther {
		t.Fatalf("the link does not work: %+v", got)
	}
	return b
}

type answer struct {
	status int
	header http.Header
	body   string
}

// get and post are what a page of the server does.
func (b *browser) get(path string, set ...func(*http.Request)) answer {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodGet, b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r, set)
}

func (b *browser) post(path string, form url.Values, set ...func(*http.Request)) answer {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodPost, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", "null") // as with Referrer-Policy: no-referrer
	return b.do(r, set)
}

func (b *browser) do(r *http.Request, set []func(*http.Request)) answer {
	b.t.Helper()
	for _, f := range set {
		f(r)
	}
	got, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{got.StatusCode, got.Header, string(body)}
}

func from(site string) func(*http.Request) {
	return func(r *http.Request) { set(r, "Sec-Fetch-Site", site) }
}

func origin(value string) func(*http.Request) {
	return func(r *http.Request) { set(r, "Origin", value) }
}

func set(r *http.Request, name, value string) {
	if value == "" {
		r.Header.Del(name)
		return
	}
	r.Header.Set(name, value)
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

// form is that of a question's page, as a browser without a script would send it with a button.
func form(t testing.TB, page, button string) url.Values {
	t.Helper()
	digest := regexp.MustCompile(`name="digest" value="([0-9a-f]{64})"`).FindStringSubmatch(page)
	if digest == nil || !strings.Contains(page, `name="do" value="`+button+`"`) {
		t.Fatalf("no form with %s in\n%s", button, page)
	}
	return url.Values{"digest": {digest[1]}, "do": {button}}
}

func allowed(t testing.TB, h *inboxtest.Hall, id string) {
	t.Helper()
	if s := h.Next(t); s.ID != id || s.Outcome.String() != "allowed" {
		t.Errorf("%s: %s, %s", s.ID, s.Outcome, s.Reason)
	}
}

func undecided(t testing.TB, h *inboxtest.Hall, id string) {
	t.Helper()
	if _, open := h.Question(id); !open {
		t.Errorf("%s is decided", id)
	}
}
