package desktop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// furnished seats peers of which each lists the same resource beside its tools, and a
// template of its own.
func (s *stage) furnished(tools map[string][]string) {
	s.t.Helper()
	seated := desktop.Seated{Me: "me", Topic: "lobby"}
	for id := range tools {
		seated.Peers = append(seated.Peers, desktop.Peer{ID: id})
	}
	s.step(seated)
	for len(s.asks) > 0 {
		for _, ask := range s.asks {
			switch ask.Method {
			case "tools/list":
				s.answer(ask, list(tools[ask.To]...))
			case "resources/list":
				s.answer(ask, `{"resources":[{"uri":"ui://view/page.html","name":"v"},{"uri":"note://`+ask.To+`/1","name":"n"}]}`)
			case "resources/templates/list":
				s.answer(ask, `{"resourceTemplates":[{"uriTemplate":"`+ask.To+`://{id}","name":"v"},{"uriTemplate":"{+any}","name":"w"}]}`)
			case "prompts/list":
				s.answer(ask, `{"prompts":[]}`)
			default:
				s.nameless()
			}
		}
	}
}

// An app calls its server's tools by their own names, and was told that there are none
// (PEOPLE.md).
func TestAnAppCallsAToolByItsOwnNameWhereOneParticipantHasIt(t *testing.T) {
	everybody := map[string][]string{
		"clock": {appTool("refresh", onlyForApps), tool("stop"), appTool("ask", `"ui":{"visibility":["model"]}`), tool("mcpx_peers")},
		"mixer": {tool("stop"), tool("mute")},
	}
	s := newStage(t, desktop.Config{Exclude: []string{"mixer/mute"}})
	s.furnished(everybody)
	s.meet(showsApps)
	s.call(1, "refresh", `{"n":1.0}`)
	ask := s.open("tools/call")
	if want := `{"name":"refresh","arguments":{"n":1.0}}`; ask.To != "clock" || string(ask.Params) != want {
		t.Errorf("asked of %s: %s", ask.To, ask.Params)
	}
	s.answer(ask, `{"content":[]}`)
	s.one(`"id":1,"result":{"content":[]}`)

	s.call(2, "stop", `{}`)
	s.one(`-32602`, "Several participants have a tool stop. It is one of: clock__stop, mixer__stop")
	for i, name := range []string{"mute", "ask", "Refresh", "nothing"} { // not shown, not for apps, not there
		s.call(3+i, name, `{}`)
		s.one(`-32602`, "Unknown tool: "+name)
	}
	s.call(9, "mcpx_peers", `{}`) // ours
	s.one(`"id":9,"result"`, `"topic":"lobby"`)
	s.none("tools/call")

	s.step(desktop.Left{ID: "mixer"})
	s.pass(40 * 1e9)
	s.heard()
	s.call(10, "stop", `{}`)
	if ask := s.open("tools/call"); ask.To != "clock" {
		t.Errorf("asked of %s", ask.To)
	}

	s = newStage(t, desktop.Config{}) // whose client shows no apps
	s.furnished(everybody)
	s.meet(`{}`)
	s.call(1, "refresh", `{}`)
	s.one(`-32602`, "Unknown tool: refresh")
	s.call(2, "stop", `{}`)
	s.one(`-32602`, "Unknown tool: stop")
}

func TestAnAppReadsAResourceAtItsOwnAddressWhereOneParticipantHasIt(t *testing.T) {
	for capabilities, reads := range map[string]bool{showsApps: true, `{}`: false} {
		s := newStage(t, desktop.Config{Exclude: []string{"shut/*"}})
		s.furnished(map[string][]string{"a": {tool("x")}, "b": {tool("x")}, "shut": nil})
		s.meet(capabilities)
		for uri, want := range map[string]string{
			"note://b/1": "b", "b://any": "b", "a://any": "a", // a template that takes anything says nothing
			"note://c/1": "", "shut://1": "", "note://shut/1": "",
		} {
			s.line(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q}}`, uri)
			if want == "" || !reads {
				s.one(`"id":1,"error"`, "-32602", "Unknown resource: "+uri, fmt.Sprintf(`"data":{"uri":%q}`, uri))
				continue
			}
			ask := s.open("resources/read")
			if ask.To != want || string(ask.Params) != fmt.Sprintf(`{"uri":%q}`, uri) {
				t.Errorf("%s: asked of %s: %s", uri, ask.To, ask.Params)
			}
			s.answer(ask, `{"contents":[]}`)
			s.one(`"id":1,"result":{"contents":[]}`)
		}
		s.line(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"ui://view/page.html"}}`)
		line := s.one("-32602")
		if told := strings.Contains(line, "Several participants have a resource ui://view/page.html. It is one of: ui://a/view/page.html, ui://b/view/page.html"); told != reads {
			t.Error(line)
		}
	}
}

// A server was told of nobody who shows apps, whoever asked (PEOPLE.md).
func TestPeersHearThatTheClientShowsApps(t *testing.T) {
	const said = `"capabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	modern := strings.ReplaceAll(modernMeta, `{"elicitation":{}}`, showsApps)
	for name, declare := range map[string]func(*stage){
		"initialize": func(s *stage) { s.meet(showsApps) },
		"modern": func(s *stage) {
			s.line(`{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{%s}}`, modern)
		},
	} {
		for _, greets := range []bool{true, false} {
			t.Run(fmt.Sprint(name, greets), func(t *testing.T) {
				s := newStage(t, desktop.Config{})
				s.step(desktop.Seated{Me: "me", Topic: "lobby", Greet: greets, Peers: []desktop.Peer{{ID: "clock"}, {ID: "mute", Mute: true}}})
				hears := func(want string) {
					t.Helper()
					if !greets {
						s.answer(s.open("tools/list"), list(tool("x")))
					}
					ask := s.open("initialize")
					if ask.To != "clock" || !strings.Contains(string(ask.Params), want) {
						t.Fatalf("%s hears %s", ask.To, ask.Params)
					}
					s.answer(ask, `{"serverInfo":{"name":"c"},"capabilities":{"tools":{}}}`)
					s.serveLists(map[string][]string{"clock": {tool("x")}})
				}
				hears(`"capabilities":{}`) // it was there before the client had said a word
				declare(s)
				hears(said)
				declare(s) // once
				s.none("initialize")
				s.step(desktop.Left{ID: "clock"})
				s.step(desktop.Came{Peer: desktop.Peer{ID: "clock"}})
				hears(said)
			})
		}
	}
}
