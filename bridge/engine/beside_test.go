package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// What stands beside what is judged: beside params in a message, and beside name and
// arguments in params.

// besideParams are members of a message that no server may be told (FINDINGS H4).
const besideParams = `,"override":{"amount":1},"_meta":{"account":"x"},"task":{},"arguments":{"path":"/etc"},"name":"deploy"`

// lastLine holds the last line that was written against what it must be; %s is our id.
func (s *stage) lastLine(want string) {
	s.t.Helper()
	if len(s.lines) == 0 {
		s.t.Fatalf("nothing was written to the server; frames: %q", s.frames)
	}
	if want = strings.ReplaceAll(want, "%s", s.lastID()); s.lines[len(s.lines)-1] != want {
		s.t.Errorf("the server got %s\n            want %s", s.lines[len(s.lines)-1], want)
	}
}

func TestMembersBesideParamsReachNoServer(t *testing.T) {
	everyDialect(t, asksAlice+"  - {name: methods, allow: ['*'], methods: ['resources/read']}\n", func(s *stage) {
		for method, params := range map[string]string{"tools/call": `{"name":"read_file", "arguments":{"path" : "/a"}}`, "resources/read": `{"uri":"file:///a" }`} {
			key := map[string]string{"tools/call": "read_file", "resources/read": "file:///a"}[method]
			s.says("bob", "e-"+method, wire.Request, method, key, "", `{"jsonrpc":"2.0"`+besideParams+`,"id":7,"method":"`+method+`","params":`+params+`,"x":1}`)
			s.lastLine(`{"jsonrpc":"2.0","id":%s,"method":"` + method + `","params":` + params + `}`)
		}
		s.says("bob", "e-7", wire.Request, "tools/call", "deploy", "", `{"jsonrpc":"2.0"`+besideParams+`,"id":7,"method":"tools/call","params":{"name":"deploy","arguments":{"target":"production"}}}`)
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"staging"}}`)
		s.lastLine(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"deploy","arguments":{"target":"staging"}}}`)
	})
}

func TestMembersBesideParamsOfAGatedClientReachNoServer(t *testing.T) {
	for _, tool := range []string{"read_file", "write_file"} {
		s := gatedStage(t)
		line := []byte(`{"override":1,"id": "c1" ,"jsonrpc":"2.0","method":"tools\/call","_meta":{"a":1},"params":{"_meta":{"progressToken":3},"name":"` + tool + `","arguments":{"path":"/a"}}}`)
		m, err := jsonrpc.Parse(line, jsonrpc.Judged)
		if err != nil {
			t.Fatal(err)
		}
		s.do(HostCalled{line, m})
		if tool == "write_file" {
			s.agreeHere()
		}
		s.lastLine(`{"jsonrpc":"2.0","id":"c1","method":"tools/call","params":{"_meta":{"progressToken":3},"name":"` + tool + `","arguments":{"path":"/a"}}}`)
	}
}

// A proposal's call is shown to all and run without what stands beside its params.
func TestMembersBesideTheParamsOfAProposalReachNobody(t *testing.T) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4", "meup/v0.2"} {
		s := proposalStage(t, protocol, "fulfil: policy")
		s.proposes("bob", "p1", "fs", "read_file", `{"path":"/a"}`, besideParams)
		s.lastLine(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"}}}`)
		if all := strings.Join(s.frames, "\n"); strings.Contains(all, "override") {
			t.Errorf("others were shown %s", all)
		}
	}
}

// full has the server at work on as many calls as it may have.
func (s *stage) full() {
	s.t.Helper()
	for i := range 4 { // MaxCalls
		s.asksFor("carol", fmt.Sprint("full", i), fmt.Sprint(100+i), "read_file", `{"path":"a"}`, "")
	}
	if n := s.asked(); n != 4 {
		s.t.Fatalf("%d calls are at the server", n)
	}
	s.lines, s.frames, s.notes = nil, nil, nil
}

