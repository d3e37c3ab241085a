package desktop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

func TestMain(m *testing.M) {
	watchdog.Start()
	goleak.VerifyTestMain(m)
}

// A stage plays client and topic to a Proxy, and keeps the time.
type stage struct {
	t     *testing.T
	proxy *desktop.Proxy
	now   time.Time
	ids   int

	greets  bool     // peers are asked for nothing before they are greeted
	said    []string // lines to the client that were not looked at
	asks    map[uint64]desktop.Ask
	cancels []desktop.Cancel
	decided []desktop.Decide
	fate    desktop.Decided // what comes of an answer
	tells   []desktop.Tell
	notes   []string
	ready   int
}

func newStage(t *testing.T, c desktop.Config) *stage {
	s := &stage{t: t, now: time.Unix(1_800_000_000, 0), asks: map[uint64]desktop.Ask{}}
	c.NewID = func() string { s.ids++; return fmt.Sprintf("id-%d", s.ids) }
	c.Version = "test"
	s.proxy = desktop.New(c)
	return s
}

func (s *stage) step(ev desktop.Event) {
	s.t.Helper()
	if seated, ok := ev.(desktop.Seated); ok {
		s.greets = seated.Greet
	}
	var then []desktop.Event
	for _, a := range s.proxy.Step(s.now, ev) {
		switch a := a.(type) {
		case desktop.WriteClient:
			if !json.Valid(a.Line) || strings.ContainsAny(string(a.Line), "\n\r") {
				s.t.Fatalf("this is no line of JSON: %s", a.Line)
			}
			s.said = append(s.said, string(a.Line))
		case desktop.Ask:
			s.asks[a.Ref] = a
		case desktop.Cancel:
			if _, under := s.asks[a.Ref]; !under {
				s.t.Fatalf("cancelled what was not asked: %v", a)
			}
			delete(s.asks, a.Ref)
			s.cancels = append(s.cancels, a)
		case desktop.Decide:
			s.decided = append(s.decided, a)
			s.fate.ID = a.ID
			then = append(then, s.fate)
		case desktop.Tell:
			s.tells = append(s.tells, a)
		case desktop.Note:
			s.notes = append(s.notes, a.Text)
		case desktop.Ready:
			s.ready++
		}
	}
	for _, ev := range then {
		s.step(ev)
	}
}

// pass lets time pass, waking the Proxy whenever it wants to be.
func (s *stage) pass(d time.Duration) {
	s.t.Helper()
	end := s.now.Add(d)
	for next := s.proxy.Next(); !next.IsZero() && !next.After(end); next = s.proxy.Next() {
		s.now = next
		s.step(desktop.Due{})
	}
	s.now = end
	s.step(desktop.Due{})
}

func (s *stage) line(format string, args ...any) {
	s.t.Helper()
	s.step(desktop.Line{Text: fmt.Appendf(nil, format, args...)})
}

// heard are the lines said since it was last called.
func (s *stage) heard() []string {
	said := s.said
	s.said = nil
	return said
}

// one is the only line said; it must hold all parts.
func (s *stage) one(parts ...string) string {
	s.t.Helper()
	said := s.heard()
	if len(said) != 1 {
		s.t.Fatalf("%d lines instead of one: %s", len(said), strings.Join(said, "\n"))
	}
	for _, p := range parts {
		if !strings.Contains(said[0], p) {
			s.t.Fatalf("there is no %s in\n%s", p, said[0])
		}
	}
	return said[0]
}

func (s *stage) silent() {
	s.t.Helper()
	if said := s.heard(); len(said) > 0 {
		s.t.Fatalf("something was said: %s", strings.Join(said, "\n"))
	}
}

