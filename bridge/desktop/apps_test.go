package desktop_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// appTool is a tool of a server with a page, and what that says of it.
func appTool(name, ui string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object"},"_meta":{"a":1.0,` + ui + `}}`
}

const (
	page        = `"ui":{"csp":{},"resourceUri":"ui://clock/view.html"},"ui/resourceUri":"ui://clock/view.html"`
	onlyForApps = `"ui":{"resourceUri":"ui://clock/view.html","visibility":["app"]}`
	showsApps   = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
)

// Two peers with one address were announced alike, and reading what was announced was an
// error (FINDINGS P17).
func TestThePagesOfTwoPeersHaveAddressesOfTheirOwn(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "a"}, {ID: "b.c"}}})
	for len(s.asks) > 0 {
		for _, ask := range s.asks {
			switch ask.Method {
			case "tools/list":
				s.answer(ask, list(appTool("show", page), appTool("other", `"ui":{"resourceUri":"https://x/"},"ui/resourceUri":7`)))
			case "resources/list":
				s.answer(ask, `{"resources":[{"uri":"ui://clock/view.html","name":"v","mimeType":"text/html;profile=mcp-app"}]}`)
			case "resources/templates/list":
				s.answer(ask, `{"resourceTemplates":[{"uriTemplate":"ui://clock/{page}","name":"v"}]}`)
			default:
				s.answer(ask, `{"prompts":[]}`)
			}
		}
	}
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line := s.one(`"_meta":{"a":1.0,"ui":{"csp":{},"resourceUri":"ui://a/clock/view.html"},"ui/resourceUri":"ui://a/clock/view.html"}`,
		`"_meta":{"a":1.0,"ui":{"csp":{},"resourceUri":"ui://b.c/clock/view.html"},"ui/resourceUri":"ui://b.c/clock/view.html"}`,
		`"_meta":{"a":1.0,"ui":{"resourceUri":"https://x/"},"ui/resourceUri":7}`)
	if strings.Contains(line, `"ui://clock`) {
		t.Errorf("an address is everybody's: %s", line)
	}
	s.line(`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`)
	s.one(`"uri":"ui://a/clock/view.html"`, `"uri":"ui://b.c/clock/view.html"`)
	s.line(`{"jsonrpc":"2.0","id":3,"method":"resources/templates/list"}`)
	s.one(`"uriTemplate":"ui://a/clock/{page}"`)
	for _, peer := range []string{"a", "b.c"} {
		for _, uri := range []string{"ui://" + peer + "/clock/view.html", "mcpx://" + peer + "/ui://clock/view.html"} {
			s.line(`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":%q}}`, uri)
			ask := s.open("resources/read")
			if ask.To != peer || string(ask.Params) != `{"uri":"ui://clock/view.html"}` {
				t.Errorf("%s is asked of %s as %s", uri, ask.To, ask.Params)
			}
			s.answer(ask, `{"contents":[]}`)
			s.one(`"id":4`)
		}
	}
	for _, uri := range []string{"ui://clock/view.html", "ui://a", "ui://a/", "ui:///x"} { // whose it is nobody can tell
		s.line(`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":%q}}`, uri)
		s.one(`"id":5`, `-32602`)
	}
}

// A client may show no page that says another address than the one that it asked for.
func TestAPageSaysTheAddressThatItWasAskedAt(t *testing.T) {
	const theirs = `ui://clock/view.html`
	answer := func(first, second string) string {
		return `{ "_meta":{"n":9007199254740993.0}, "contents":[` + first + `, {"text":"<x>\u2028","uri":"` + second + `" ,"mimeType":"text/html;profile=mcp-app"}],"z":1.0}`
	}
	for asked, to := range map[string]string{"ui://a/clock/view.html": "ui://a/clock/view.html", "mcpx://a/" + theirs: "mcpx://a/" + theirs} {
		for _, first := range []string{`{"uri":"ui://clock/other.html","text":"` + theirs + `"}`, `{"uri":7}`, `"` + theirs + `"`, `{}`} {
			s := newStage(t, desktop.Config{})
			s.join(map[string][]string{"a": {tool("x")}})
			s.meet(showsApps)
			s.line(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q}}`, asked)
			s.answer(s.open("resources/read"), answer(first, theirs))
			s.one(`"id":1,"result":` + answer(first, to) + "}")
		}
	}
	for _, odd := range []string{`{"contents":[]}`, `{"contents":{"uri":"` + theirs + `"}}`, `{"contents":7}`, `{}`, `{"contents":[{"uri":"ui://other"}]}`} {
		s := newStage(t, desktop.Config{})
		s.join(map[string][]string{"a": {tool("x")}})
		s.meet(`{}`)
		s.line(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://a/clock/view.html"}}`)
		s.answer(s.open("resources/read"), odd)
		s.one(`"id":1,"result":` + odd + "}")
	}
}

