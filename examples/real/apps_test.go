//go:build real

package real

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mcpx-protocol/mcpx-bridge/examples/chromium"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

const (
	appPage   = "ui://system-monitor/mcp-app.html"         // as its server has it
	shownPage = "ui://monitor/system-monitor/mcp-app.html" // as clients of serve have it
	readPage  = `{"uri":"` + appPage + `"}`
)

// An app client is one that shows apps, or none, at the pipes of serve.
type appClient struct {
	t      *testing.T
	mu     sync.Mutex // one question at a time
	serve  *stage.Process
	lastID int
}

func openApps(t *testing.T, s *stage.Stage, id, capabilities string) *appClient {
	t.Helper()
	serve, err := s.Start(stage.Bridge, "serve", "--id", id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := serve.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := &appClient{t: t, serve: serve}
	c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"apps","version":"1"}}`)
	say(t, serve, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// ask returns the line that answers a request. It may be called from any goroutine.
func (c *appClient) ask(method, params string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	id := fmt.Sprint(c.lastID)
	if _, err := io.WriteString(c.serve, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+"}\n"); err != nil {
		c.t.Error(err)
		return "{}"
	}
	for {
		line, err := c.serve.Line()
		if err != nil {
			c.t.Error(err)
			return "{}"
		}
		if m := struct{ ID json.RawMessage }{}; json.Unmarshal([]byte(line), &m) == nil && string(m.ID) == id {
			return strings.TrimSpace(line)
		}
	}
}

// resultOf is the result of a response, as it was written.
func resultOf(t *testing.T, line string) string {
	t.Helper()
	var m struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result == nil {
		t.Fatalf("%v: no result in %s", err, clip(line))
	}
	return string(m.Result)
}

// A real app behind the bridge, as clients that show apps have it through serve: its page
// has one address wherever it is spoken of, holds the bytes that the server gave, and its
// own calls reach the server.
func TestRealApp(t *testing.T) {
	s := set(t)
	argv := []string{fetched(t, "node_modules", ".bin", "mcp-system-monitor-server"), "--stdio"}
	want := direct(t, argv, nil, []call{{method: "resources/read", params: readPage}})[0]
	serving(t, s, append([]string{"run", "--json", "--listen", "127.0.0.1:0", "--id", "monitor", "--policy", openPolicy(t), "--"}, argv...)...)
	alice := openApps(t, s, "alice", `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`)

	tools := resultOf(t, alice.ask("tools/list", `{}`))
	for _, part := range []string{`"name":"monitor__get-system-info"`, `"_meta":{"ui":{"resourceUri":"` + shownPage + `"},"ui/resourceUri":"` + shownPage + `"}`,
		`"name":"monitor__poll-system-stats"`, `"_meta":{"ui":{"visibility":["app"]}}`} {
		if !strings.Contains(tools, part) {
			t.Errorf("there is no %s in %s", part, tools)
		}
	}
	if list := resultOf(t, alice.ask("resources/list", `{}`)); !strings.Contains(list, `"uri":"`+shownPage+`"`) {
		t.Errorf("resources: %s", list)
	}
	for _, uri := range []string{shownPage, appPage} { // the latter as the page itself would ask
		theirs := strings.Replace(resultOf(t, want.line), `"uri":"`+appPage+`"`, `"uri":"`+uri+`"`, 1) // at which it was asked for
		if got := resultOf(t, alice.ask("resources/read", `{"uri":"`+uri+`"}`)); got != theirs {
			t.Errorf("%s: other bytes than the server's: %s", uri, clip(got))
		}
	}
	for _, name := range []string{"poll-system-stats", "monitor__poll-system-stats"} {
		if got := resultOf(t, alice.ask("tools/call", `{"name":"`+name+`","arguments":{}}`)); !strings.Contains(got, `"structuredContent":{"cpu":{"cores":[`) {
			t.Errorf("%s: %s", name, clip(got))
		}
	}

	bob := openApps(t, s, "bob", `{}`)
	if tools := resultOf(t, bob.ask("tools/list", `{}`)); strings.Contains(tools, "poll-system-stats") || !strings.Contains(tools, "monitor__get-system-info") {
		t.Errorf("who shows no apps gets %s", tools)
	}
	if got := bob.ask("tools/call", `{"name":"poll-system-stats","arguments":{}}`); !strings.Contains(got, "Unknown tool") {
		t.Errorf("who shows no apps calls an app's tool: %s", got)
	}
	t.Run("in a browser", func(t *testing.T) { showsItself(t, alice) })
}

// appHost is a client's window around the page of an app, and what passes between them.
const appHost = `<!doctype html><title>host</title><script>
const log = [];
let polled = 0;
async function server(method, params) {
  const response = await fetch('/mcp?method=' + method, {method: 'POST', body: JSON.stringify(params)});
  return response.json();
}
window.addEventListener('message', async (event) => {
  const view = document.querySelector('iframe').contentWindow, m = event.data;
  if (event.source !== view || !m || m.jsonrpc !== '2.0') return;
  log.push(m.method);
  const send = (rest) => view.postMessage({jsonrpc: '2.0', ...rest}, '*');
  if (m.method === 'ui/initialize') send({id: m.id, result: {protocolVersion: m.params.protocolVersion, hostInfo: {name: 'h', version: '1'}, hostCapabilities: {serverTools: {}}, hostContext: {}}});
  else if (m.method === 'ui/notifications/initialized') {
    send({method: 'ui/notifications/tool-input', params: {arguments: {}}});
    send({method: 'ui/notifications/tool-result', params: (await server('tools/call', {name: 'monitor__get-system-info', arguments: {}})).result});
  } else if (m.method === 'tools/call') {
    const {result, error} = await server(m.method, m.params);
    if (m.params.name === 'poll-system-stats' && result?.structuredContent?.cpu) polled++;
    send({id: m.id, result, error});
  }
});
</script><body><iframe src="/app" width="900" height="700"></iframe>`

// showsItself opens the app in Chromium: its page says what its server told, and goes on
// asking it by the name that the tool has there.
func showsItself(t *testing.T, alice *appClient) {
	var read struct {
		Contents []struct{ MIMEType, Text string }
	}
	if err := json.Unmarshal([]byte(resultOf(t, alice.ask("resources/read", `{"uri":"`+shownPage+`"}`))), &read); err != nil || len(read.Contents) != 1 || read.Contents[0].MIMEType != "text/html;profile=mcp-app" {
		t.Fatal(err, read.Contents)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, appHost) })
	mux.HandleFunc("GET /app", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, read.Contents[0].Text) })
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		params, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, alice.ask(r.FormValue("method"), string(params)))
	})
	site := httptest.NewServer(mux)
	defer site.Close()
	tab := chromium.Open(t)
	if err := chromedp.Do(tab, chromedp.Navigate(site.URL)); err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{`polled > 0`, fmt.Sprintf(`document.querySelector('iframe').contentDocument.body.innerText.includes(%q)`, name)} {
		chromium.Until(t, tab, script, `document.querySelector('iframe').contentDocument.body.innerText + ' ' + log.join()`)
	}
}