// open is the only request of a method under way.
func (s *stage) open(method string) desktop.Ask {
	s.t.Helper()
	var found []desktop.Ask
	for _, a := range s.asks {
		if a.Method == method {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("%d requests %s under way instead of one: %v", len(found), method, s.asks)
	}
	return found[0]
}

func (s *stage) none(method string) {
	s.t.Helper()
	for _, a := range s.asks {
		if a.Method == method {
			s.t.Fatalf("%s is under way: %s", method, a.Params)
		}
	}
}

func (s *stage) answer(a desktop.Ask, result string) {
	s.t.Helper()
	delete(s.asks, a.Ref)
	s.step(desktop.Answered{Ref: a.Ref, Result: []byte(result)})
}

func (s *stage) fault(a desktop.Ask, fault string) {
	s.t.Helper()
	delete(s.asks, a.Ref)
	s.step(desktop.Answered{Ref: a.Ref, Err: []byte(fault)})
}

// tool is the definition of a tool.
func tool(name string) string {
	return fmt.Sprintf(`{"name":%q,"description":"does %s","inputSchema":{"type":"object"}}`, name, name)
}

func list(tools ...string) string { return `{"tools":[` + strings.Join(tools, ",") + `]}` }

// nameless answers who is asked who they are, where that is no greeting, as native
// participants do.
func (s *stage) nameless() {
	s.t.Helper()
	for _, a := range s.asks {
		if a.Method == "initialize" && !s.greets {
			s.fault(a, `{"code":-32601,"message":"what?"}`)
		}
	}
}

// serveLists answers all lists that are asked for: the tools of each peer, and
// nothing of anything else.
func (s *stage) serveLists(tools map[string][]string) {
	s.t.Helper()
	defer s.nameless()
	for again := true; again; {
		again = false
		for _, a := range s.asks {
			if !strings.HasSuffix(a.Method, "/list") {
				continue
			}
			again = true
			switch a.Method {
			case "tools/list":
				s.answer(a, list(tools[a.To]...))
			case "prompts/list":
				s.answer(a, `{"prompts":[]}`)
			case "resources/list":
				s.answer(a, `{"resources":[]}`)
			default:
				s.answer(a, `{"resourceTemplates":[]}`)
			}
			break
		}
	}
}

// join takes a seat among peers that have these tools.
func (s *stage) join(tools map[string][]string) {
	s.t.Helper()
	seated := desktop.Seated{Me: "me", Topic: "lobby"}
	for id := range tools {
		seated.Peers = append(seated.Peers, desktop.Peer{ID: id})
	}
	s.step(seated)
	s.serveLists(tools)
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":%s,"clientInfo":{"name":"t","version":"1"}}}`

// meet shakes hands as a client with these capabilities.
func (s *stage) meet(capabilities string) {
	s.t.Helper()
	s.line(hello, capabilities)
	s.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.one(`"protocolVersion":"2025-06-18"`, `"listChanged":true`)
}

// shown are the names in the client's list of tools, but for our own.
func (s *stage) shown() (names []string) {
	s.t.Helper()
	s.line(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	for _, d := range listed(s.t, s.one(`"id":"list"`)) {
		if !strings.HasPrefix(d.Name, "mcpx_") {
			names = append(names, d.Name)
		}
	}
	return names
}

type listedTool struct {
	Name, Title, Description string
	InputSchema              json.RawMessage
}

func listed(t *testing.T, line string) []listedTool {
	t.Helper()
	var m struct{ Result struct{ Tools []listedTool } }
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	return m.Result.Tools
}

func (s *stage) call(id int, name, args string) {
	s.t.Helper()
	s.line(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}}`, id, name, args, id)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

func (s *stage) modernCall(id int, name, args, more string) {
	s.t.Helper()
	s.line(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s,%s}}`, id, name, args, more, modernMeta)
}

func question(id string) desktop.Asked {
	return desktop.Asked{Question: desktop.Question{ID: id, Digest: "d-" + id, Bridge: "fs", From: "bob", Tool: "rm", Dialog: approval.Dialog{Text: "bob wants rm " + id}}}
}

func nameIn(t *testing.T, params []byte) string {
	t.Helper()
	var p struct{ Name string }
	if err := json.Unmarshal(params, &p); err != nil {
		t.Fatal(err)
	}
	return p.Name
}