// "Come again" would be said of what will never be served (FINDINGS S4).
func TestWhatThePolicyDeniesIsDeniedHoweverFullTheServerIs(t *testing.T) {
	stages := map[string]func(s *stage){"full": (*stage).full, "stopping": func(s *stage) {
		s.asksFor("carol", "last", "100", "read_file", `{"path":"a"}`, "")
		s.do(Stopping{})
		s.lines, s.frames = nil, nil
	}}
	for what, prepare := range stages {
		everyDialect(t, asksAlice+"  - {name: no-lists, deny: ['*'], methods: ['tools/list']}\n", func(s *stage) {
			prepare(s)
			s.asksFor("bob", "e1", "1", "deploy_all", `{}`, "")
			s.refused(-32602)
			s.asksFor("bob", "e2", "2", "deploy", `{"target":"nowhere"}`, "")
			s.refused(-32602)
			s.says("bob", "e3", wire.Request, "tools/list", "", "", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
			s.refused(-31004, `"rule":"no-lists"`)
			s.says("bob", "e4", wire.Request, "logging/setLevel", "", "", `{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"debug"}}`)
			s.refused(-31004)
			code := map[string]int{"full": -31005, "stopping": -31006}[what]
			s.asksFor("bob", "e5", "5", "read_file", `{"path":"/a"}`, "")
			s.refused(code, `"retryable":true`)
			s.asksFor("bob", "e6", "6", "write_file", `{"path":"/a"}`, "")
			s.refused(code, `"retryable":true`)
			if _, ok := s.maybeQuestion(); ok || len(s.engine.Pending(0, 0)) > 0 {
				t.Error("somebody is asked about a call that nothing can run")
			}
		})
	}
}

func TestAProposalThatThePolicyDeniesIsNoneOfBeingBusy(t *testing.T) {
	for what, prepare := range map[string]func(s *stage){"full": (*stage).full, "paused": func(s *stage) {
		s.arrive(mewHead + `"id":"p","from":"carol","kind":"participant/pause","payload":{}}`)
	}} {
		s := proposalStage(t, "mew/v0.4", "fulfil: policy")
		s.do(Reloaded{rules(t, "version: 1\ndefault: deny\nrules:\n - {allow: ['read_*']}\n")})
		prepare(s)
		s.proposes("bob", "p1", "fs", "write_file", `{"path":"/a"}`, "")
		s.do(Reloaded{rules(t, "version: 1\ndefault: allow\nproposals: {fulfil: policy}\n")})
		s.proposes("bob", "p2", "fs", "write_file", `{"path":"/a"}`, "")
		if what == "paused" {
			s.arrive(mewHead + `"id":"r","from":"carol","kind":"participant/resume","payload":{}}`)
		}
		s.rejected("policy", "busy")
	}
}

// agreeHere has the person at this machine agree to the one open question.
func (s *stage) agreeHere() {
	s.t.Helper()
	open := s.engine.Pending(0, 0)
	if len(open) != 1 {
		s.t.Fatalf("%d questions are open, not one", len(open))
	}
	v, _ := s.engine.View(s.now, open[0].ID, true)
	s.do(Decided{approval.Answer{Who: approval.Who{Door: approval.Local}, Question: v.ID, Digest: v.Digest, Result: []byte(yes)}})
}

// besides are members of params beside name and arguments that nobody has judged
// (FINDINGS H3), with the names under which the owner could list them.
var besides = []struct{ members, beside, name string }{
	{`"override":{"amount":1000000},`, `{"override":{"amount":1000000}}`, "override"},
	{`"task":{"ttl":60000},`, `{"task":{"ttl":60000}}`, "task"},
	{`"_meta":{"account":"x"},`, `{"_meta":{"account":"x"}}`, "_meta.account"},
	{`"_meta":{"progressToken":7,"vendor/a.b":[1, 2],"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},`, `{"_meta":{"vendor/a.b":[1, 2]}}`, "_meta.vendor/a.b"},
	{`"_meta":{"traceparent":{"account":"x"}},`, `{"_meta":{"traceparent":{"account":"x"}}}`, ""},
	{`"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}},`, `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}`, "_meta.io.modelcontextprotocol/related-task"},
	{`"_meta":"x",`, `{"_meta":"x"}`, ""},
	{`"requestState":"s","inputResponses":{},`, `{"requestState":"s","inputResponses":{}}`, ""},
	{`"uri":"file:///a",`, `{"uri":"file:///a"}`, ""},
	{`"progressToken":1,`, `{"progressToken":1}`, "progressToken"},
}

const asksHere = "version: 1\ndefault: deny\nredact: []\nasks: {default: {of: [alice], within: 1m, remember: [once, session]}}\nrules:\n - {name: reads, allow: ['read_*']}\n - {name: files, allow: ['*'], methods: [resources/read]}\n"

func TestMembersBesideTheArgumentsAreShownHashedRecordedAndAskedAbout(t *testing.T) {
	digests := map[string]bool{}
	for _, c := range besides {
		everyDialect(t, asksHere, func(s *stage) {
			s.asksFor("bob", "e1", "7", "read_file", `{"path":"/a"}`, c.members)
			a := s.question()
			s.has(a.params, "Beside the arguments: ", `"beside":`, besideWords)
			open := s.engine.Pending(0, 0)[0]
			v, _ := s.engine.View(s.now, open.ID, true)
			s.has(v.Text(), "params/")
			asked := s.notes[len(s.notes)-1]
			if asked.Event != record.Asked || string(asked.Beside) != c.beside || string(open.Beside) != c.beside || string(asked.Args) != `{"path":"/a"}` || asked.Rule != "server.pass" {
				t.Errorf("on record: %s; want %s", asked.JSON(), c.beside)
			}
			digests[c.members+asked.Digest] = true
			s.answers("alice", a, true, yes)
			m := s.parse(s.lines[len(s.lines)-1])
			want := strings.TrimSuffix(strings.Replace(c.members, `"_meta":{"progressToken":7`, `"_meta":{"progressToken":`+s.lastID(), 1), ",")
			if got := string(m.Get(jsonrpc.Params)); !strings.Contains(got, want) {
				t.Errorf("the server got %s", got)
			}
		})
	}
}

const besideWords = "it brings more than arguments"

// What the protocol itself puts into params needs no leave, whoever calls.
func TestWhatTheProtocolPutsBesideTheArgumentsNeedsNoLeave(t *testing.T) {
	const traces = `"progressToken":"t","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b","baggage":"k=v"`
	const own = `"_meta":{` + traces + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug"},`
	everyDialect(t, asksHere, func(s *stage) {
		s.speaks2026()
		for i, members := range []string{own, `"_meta":{` + traces + `},`, `"_meta":null,`, `"_meta":{},`, ``} {
			s.asksFor("bob", fmt.Sprint("e", i), "7", "read_file", `{"path":"/a"}`, members)
			if s.asked() != i+1 {
				t.Fatalf("%s: somebody is asked: %q", members, s.frames)
			}
			if r := s.decided(); r.Verdict != "allow" || r.Beside != nil {
				t.Errorf("on record: %s", r.JSON())
			}
			s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
		}
		s.lines = nil
		s.sends1("r1", "resources/read", "file:///a", `{`+own+`"uri":"file:///a"}`)
		if r := s.decided(); len(s.lines) != 1 || string(r.Args) != `{"uri":"file:///a"}` || r.Beside != nil {
			t.Errorf("%q; on record: %s", s.lines, r.JSON())
		}
	})
	for _, members := range []string{own, `"_meta":{"progressToken":3},`} {
		s := gatedStage(t)
		s.speaks2026()
		s.hostSays(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + members + `"name":"read_file","arguments":{"path":"/a"}}}`)
		if s.asked() != 1 {
			t.Errorf("the client's own call with %s is asked about", members)
		}
	}
}

// speaks2026 has the server come back as one of 2026-07-28, with the same tools.
func (s *stage) speaks2026() {
	s.t.Helper()
	s.do(ServerDown{Cause: "exited", Retry: time.Second})
	s.do(ServerUp{Hello{PID: 8, Revision: "2026-07-28", Modern: true, Result: []byte(`{}`)}})
	s.answerListing(moreTools)
	s.frames, s.lines, s.notes = nil, nil, nil
}

// posing are keys of the protocol's with what it puts there, and with something else.
var posing = []struct {
	beside string
	modern bool // a server of 2026-07-28 knows it for the protocol's own
}{
	{`{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c"}}}`, true},
	{`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, true},
	{`{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}`, true},
	{`{"_meta":{"io.modelcontextprotocol/logLevel":"debug"}}`, true},
	{`{"_meta":{"io.modelcontextprotocol/clientInfo":{"account":"x"}}}`, false},
	{`{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"experimental":{"override":{"amount":1000000}}}}}`, false},
	{`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28; account=x"}}`, false},
	{`{"_meta":{"io.modelcontextprotocol/logLevel":"account x"}}`, false},
	{`{"_meta":{"traceparent":"account x"}}`, false},
	{`{"_meta":{"baggage":"let it pass"}}`, false},
}

