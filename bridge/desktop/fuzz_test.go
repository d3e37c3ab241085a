package desktop_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// Whatever client, peers and person say, in whatever order: every line said is
// a line of JSON (the stage sees to that), nothing is decided but by the
// client's own elicitation or the card, and when the client is gone nothing is left.
func FuzzFace(f *testing.F) {
	for _, seed := range []string{
		"c{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\nl\nt",
		"c{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"fs__read\"}}\nr{\"content\":[]}\nt",
		"q\nc{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"mcpx_approvals\"}}\nx\nj\nt\nt\nn",
		"c{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"fs__read\",\"arguments\":{}," + modernMeta + "}}\nq\nt\ne{\"code\":-31004}",
		"c{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"toolsListChanged\":true}," + modernMeta + "}}\nx\nt\nj",
		"q\nc{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"ui://mcpx/approvals\"}}\nc{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"mcpx_card\",\"arguments\":{\"key\":\"id-1\",\"ticket\":\"id-2\"}}}",
		"q\nc{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"mcpx_answer\",\"arguments\":{\"digest\":\"d-q\",\"nonce\":\"id-1\",\"answer\":{\"action\":\"accept\"}}}}",
		"c{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read\"}}\nr{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"ui://v\"}}]}",
		"o{\"id\":1\np{\"progress\":1}\nc[]\nc{}\nr7\nrnull\ne7",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		s := newStage(t, desktop.Config{Limit: 8, Card: true})
		s.join(map[string][]string{"fs": {tool("read"), appTool("write", page)}})
		s.meet(strings.Replace(showsApps, `{`, `{"elicitation":{},`, 1))
		for text := range strings.SplitSeq(script, "\n") {
			if text != "" {
				s.play(text[0], text[1:])
			}
		}
		for _, d := range s.decided {
			if d.Reply.Allow && !strings.Contains(script, "allow") {
				t.Error("something was decided that nobody said")
			}
		}
		s.step(desktop.Hangup{})
		if s.proxy.Busy() || len(s.asks) > 4 {
			t.Errorf("left: %v", s.asks)
		}
	})
}

func (s *stage) play(what byte, text string) {
	var some desktop.Ask
	for _, a := range s.asks {
		if some.Ref == 0 || a.Ref < some.Ref {
			some = a
		}
	}
	if strings.ContainsRune("rep", rune(what)) && !json.Valid([]byte(text)) {
		return // no frame of a topic has that in it
	}
	switch what {
	case 'c':
		s.step(desktop.Line{Text: []byte(text)})
	case 'o':
		s.step(desktop.Overlong{Head: []byte(text)})
	case 'r':
		s.answer(some, text)
	case 'e':
		s.fault(some, text)
	case 'p':
		s.step(desktop.Progressed{Ref: some.Ref, Params: []byte(text)})
	case 'x':
		s.step(desktop.Unseated{Why: text})
	case 'j':
		s.step(desktop.Seated{Me: "me", Topic: "t", Greet: text != "", Peers: []desktop.Peer{{ID: "fs"}, {ID: "git" + text}}})
	case 'l':
		s.step(desktop.Left{ID: "fs"})
	case 'n':
		s.step(desktop.Noticed{From: "fs", Method: "notifications/tools/list_changed"})
	case 'q':
		s.step(question("q" + text))
	case 's':
		s.step(desktop.Settled{ID: "q" + text})
	case 't':
		s.pass(17 * time.Second)
	}
}
