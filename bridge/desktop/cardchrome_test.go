//go:build chrome

package desktop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/examples/chromium"
)

// A host is a client that shows the card of a stage in a browser, as MCP Apps has it: the
// page in a frame, under the policy that follows from what it declares, and its messages
// passed on to the server.
type host struct {
	*stage
	mu   sync.Mutex // of the stage
	page string
	tab  context.Context
}

// hostPage is the window around the frame.
const hostPage = `<!doctype html><title>host</title><script>
const log = [];
let id = 0, refuses = 0;
async function server(message) {
  const response = await fetch('/mcp', {method: 'POST', body: JSON.stringify({...message, jsonrpc: '2.0', id: 'h' + ++id})});
  return response.json();
}
window.addEventListener('message', async (event) => {
  const frame = document.querySelector('iframe'), m = event.data;
  if (event.source !== frame.contentWindow) return;
  log.push(m);
  const reply = (rest) => frame.contentWindow.postMessage({jsonrpc: '2.0', id: m.id, ...rest}, '*');
  if (m.method === 'ui/initialize') reply({result: {protocolVersion: '2026-01-26', hostInfo: {name: 'h', version: '1'}, hostCapabilities: {serverTools: {}}, hostContext: {theme: 'light'}}});
  else if (m.method === 'ui/notifications/initialized') frame.contentWindow.postMessage({jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: (await server({method: 'tools/call', params: {name: 'mcpx_approvals', arguments: {}}})).result}, '*');
  else if (m.params?.name === 'mcpx_answer' && refuses-- > 0) reply({error: {code: -32000, message: 'the client refuses'}});
  else if (m.method === 'tools/call') { const {result, error} = await server({method: m.method, params: m.params}); reply({result, error}); }
});
const within = () => document.querySelector('iframe').contentDocument;
const pressed = (choice, n = 0) => within().querySelectorAll('button[value=' + choice + ']')[n].click();
</script><body>`

// showing opens a host in a window of a browser. attributes are those of the frame.
func showing(t *testing.T, browser context.Context, s *stage, attributes string) *host {
	t.Helper()
	h := &host{stage: s, page: cardPageOf(t, s)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, hostPage+`<iframe src="/card" width="400" height="700" `+attributes+`></iframe>`)
	})
	mux.HandleFunc("GET /card", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; object-src 'none'")
		_, _ = io.WriteString(w, h.page)
	})
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		line, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.step(desktop.Line{Text: line})
		_, _ = io.WriteString(w, strings.Join(h.heard(), ""))
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	h.tab = chromium.Tab(t, browser)
	ctx, cancel := context.WithTimeout(h.tab, chromium.Patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(site.URL)); err != nil {
		t.Fatal(err)
	}
	return h
}

