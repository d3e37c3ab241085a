package bridge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
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