// A key of the protocol's with any content reached the server unshown, whichever
// revision that spoke (FINDINGS A5).
func TestAKeyOfTheProtocolsWithAnythingInItIsAskedAbout(t *testing.T) {
	for _, c := range posing {
		members := c.beside[1:len(c.beside)-1] + ","
		for _, modern := range []bool{false, true} {
			unshown := modern && c.modern
			roads := map[string]func(s *stage){
				"a call": func(s *stage) { s.asksFor("bob", "e1", "7", "read_file", `{"path":"/a"}`, members) },
				"a read": func(s *stage) { s.sends1("e1", "resources/read", "file:///a", `{`+members+`"uri":"file:///a"}`) },
			}
			for road, take := range roads {
				everyDialect(t, asksHere, func(s *stage) {
					if modern {
						s.speaks2026()
					}
					take(s)
					if ran := len(s.lines) == 1; ran != unshown {
						s.t.Fatalf("%s with %s, modern %v: it ran unasked: %v", road, c.beside, modern, ran)
					}
					if _, asked := s.maybeQuestion(); asked == unshown {
						s.t.Errorf("%s with %s, modern %v: alice is asked: %v", road, c.beside, modern, asked)
					}
				})
			}
			s := gatedStage(t)
			if modern {
				s.speaks2026()
			}
			s.hostSays(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + members + `"name":"read_file","arguments":{"path":"/a"}}}`)
			if ran := s.asked() == 1; ran != unshown {
				t.Errorf("the client's own call with %s, modern %v: it ran unasked: %v", c.beside, modern, ran)
			}
		}
	}
}

