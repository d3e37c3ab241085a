package serve

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// While one surface has a question in hand and no seat to answer by, the press of another found it
// ended: it was put back, and the client never saw it again.
func TestAQuestionThatAnotherSurfaceHadInHandWasLost(t *testing.T) {
	for name, press := range map[string]func(s *Server, q inbox.Decision){
		"at the client": func(s *Server, q inbox.Decision) { s.proxy.Step(s.decide(desktop.Decide{ID: q.ID})) },
		"by approve":    func(s *Server, q inbox.Decision) { settling{s.asked, s}.Decide(t.Context(), q) },
	} {
		var out bytes.Buffer
		s := New(&localgateway.Connector{}, Options{Shown: desktop.Config{Version: "test", NewID: func() string { return "x" }}, Out: &out,
			Emit: func(*record.Record) {}, Note: func(string, string) {}, Asked: func(string, *record.Record) {}, Ready: func(int) {}})
		s.Client.SeatTaken(wire.Dialect{}, wire.Welcome{You: wire.Participant{ID: "alice"}}) // which cannot send anything
		e, err := wire.Dialects[1].Decode([]byte(`{"protocol":"mcpx/v0.1","id":"q1","ts":"2026-01-01T00:00:00Z","from":"fs","to":["alice"],"kind":"mcp/request:elicitation/create",` +
			`"payload":{"jsonrpc":"2.0","id":"1","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}}},` +
			`"metadata":{"elicitationType":"tool_approval","timeout":60,"originalRequest":{"from":"bob","tool":"rm","arguments":{},"envelopeId":"e7"}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		s.Client.Received(&e)
		all, err := s.asked.List(t.Context(), false)
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		q := inbox.Decision{ID: all[0].ID, Digest: all[0].Short, Result: []byte("{}")}
		s.asked.Answer(q.ID, func(*client.Question) []byte {
			press(s, q)
			return q.Result
		})
		s.proxy.Step(desktop.Line{Text: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcpx_approvals"}}`)})
		if err := s.proxy.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.asked.Question(q.ID) == nil || !strings.Contains(out.String(), "["+q.Digest+"] may bob call rm at fs?") {
			t.Errorf("pressed %s: it is open: %t, and the client hears %s", name, s.asked.Question(q.ID) != nil, out.String())
		}
		s.asked.Close()
	}
}
