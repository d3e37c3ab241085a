package web_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/web"
)

// A scanner that looks ahead at links, however often, uses none up; nor does a browser see
// anything by it.
func TestALinkLetsOneBrowserInOnceAndItsGetIsHarmless(t *testing.T) {
	h := inboxtest.New("notes")
	h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	s := serve(t, source(h, "notes"))
	b := newBrowser(t, s)
	link := strings.TrimPrefix(s.Link(), b.base)
	for _, site := range []string{"", "none", "cross-site", "same-site"} {
		got := b.get(link, from(site))
		if got.status != http.StatusOK || !strings.Contains(got.body, "Continue</button>") || got.header.Get("Set-Cookie") != "" || strings.Contains(got.body, "secret") {
			t.Errorf("GET from %q: %+v", site, got)
		}
	}
	if got := b.get("/"); got.status != http.StatusForbidden {
		t.Errorf("a browser is in after a GET: %d", got.status)
	}
	got := b.post(link, nil)
	cookie := got.header.Get("Set-Cookie")
	for _, part := range []string{"mcpx_inbox_", "HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("no %s in %s", part, cookie)
		}
	}
	if got.status != http.StatusSeeOther || strings.Contains(cookie, link[len("/in/"):]) {
		t.Errorf("%+v", got)
	}
	if got := b.get("/"); got.status != http.StatusOK || !strings.Contains(got.body, "secret") {
		t.Errorf("%d", got.status)
	}
	other := newBrowser(t, s)
	if got := other.get(link); got.status != http.StatusGone {
		t.Errorf("a used link: %d", got.status)
	}
	if got := other.post(link, nil); got.status != http.StatusGone || got.header.Get("Set-Cookie") != "" {
		t.Errorf("a used link lets another browser in: %+v", got)
	}
}

// Who asks for another link has let go of the one before, which may have been seen by others; who
// is in stays in.
func TestAFreshLinkVoidsThoseOfBefore(t *testing.T) {
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	in, first := within(t, s), s.Link()
	fresh := s.Links()
	second := fresh()
	third := fresh()
	b := newBrowser(t, s)
	for _, old := range []string{first, second} {
		at := strings.TrimPrefix(old, b.base)
		for _, got := range []answer{b.get(at), b.post(at, nil)} {
			if got.status != http.StatusGone || got.header.Get("Set-Cookie") != "" || !strings.Contains(got.body, "gave way to a newer one") {
				t.Errorf("%+v", got)
			}
		}
	}
	if got := b.post(strings.TrimPrefix(third, b.base), nil); got.status != http.StatusSeeOther {
		t.Errorf("the newest does not work: %d", got.status)
	}
	if got := b.post(strings.TrimPrefix(third, b.base), nil); got.status != http.StatusGone {
		t.Errorf("it works twice: %d", got.status)
	}
	if got := in.get("/"); got.status != http.StatusOK {
		t.Errorf("who was in is not any more: %d", got.status)
	}
}

// A page that somehow knows a link logs nobody in by it.
func TestAnotherPageUsesNoLinkUp(t *testing.T) {
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	b := newBrowser(t, s)
	link := strings.TrimPrefix(s.Link(), b.base)
	for _, site := range []string{"cross-site", "same-site", "none", ""} {
		if got := b.post(link, nil, from(site), origin("https://evil.example")); got.status != http.StatusForbidden || got.header.Get("Set-Cookie") != "" {
			t.Errorf("from %q: %d", site, got.status)
		}
	}
	if got := b.post(link, nil); got.status != http.StatusSeeOther {
		t.Errorf("the link is used up: %d", got.status)
	}
}

func TestOfManyWhoUseALinkAtOnceOneGetsIn(t *testing.T) {
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	link, got := s.Link(), make(chan int)
	for range 20 {
		b := newBrowser(t, s)
		go func() { got <- b.post(strings.TrimPrefix(link, b.base), nil).status }()
	}
	in := 0
	for range 20 {
		if <-got == http.StatusSeeOther {
			in++
		}
	}
	if in != 1 {
		t.Errorf("%d got in", in)
	}
}