// A server that comes back in another era while people decide makes of what was
// nobody's business something that they were not shown.
func TestWhatWasAgreedToDoesNotRunAtAServerOfAnotherEra(t *testing.T) {
	everyDialect(t, asksHere+" - {name: writes, ask: ['write_*']}\n", func(s *stage) {
		s.speaks2026()
		s.asksFor("bob", "e1", "7", "write_file", `{"path":"/a"}`, `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c"}},`)
		a := s.question()
		s.do(ServerDown{Cause: "exited", Retry: time.Second})
		s.answers("alice", a, true, yes)
		s.do(ServerUp{Hello{PID: 9, Revision: "2025-06-18", Result: []byte(`{}`)}})
		s.answerListing(moreTools)
		s.refused(-31011)
	})
}

func (s *stage) hostSays(line string) {
	s.t.Helper()
	m, err := jsonrpc.Parse([]byte(line), jsonrpc.Judged)
	if err != nil {
		s.t.Fatal(err)
	}
	s.do(HostCalled{[]byte(line), m})
}

func TestMembersBesideTheArgumentsOfAGatedClientAreAskedAbout(t *testing.T) {
	s := gatedStage(t)
	s.hostSays(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":3,"account":"x"},"name":"read_file","arguments":{"path":"/a"}}}`)
	if s.asked() != 0 {
		t.Fatal("it ran unasked")
	}
	s.agreeHere()
	s.lastLine(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":3,"account":"x"},"name":"read_file","arguments":{"path":"/a"}}}`)
}

func TestMembersBesideTheParamsOfAReadAreAskedAbout(t *testing.T) {
	everyDialect(t, asksHere, func(s *stage) {
		s.sends1("r1", "resources/read", "file:///a", `{"uri":"file:///a","_meta":{"account":"x","progressToken":1}}`)
		a := s.question()
		if r := s.notes[len(s.notes)-1]; string(r.Args) != `{"uri":"file:///a"}` || string(r.Beside) != `{"_meta":{"account":"x"}}` {
			t.Errorf("on record: %s", r.JSON())
		}
		s.answers("alice", a, true, yes)
		s.lastLine(`{"jsonrpc":"2.0","id":%s,"method":"resources/read","params":{"uri":"file:///a","_meta":{"account":"x","progressToken":%s}}}`)
		s.frames = nil
		s.sends1("r2", "resources/read", "", `["file:///a"]`)
		s.has(s.frames[len(s.frames)-1], "-32602", "must be an object")
	})
}

func TestWhatTheOwnerListsBesideTheArgumentsPasses(t *testing.T) {
	for _, c := range besides {
		if c.name == "" {
			continue
		}
		s := askingStage(t, wire.Dialects[1], asksHere+"server: {pass: ['"+c.name+"']}\n")
		s.asksFor("bob", "e1", "7", "read_file", `{"path":"/a"}`, c.members)
		if r := s.decided(); s.asked() != 1 || r.Verdict != "allow" || string(r.Beside) != c.beside {
			t.Errorf("%s: on record: %s", c.name, r.JSON())
		}
		s.asksFor("bob", "e2", "8", "read_file", `{"path":"/a"}`, `"other":1,`)
		if s.asked() != 1 {
			t.Errorf("%s passes something else, too", c.name)
		}
	}
}

// A yes for the session holds for what was shown, all of it.
func TestAYesThatIsRememberedHoldsForNothingElseBesideTheArguments(t *testing.T) {
	everyDialect(t, asksHere, func(s *stage) {
		const keep = `{"action":"accept","content":{"approve":true,"remember":"session"}}`
		s.asksFor("bob", "e1", "1", "read_file", `{"path":"/a"}`, `"_meta":{"account":"x","progressToken":1},`)
		s.answers("alice", s.question(), true, keep)
		s.frames = nil
		s.asksFor("bob", "e2", "2", "read_file", `{"path":"/a"}`, `"_meta":{"progressToken":2, "account" : "x"},`)
		if s.asked() != 2 {
			t.Fatalf("the same again is asked about: %q", s.frames)
		}
		for i, members := range []string{`"_meta":{"account":"y"},`, `"_meta":{"account":"x"},"task":{},`, `"account":"x",`} {
			s.frames = nil
			s.asksFor("bob", fmt.Sprint("o", i), "3", "read_file", `{"path":"/a"}`, members)
			s.question()
			if s.asked() != 2 {
				t.Errorf("%s ran unasked", members)
			}
		}
	})
}

// Who edits the arguments leaves what stands beside them as it is.
func TestAnEditKeepsWhatStandsBesideTheArguments(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.asksFor("bob", "e1", "7", "deploy", `{"target":"production"}`, `"task":{"ttl":1},"_meta":{"account":"x","progressToken":9},`)
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"staging"}}`)
		s.lastLine(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"task":{"ttl":1},"_meta":{"account":"x","progressToken":%s},"name":"deploy","arguments":{"target":"staging"}}}`)
	})
}