func cardPageOf(t *testing.T, s *stage) string {
	t.Helper()
	s.line(`{"jsonrpc":"2.0","id":"page","method":"resources/read","params":{"uri":"ui://mcpx/approvals"}}`)
	var m struct {
		Result struct{ Contents []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(s.one()), &m); err != nil || len(m.Result.Contents) != 1 {
		t.Fatal(err, m)
	}
	return m.Result.Contents[0].Text
}

// until waits for what a script says to be so.
func (h *host) until(script string) {
	h.t.Helper()
	chromium.Until(h.t, h.tab, script, "within()?.body?.innerText + JSON.stringify(log)")
}

// does is a step of the stage's while the browser may take one.
func (h *host) does(step func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	step()
}

func (h *host) decisions() (all []desktop.Decide) {
	h.does(func() { all = append(all, h.decided...) })
	return all
}

// editable is a question with one of each field that a form may have.
func editable() desktop.Asked {
	q := question("q1")
	q.Question.DelegateTo = []string{"carol", "dave"}
	q.Question.Edits = []approval.Field{
		{Field: "path", Title: "Path", Type: "string", Now: `"/tmp/a"`},
		{Field: "count", Title: "Count", Type: "integer", Now: "3"},
		{Field: "force", Title: "Force", Type: "boolean", Now: "false"},
		{Field: "mode", Title: "Mode", Type: "string", Enum: []string{`"soft"`, `"hard"`}, Now: `"soft"`},
	}
	return q
}

// What a person does and sees on the card in a real browser. One browser serves all; each has
// a window of its own.
func TestInABrowser(t *testing.T) {
	browser := chromium.Open(t)
	for name, test := range map[string]func(*testing.T, context.Context){
		"answers": answersOnTheCard,
		"ends":    aQuestionEndsOnTheCard,
		"hostile": nothingRunsOnTheCardThatOthersWrote,
		"sandbox": theCardWorksInASandbox,
	} {
		t.Run(name, func(t *testing.T) { test(t, browser) })
	}
}

func answersOnTheCard(t *testing.T, browser context.Context) {
	for name, test := range map[string]struct {
		press string
		want  approval.Reply
		says  string
	}{
		"allow":    {`pressed('allow')`, approval.Reply{Allow: true}, "Your answer: allowed."},
		"deny":     {`fill('Reason', 'not today'), pressed('deny')`, approval.Reply{Reason: "not today"}, "Your answer: denied."},
		"delegate": {`fill('Who decides instead', 'dave'), pressed('delegate')`, approval.Reply{To: "dave"}, "Your answer: passed on to dave."},
		"edit": {`fill('Path', '/tmp/b'), fill('Count', '7'), fill('Force', 'true'), fill('Mode', 'hard'), pressed('allow')`,
			approval.Reply{Allow: true, Fields: []approval.Entry{{Field: "path", Raw: []byte(`"/tmp/b"`)}, {Field: "count", Raw: []byte("7")}, {Field: "force", Raw: []byte("true")}, {Field: "mode", Raw: []byte(`"hard"`)}}}, "Your answer: allowed with changes."},
	} {
		t.Run(name, func(t *testing.T) {
			s := carded(t)
			s.step(editable())
			h := showing(t, browser, s, "")
			h.until(`within().querySelector('button[value=allow]')`)
			if text := chromium.Says[string](h.t, h.tab, `within().querySelector('li').innerText`); !strings.Contains(text, "d-q1") || !strings.Contains(text, "bob wants rm q1") {
				t.Errorf("the card shows %s", text)
			}
			chromium.Says[bool](h.t, h.tab, `const fill = (title, value) => { const i = [...within().querySelectorAll('label')].find((l) => l.firstChild.textContent === title).querySelector('input, select'); i.value = value; return i.value === value; }; `+test.press+`; true`)
			h.until(fmt.Sprintf(`within().querySelector('.outcome').textContent === %q`, test.says))
			h.until(`within().querySelector('#state').textContent === 'No question waits for you.'`)
			if got := h.decisions(); len(got) != 1 || !reflect.DeepEqual(got[0], desktop.Decide{ID: "q1", Reply: test.want}) {
				t.Errorf("decided: %+v", got)
			}
			if n := chromium.Says[int](h.t, h.tab, `pressed('allow'), within().querySelectorAll('button:disabled').length`); n != 3 {
				t.Errorf("%d buttons are disabled", n)
			}
			if got := h.decisions(); len(got) != 1 {
				t.Errorf("decided once more: %+v", got)
			}
		})
	}
}

// What is under the finger stays there, and what ended is not decided.
func aQuestionEndsOnTheCard(t *testing.T, browser context.Context) {
	s := carded(t)
	s.step(question("q1"))
	s.step(question("q2"))
	h := showing(t, browser, s, "")
	h.until(`within().querySelectorAll('li').length === 2`)
	h.does(func() { h.step(desktop.Settled{ID: "q1"}) })
	chromium.Says[bool](h.t, h.tab, `pressed('allow'), true`)
	h.until(`within().querySelector('.outcome').textContent.includes('nothing was decided')`)
	h.does(func() { h.step(question("q3")); h.step(desktop.Settled{ID: "q2"}) })
	chromium.Says[bool](h.t, h.tab, `within().querySelector('#again').click(), true`)
	h.until(`within().querySelectorAll('li').length === 3 && within().querySelectorAll('.outcome')[1].textContent === 'It is no longer asked.'`)
	chromium.Says[bool](h.t, h.tab, `refuses = 1, pressed('allow', 2), true`) // which the server does not hear of
	h.until(`within().querySelectorAll('.outcome')[2].textContent === 'the client refuses' && within().querySelectorAll('li').length === 4`)
	if got := h.decisions(); len(got) > 0 {
		t.Errorf("decided: %+v", got)
	}
	chromium.Says[bool](h.t, h.tab, `pressed('deny', 3), true`)
	h.until(`within().querySelectorAll('.outcome')[3].textContent === 'Your answer: denied.'`)
}

// What others wrote stands on the card as text, and nothing of it leaves the frame.
func nothingRunsOnTheCardThatOthersWrote(t *testing.T, browser context.Context) {
	const evil = `</pre></script></template><img src=x onerror="parent.hacked=1"><script>parent.hacked=1</script><iframe src="javascript:parent.hacked=1"></iframe>{{JS}}{{KEY}}`
	s := carded(t)
	q := editable()
	q.Question.Digest, q.Question.From, q.Question.Tool, q.Question.Bridge = evil, evil, evil, evil
	q.Question.Text, q.Question.DelegateTo = evil+"\n\u202e"+strings.Repeat("x", 5000), []string{evil, "constructor"}
	for i := range q.Question.Edits {
		q.Question.Edits[i].Title, q.Question.Edits[i].Now = evil, `"`+strings.ReplaceAll(evil, `"`, `\"`)+`"`
	}
	q.Question.Edits = append(q.Question.Edits, approval.Field{Field: "constructor", Title: evil, Type: "string"}, approval.Field{Field: "__proto__", Title: evil, Type: "string", Enum: []string{`"toString"`}})
	s.step(q)
	h := showing(t, browser, s, "")
	h.until(`within().querySelector('button[value=deny]')`)
	for script, want := range map[string]string{
		`within().querySelector('pre').textContent === ` + quoted(q.Question.Text):                                      "true",
		`within().querySelector('code').textContent === ` + quoted(evil):                                                "true",
		`within().querySelectorAll('img, iframe, object, a, form').length + within().querySelectorAll('script').length`: "1", // ours
		`String(window.hacked) + String(within().defaultView.hacked)`:                                                   "undefinedundefined",
		`within().documentElement.scrollWidth <= within().documentElement.clientWidth`:                                  "true",
		`[...new Set(log.map((m) => m.method))].sort().join()`:                                                          "tools/call,ui/initialize,ui/notifications/initialized,ui/notifications/size-changed",
	} {
		h.until(fmt.Sprintf(`String(%s) === %q`, script, want))
	}
	chromium.Says[bool](h.t, h.tab, `pressed('deny'), true`)
	h.until(`within().querySelector('.outcome').textContent === 'Your answer: denied.'`)
	if got := h.decisions(); len(got) != 1 || got[0].Reply.Allow {
		t.Errorf("decided: %+v", got)
	}
	// The page makes no markup, whoever asks it to.
	for _, script := range []string{`within().body.innerHTML = '<b>x</b>'`, `within().defaultView.eval('parent.hacked = 1')`} {
		if threw := chromium.Says[bool](h.t, h.tab, `(() => { try { `+script+`; return false } catch { return true } })()`); !threw {
			t.Errorf("%s works", script)
		}
	}
}

// A client gives the frame no origin.
func theCardWorksInASandbox(t *testing.T, browser context.Context) {
	s := carded(t)
	s.step(question("q1"))
	h := showing(t, browser, s, `sandbox="allow-scripts"`)
	h.until(`log.filter((m) => m.method === 'tools/call' && m.params.name === 'mcpx_card').length === 1 && log.some((m) => m.method === 'ui/notifications/size-changed' && m.params.height > 150)`)
	if got := h.decisions(); len(got) > 0 {
		t.Errorf("decided: %+v", got)
	}
}

// TestPictures draws what docs/desktop.md shows. SHOTS names the directory that gets it.
func TestPictures(t *testing.T) {
	hall := inboxtest.New("notes")
	asked := inboxtest.Write(`{"path":"/srv/app/config.yaml","content":"replicas: 3\nimage: app:1.42\n"}`)
	asked.Caller = "release-bot"
	v, _ := hall.Question(hall.Ask(asked))
	s := carded(t)
	s.step(desktop.Asked{Question: desktop.Question{ID: v.ID, Digest: v.Short, From: v.From, Tool: v.Tool, Bridge: v.Bridge, Dialog: v.Dialog("")}})
	h := showing(t, chromium.Open(t), s, `style="width:100%;height:94vh;border:1px solid #888;border-radius:10px"`)
	h.until(`within().querySelector('button[value=allow]')`)
	for name, width := range map[string]int64{"card": 560, "card-narrow": 360} {
		if err := chromedp.Do(h.tab, chromedp.EmulateViewport(width, 640)); err != nil {
			t.Fatal(err)
		}
		h.until(fmt.Sprintf(`innerWidth === %d && within().documentElement.scrollWidth <= within().documentElement.clientWidth`, width))
		if dir := os.Getenv("SHOTS"); dir != "" {
			png, err := chromedp.Run(h.tab, chromedp.FullScreenshot(100))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