// What another page can have a browser send gets nothing and decides nothing.
func TestOtherPagesGetNothingAndDecideNothing(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	s := serve(t, source(h, "notes"))
	b := within(t, s)
	own := strings.TrimPrefix(originOf(b.base), "http://")
	port := own[strings.LastIndexByte(own, ':'):]
	yes := form(t, b.get("/q/notes/"+id).body, "allow")
	hostile := map[string][]func(*http.Request){
		"another site":                            {from("cross-site"), origin("https://evil.example")},
		"another port":                            {from("same-site"), origin("http://127.0.0.1:1")},
		"another port that hides where it is":     {from("same-site"), origin("null")},
		"another port without fetch metadata":     {from(""), origin("http://127.0.0.1:1")},
		"another name of ours as origin":          {from(""), origin("http://localhost" + port)},
		"nothing is said":                         {from(""), origin("")},
		"an origin that says nothing":             {from(""), origin("null")},
		"a name that resolves here":               {host("evil.example" + port)},
		"that name as origin too":                 {host("evil.example" + port), origin("http://evil.example" + port)},
		"a name without a port":                   {host("localhost")},
		"another port as host":                    {host("127.0.0.1:1")},
		"says it is the same, has another origin": {origin("https://evil.example")},
		"typed": {from("none")},
	}
	for name, set := range hostile {
		if got := b.post("/q/notes/"+id, yes, set...); got.status != http.StatusForbidden && got.status != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", name, got.status)
		}
		body := `{"digest":"` + yes.Get("digest") + `","result":{"action":"accept","content":{"approve":true}}}`
		for at, method := range map[string]string{"/api/notes/questions/" + id + "/answer": http.MethodPost, "/api/notes/grants/x": http.MethodDelete} {
			got := b.post(at, nil, append(set, func(r *http.Request) {
				r.Method, r.Body, r.ContentLength = method, io.NopCloser(strings.NewReader(body)), int64(len(body))
				r.Header.Set("Content-Type", "application/json")
			})...)
			if got.status != http.StatusForbidden && got.status != http.StatusMisdirectedRequest {
				t.Errorf("%s, %s: %d", name, at, got.status)
			}
		}
		undecided(t, h, id)
		if name == "nothing is said" || name == "typed" || name == "an origin that says nothing" {
			continue // a person who typed the address may see it
		}
		for _, path := range []string{"/", "/q/notes/" + id, "/events", "/history", "/api/notes/questions", "/api/notes/watch", "/nowhere"} {
			if got := b.get(path, set...); strings.Contains(got.body, "secret") || strings.Contains(got.body, "agent-a") || got.status < 400 {
				t.Errorf("%s sees %s: %d\n%s", name, path, got.status, got.body)
			}
		}
	}
	for _, name := range []string{"localhost" + port, "LOCALHOST" + port, "[::1]" + port} {
		if got := b.get("/", host(name)); got.status != http.StatusOK && got.status != http.StatusForbidden {
			t.Errorf("%s is ours: %d", name, got.status)
		}
	}
	b.post("/q/notes/"+id, yes)
	allowed(t, h, id)
}

func TestWhoIsNotLoggedInGetsNothing(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	s := serve(t, source(h, "notes"))
	yes := form(t, within(t, s).get("/q/notes/"+id).body, "allow")
	stranger := newBrowser(t, s)
	for _, path := range []string{"/", "/q/notes/" + id, "/events", "/history", "/bridges", "/remembered", "/api/notes/questions", "/api/notes/watch", "/nowhere"} {
		if got := stranger.get(path); got.status != http.StatusForbidden || strings.Contains(got.body, "secret") {
			t.Errorf("%s: %d\n%s", path, got.status, got.body)
		}
	}
	for _, cookie := range []string{"mcpx_inbox=x", "mcpx_inbox_=; x", strings.Repeat("a=b; ", 500)} {
		got := stranger.post("/q/notes/"+id, yes, func(r *http.Request) { r.Header.Set("Cookie", cookie) })
		if got.status != http.StatusForbidden {
			t.Errorf("%.20s: %d", cookie, got.status)
		}
	}
	undecided(t, h, id)
}