// An edit of a read changes the read, and puts nothing beside it.
func TestAnEditOfAReadChangesItsParams(t *testing.T) {
	const edits = "version: 1\ndefault: deny\nasks: {default: {of: [alice], within: 1m, edit: {file: {arg: /uri, title: File}}}}\nrules:\n - {name: files, ask: ['*'], methods: [resources/read]}\n"
	everyDialect(t, edits, func(s *stage) {
		s.sends1("r1", "resources/read", "file:///a", `{"uri":"file:///a","_meta":{"account":"x","progressToken":1}}`)
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"approve":true,"file":"file:///b"}}`)
		m := s.parse(s.lines[len(s.lines)-1])
		if uri, meta, args := m.Text(jsonrpc.URI), string(m.Get(jsonrpc.Meta)), m.Has(jsonrpc.Arguments); uri != "file:///b" || args || !strings.Contains(meta, `"account":"x"`) || !strings.Contains(meta, s.lastID()) {
			t.Errorf("the server got %s", m.Raw)
		}
	})
}

func TestMembersBesideTheArgumentsOfAProposalAreAskedAbout(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.arrive(mewHead + `"id":"p1","from":"bob","kind":"mcp/proposal","payload":{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"},"override":{"amount":1}}}}`)
	if s.asked() != 0 {
		t.Fatal("it ran unasked")
	}
	s.has(s.question().params, "Beside the arguments: ", `override`)
}

// Somebody else's request for a proposal that brings other members is another call.
func TestARequestForAProposalWithOtherMembersBesideIsNoted(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: never")
	s.proposes("bob", "p1", "fs", "read_file", `{"path":"/a"}`, "")
	s.says("carol", "r1", wire.Request, "tools/call", "read_file", "p1", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"},"override":1}}`)
	if !strings.Contains(s.recorded(record.ProposalDiff), `"p1"`) || s.asked() != 0 {
		t.Errorf("it is not, or ran: %q", s.lines)
	}
}
