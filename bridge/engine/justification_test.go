package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/meta"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

const wantsReasons = "version: 1\ndefault: deny\nredact: ['*password*']\nrules:\n" +
	" - {name: reads, allow: ['read_*']}\n - {name: writes, ask: ['write_*'], justification: required}\n"

// callWith sends a tools/call with a _meta.
func (s *stage) callWith(env, tool, meta string) {
	s.t.Helper()
	s.arrive(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":%q,"ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:tools/call",`+
		`"payload":{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":{"path":"/a"},"_meta":%s}}}`, env, tool, meta))
}

// local is the question that is put to the person at the bridge.
func (s *stage) local() approval.View {
	s.t.Helper()
	open := s.engine.Pending(0, 0)
	if len(open) != 1 {
		s.t.Fatalf("%d questions are open", len(open))
	}
	v, _ := s.engine.View(s.now, open[0].ID, true)
	return v
}

func TestWhoDoesNotSayWhyHearsWhatToAdd(t *testing.T) {
	s := reloadStage(t)
	s.do(Reloaded{rules(t, wantsReasons)})
	s.frames = nil
	s.call("bob", "e1", "7", "write_file", `{"path":"/a"}`)
	s.has(s.only(), `"code":-31004`, `"reason":"justification_required"`, `"executed":"no"`, `"rule":"writes"`, `_meta[\"mcpx/justification\"]`, "with call --why, or as why of mcpx_call")
	if len(s.engine.Pending(0, 0)) > 0 || s.asked() > 0 {
		t.Error("somebody is asked, or it ran")
	}
	if d := s.decided(); d.Verdict != "deny" || d.Rule != "writes" {
		t.Errorf("on record: %+v", d)
	}
}

// Those who are asked read it as the caller's word, it is on record, less what the policy hides,
// and the server gets every other byte.
func TestWhyACallIsMadeIsForThoseWhoAreAsked(t *testing.T) {
	s := reloadStage(t)
	s.do(Reloaded{rules(t, wantsReasons)})
	s.callWith("e1", "write_file", `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","mcpx/justification":"build is red\u202e, password=hunter2"}`)
	v := s.local()
	if text := v.Text(); !strings.Contains(text, `The caller says: "build is red\u{202e}, password=[redacted]"`) || v.BesideText != "" {
		t.Errorf("%s", text)
	}
	if r := s.lastNote(record.Asked); r.Why != "build is red\u202e, password=[redacted]" || r.Beside != nil {
		t.Errorf("on record: %+v", r)
	}
	s.decides(v, yes)
	if s.asked() != 1 || strings.Contains(s.lines[len(s.lines)-1], "justification") || !strings.Contains(s.lines[len(s.lines)-1], "traceparent") {
		t.Errorf("the server got %s", s.lines[len(s.lines)-1])
	}
}

// Where nobody wants to know, it is on record and costs nothing.
func TestWhoSaysWhyUnaskedIsNotAskedAbout(t *testing.T) {
	s := reloadStage(t)
	s.do(Reloaded{rules(t, wantsReasons)})
	s.callWith("e1", "read_file", `{"mcpx/justification":"curious"}`)
	if s.asked() != 1 || s.decided().Why != "curious" {
		t.Errorf("it did not run, or is not on record: %+v", s.decided())
	}
	if line := s.lines[len(s.lines)-1]; strings.Contains(line, "_meta") {
		t.Errorf("the server got %s", line)
	}
}

// What nobody would read, or what another reader would take for something else, is no reason.
func TestWhatIsNoJustification(t *testing.T) {
	for meta, want := range map[string]string{
		`{"mcpx/justification":7}`:    `"code":-32602`,
		`{"mcpx/justification":""}`:   `"code":-32602`,
		`{"mcpx/justification":null}`: `"code":-32602`,
		`{"mcpx/justification":"` + strings.Repeat("x", meta.WhyMax+1) + `"}`: `"code":-32602`,
		`{"mcpx/justificatio\u006e":"spelled otherwise"}`:                     `"reason":"justification_required"`,
		`{"Mcpx/Justification":"in another case"}`:                            `"reason":"justification_required"`,
		`{"other":{"mcpx/justification":"further in"}}`:                       `"reason":"justification_required"`,
	} {
		s := reloadStage(t)
		s.do(Reloaded{rules(t, wantsReasons)})
		s.frames = nil
		s.callWith("e1", "write_file", meta)
		s.has(s.only(), want)
		if len(s.engine.Pending(0, 0)) > 0 {
			t.Errorf("%s: somebody is asked", meta)
		}
	}
}