// Cookies know no ports: those of one page reach the other, and open nothing there.
func TestTheCookieOfAnotherBridgeOpensNothing(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	ours, theirs := serve(t, source(h, "notes")), serve(t, source(inboxtest.New("files"), "files"))
	b := within(t, theirs)
	if got := b.get("/"); got.status != http.StatusOK {
		t.Fatal(got.status)
	}
	b.base = strings.TrimSuffix(ours.Address(), "/")
	if got := b.get("/q/notes/" + id); got.status != http.StatusForbidden {
		t.Errorf("%d", got.status)
	}
	own := within(t, ours)
	at, _ := url.Parse(ours.Address())
	there, _ := url.Parse(theirs.Address())
	name := own.http.Jar.Cookies(at)[0].Name
	stolen := b.http.Jar.Cookies(there)[0]
	if got := b.http.Jar.Cookies(at); len(got) > 0 {
		t.Errorf("a browser gives one page the cookie of the other: %v", got)
	}
	if name == stolen.Name {
		t.Errorf("both cookies are called %s", name)
	}
	got := newBrowser(t, ours).get("/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: name, Value: stolen.Value}) })
	if got.status != http.StatusForbidden {
		t.Errorf("by our cookie's name: %d", got.status)
	}
}

// Who does not know where a page is does not learn it: the cookie is given to nobody there.
func TestOutsideItsRootThereIsNoPage(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	s := serve(t, source(h, "notes"))
	b := within(t, s)
	at, _ := url.Parse(s.Address())
	cookie := b.http.Jar.Cookies(at)[0]
	yes := form(t, b.get("/q/notes/"+id).body, "allow")
	link := strings.TrimPrefix(s.Link(), b.base)
	root := strings.Trim(at.Path, "/")
	b.base = originOf(b.base)
	if got := b.http.Jar.Cookies(&url.URL{Scheme: "http", Host: at.Host, Path: "/"}); len(got) > 0 {
		t.Errorf("a browser gives any page of this machine %v", got)
	}
	kept := func(r *http.Request) { r.AddCookie(cookie) }
	for _, path := range []string{"/", "/q/notes/" + id, "/events", "/history", "/api/notes/questions", link, "/" + root, "/" + strings.ToLower(root) + "/", "/x/../" + root[:5] + "/", "/static/../" + root[1:] + "/"} {
		for _, from := range []string{"none", "cross-site"} {
			got := b.get(path, kept, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", from) })
			if got.status != http.StatusForbidden && got.status != http.StatusNotFound || strings.Contains(got.body, "secret") || strings.Contains(got.body+got.header.Get("Location"), root) {
				t.Errorf("%s: %d\n%s", path, got.status, got.body)
			}
		}
	}
	if got := b.post("/q/notes/"+id, yes, kept); got.status != http.StatusForbidden {
		t.Errorf("a yes: %d", got.status)
	}
	undecided(t, h, id)
}

// A browser keeps its cookie back where another page has led to it. What it gets leads on.
func TestWhoComesFromAnotherPageGoesOnFromHere(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	s := serve(t, source(h, "notes"))
	b := newBrowser(t, s)
	for path, back := range map[string]string{"/q/notes/" + id: "/q/notes/" + id, "/nowhere": "/nowhere", "/events": "/", "//evil.example/": "/"} {
		back = strings.TrimPrefix(b.base, originOf(b.base)) + back
		if got := b.get(path, from("cross-site")); got.status != http.StatusForbidden || !strings.Contains(got.body, `href="`+back+`"`) || strings.Contains(got.body, "evil") {
			t.Errorf("%s: %d\n%s", path, got.status, got.body)
		}
	}
}

// A browser that is signed out has nothing any more, and what it listened to ends; others stay.
func TestWhoSignsOutIsOut(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	s := serve(t, source(h, "notes"))
	b, other := within(t, s), within(t, s)
	at, _ := url.Parse(s.Address())
	cookie := b.http.Jar.Cookies(at)[0]
	yes := form(t, b.get("/q/notes/"+id).body, "allow")
	var streams []io.ReadCloser
	for _, path := range []string{"/events", "/api/notes/watch"} {
		r, _ := http.NewRequest(http.MethodGet, b.base+path, nil)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		got, err := b.http.Do(r)
		if err != nil || got.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", got, err)
		}
		streams = append(streams, got.Body)
	}
	if got := b.post("/out", nil, from("same-site")); got.status != http.StatusForbidden || b.get("/").status != http.StatusOK {
		t.Errorf("another page signs it out: %d", got.status)
	}
	if b.get("/out"); b.get("/").status != http.StatusOK {
		t.Error("a GET signs it out")
	}
	if got := b.post("/out", nil); got.status != http.StatusOK || !strings.Contains(got.body, "signed out") || len(b.http.Jar.Cookies(at)) != 0 {
		t.Errorf("%d, %v\n%s", got.status, b.http.Jar.Cookies(at), got.body)
	}
	for _, stream := range streams {
		if _, err := io.Copy(io.Discard, stream); err != nil {
			t.Errorf("what it listens to goes on: %v", err)
		}
		stream.Close()
	}
	kept := func(r *http.Request) { r.AddCookie(cookie) }
	if got := b.get("/", kept); got.status != http.StatusForbidden || strings.Contains(got.body, "secret") {
		t.Errorf("by the cookie that it had: %d", got.status)
	}
	if got := b.post("/q/notes/"+id, yes, kept); got.status != http.StatusForbidden {
		t.Errorf("it decides: %d", got.status)
	}
	undecided(t, h, id)
	if got := other.get("/"); got.status != http.StatusOK {
		t.Errorf("another browser is out: %d", got.status)
	}
}

func TestEveryAnswerSaysWhatAPageMayDo(t *testing.T) {
	h := inboxtest.New("notes")
	s := serve(t, source(h, "notes"))
	b := within(t, s)
	for _, path := range []string{"/", "/q/notes/none", "/nowhere", "/static/inbox.js", "/static/inbox.css", "/in/none"} {
		got := b.get(path)
		csp := got.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "form-action 'self'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: no %s in %s", path, part, csp)
			}
		}
		for name, value := range map[string]string{"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if got.header.Get(name) != value {
				t.Errorf("%s: %s is %q", path, name, got.header.Get(name))
			}
		}
		if got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may be read by others", path)
		}
	}
	if got := b.get("/", host("evil.example")); got.header.Get("Content-Security-Policy") == "" {
		t.Error("a refusal has no policy")
	}
}