// Other spellings of a page's address were passed on as they were (FINDINGS P17).
func TestAPageWasAnnouncedAtAnAddressOfEverybodys(t *testing.T) {
	for ui, want := range map[string]string{
		`"openai/outputTemplate":"ui://v/p.html"`:                                `"openai/outputTemplate":"ui://a/v/p.html"`,
		`"io.modelcontextprotocol/ui":{"resourceUri":"ui://v/p.html"}`:           `"io.modelcontextprotocol/ui":{"resourceUri":"ui://a/v/p.html"}`,
		`"ui":{"resourceUri":" ui://v/p.html"},"ui/resourceUri":"UI://v/p.html"`: `"ui":{"resourceUri":"ui://a/v/p.html"},"ui/resourceUri":"ui://a/v/p.html"`,
		`"ui/resourceUri":"u\ti://v/p.html"`:                                     `"ui/resourceUri":"ui://a/v/p.html"`,
	} {
		s := newStage(t, desktop.Config{})
		s.join(map[string][]string{"a": {appTool("show", ui)}})
		s.meet(showsApps)
		s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		s.one(`"_meta":{"a":1.0,` + want + `}`)
	}
}

// A tool for its app alone was offered to every model (FINDINGS P17).
func TestWhatIsForAppsAloneIsOfferedToNoModel(t *testing.T) {
	tools := map[string][]string{"clock": {appTool("refresh", onlyForApps), appTool("show", page)}}
	s := newStage(t, desktop.Config{})
	s.join(tools)
	s.meet(`{}`)
	if names := s.shown(); !slices.Equal(names, []string{"clock__show"}) {
		t.Errorf("shown: %q", names)
	}
	s.call(1, "mcpx_peers", `{}`)
	s.one(`"tools":["show"]`)
	s.call(2, "mcpx_peers", `{"capability":"refresh"}`)
	s.one(`"peers":[]`)
	s.call(3, "mcpx_call", `{"peer":"clock","tool":"refresh"}`)
	s.one(`"isError":true`, "for that participant's app alone", `"executed":"no"`)
	s.call(4, "clock__refresh", `{}`)
	s.one(`-32602`, "Unknown tool")
	s.none("tools/call")

	// A client that shows apps keeps it from its model, and needs it for the page.
	s = newStage(t, desktop.Config{Limit: desktop.LeastLimit})
	s.join(tools)
	s.meet(showsApps)
	if names := s.shown(); !slices.Equal(names, []string{"clock__show", "clock__refresh"}) {
		t.Errorf("shown: %q", names)
	}
	s.call(1, "clock__refresh", `{}`)
	s.answer(s.open("tools/call"), `{"content":[]}`)
	s.one(`"id":1,"result"`)
	s.call(2, "mcpx_call", `{"peer":"clock","tool":"refresh"}`) // which is the model's
	s.one(`"isError":true`, "for that participant's app alone")

	s = newStage(t, desktop.Config{})
	s.join(tools)
	for capabilities, n := range map[string]int{showsApps: 2, `{"elicitation":{}}`: 1, `{"extensions":{"io.modelcontextprotocol/ui":true}}`: 1} {
		s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}`, strings.ReplaceAll(modernMeta, `{"elicitation":{}}`, capabilities))
		if line := s.one(); strings.Count(line, `"name":"clock__`) != n {
			t.Errorf("%s: %s", capabilities, line)
		}
	}
}

func TestWhatAToolSaysOfItsVisibility(t *testing.T) {
	for ui, want := range map[string]bool{
		`"ui":{"visibility":["app"]}`: true, `"ui":{"visibility":[]}`: true, `"ui":{"visibility":"model"}`: true, `"ui":{"visibility":[["model"]]}`: true,
		`"ui":{"visibility":["Model"]}`: true, `"ui":{"visibility":7}`: true, `"ui":{"visibility":{"model":1}}`: true,
		`"ui":{"visibility":["app","model"]}`: false, `"ui":{"visibility":["model"]}`: false, `"ui":{"visibility":null}`: false, `"ui":{}`: false, `"ui":null`: false,
		`"visibility":["app"]`: false, `"ui":["app"]`: false,
	} {
		if got := desktop.AppOnly([]byte(appTool("x", ui))); got != want {
			t.Errorf("%s: %v", ui, got)
		}
	}
	if desktop.AppOnly([]byte(tool("x"))) {
		t.Error("a tool without _meta")
	}
}