// A question is about why, too: another reason is another digest. And a rule that wants one since
// has the last word (RELIABILITY AI-14).
func TestAJustificationIsPartOfWhatIsAgreedTo(t *testing.T) {
	digests := map[string]bool{}
	for _, why := range []string{"one", "two"} {
		s := reloadStage(t)
		s.do(Reloaded{rules(t, wantsReasons)})
		s.callWith("e1", "write_file", `{"mcpx/justification":"`+why+`"}`)
		digests[s.local().Digest] = true
	}
	if len(digests) != 2 {
		t.Error("two reasons have one digest")
	}
	s := reloadStage(t)
	s.do(Reloaded{rules(t, strings.ReplaceAll(wantsReasons, ", justification: required", ""))})
	s.call("bob", "e1", "7", "write_file", `{"path":"/a"}`)
	v := s.local()
	s.do(Reloaded{rules(t, wantsReasons)})
	s.decides(v, yes)
	if s.asked() != 0 {
		t.Error("it ran, and its caller never said why")
	}
}

// A proposal says why in a reason of its own, and hears where to put it at once.
func TestAProposalSaysWhyInItsReason(t *testing.T) {
	for reason, asked := range map[string]bool{"": false, `,"reason":"the disk is full"`: true} {
		s := reloadStage(t)
		s.do(Reloaded{rules(t, wantsReasons)})
		s.frames = nil
		s.arrive(`{"protocol":"mcpx/v0.1","id":"p1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/proposal:tools/call:write_file",` +
			`"payload":{"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/a"}}` + reason + `}}`)
		if asked {
			if v := s.local(); !strings.Contains(v.Text(), `The proposer says: "the disk is full"`) {
				t.Error(v.Text())
			}
			continue
		}
		if len(s.engine.Pending(0, 0)) > 0 || !strings.Contains(strings.Join(s.frames, "\n"), "justification_required") {
			t.Errorf("%q", s.frames)
		}
	}
}

func (s *stage) lastNote(event record.Event) record.Record {
	for i := len(s.notes) - 1; i >= 0; i-- {
		if s.notes[i].Event == event {
			return s.notes[i]
		}
	}
	s.t.Fatalf("no %s", event)
	return record.Record{}
}

// A plan is asked for with a reason where one of its calls would need one, and says it as a request does.
func TestAPlanSaysWhyAsARequestDoes(t *testing.T) {
	for meta, asked := range map[string]bool{"": false, `,"_meta":{"mcpx/justification":"all of the docs"}`: true} {
		s := reloadStage(t)
		s.do(Reloaded{rules(t, wantsReasons)})
		s.frames = nil
		s.arrive(`{"protocol":"mcpx/v0.1","id":"e1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:mcpx/plan",` +
			`"payload":{"jsonrpc":"2.0","id":7,"method":"mcpx/plan","params":{"items":[{"tool":"write_file","uses":2,"args":{"/path":{"any":true}}}],"seconds":60` + meta + `}}}`)
		if !asked {
			s.has(s.only(), `"reason":"justification_required"`)
			continue
		}
		if v := s.local(); !strings.Contains(v.Text(), `The caller says: "all of the docs"`) {
			t.Error(v.Text())
		}
	}
}

// Who serves a proposal may have a reason of their own, and serves it all the same.
func TestAnotherReasonIsForTheSameCall(t *testing.T) {
	s := reloadStage(t)
	sum := func(meta string) [32]byte {
		env, err := s.dialect.Decode([]byte(`{"protocol":"mcpx/v0.1","id":"e1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:tools/call",` +
			`"payload":{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/a"}` + meta + `}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return contentSum(&env)
	}
	if sum("") != sum(`,"_meta":{"mcpx/justification":"mine"}`) || sum("") == sum(`,"_meta":{"mcpx/justificatio\u006e":"mine"}`) {
		t.Error("a reason is part of what is asked for, or what is none is not")
	}
}