func TestOnlyGetAndPost(t *testing.T) {
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	b := within(t, s)
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch, http.MethodTrace} {
		if got := b.get("/", func(r *http.Request) { r.Method = method }); got.status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, got.status)
		}
	}
}

func TestAnAnswerThatIsTooLongIsNone(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	b := within(t, serve(t, source(h, "notes")))
	yes := form(t, b.get("/q/notes/"+id).body, "allow")
	yes.Set("reason", strings.Repeat("x", 2<<20))
	if got := b.post("/q/notes/"+id, yes); got.status != http.StatusBadRequest {
		t.Errorf("%d", got.status)
	}
	undecided(t, h, id)
}

func TestThePageIsForThisMachineOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:7421", "7421", "127.0.0.1"} {
		if s, err := web.Open(web.Options{Listen: address, Find: only(nil)}); err == nil {
			s.Close()
			t.Errorf("%s is taken", address)
		}
	}
}

// Browsers leave port 80 out of the name by which they call a page, and out of a passkey's origin.
func TestNoPageIsAtThePortThatBrowsersDoNotName(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:80": false, "localhost:080": false, "[::1]:http": false, "127.0.0.1:8080": true, "127.0.0.1:0": true} {
		if err := web.Check(address); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Another port of this machine may set a cookie of ours for a part of this page, and browsers send
// that before ours.
func TestACookieThatAnotherPortSetHidesNone(t *testing.T) {
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	b := newBrowser(t, s)
	own, _, _ := strings.Cut(b.post(strings.TrimPrefix(s.Link(), b.base), nil).header.Get("Set-Cookie"), ";")
	name, _, _ := strings.Cut(own, "=")
	for cookies, want := range map[string]int{own: http.StatusOK, name + "=x; " + own: http.StatusOK, name + "=x": http.StatusForbidden} {
		stranger := newBrowser(t, s)
		if got := stranger.get("/", func(r *http.Request) { r.Header.Set("Cookie", cookies) }); got.status != want {
			t.Errorf("%q: %d", cookies, got.status)
		}
	}
}
