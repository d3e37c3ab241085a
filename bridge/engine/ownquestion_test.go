package engine

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// asOurs is a request by bob for the method that our own question about a policy file has.
func (s *stage) asOurs() approval.View {
	s.t.Helper()
	s.sends1("e1", approval.PolicyReload, "", `{"file":"/srv/policy.yaml","looser":["nothing"]}`)
	open := s.engine.Pending(0, 0)
	if len(open) != 1 {
		s.t.Fatalf("%d questions, %s", len(open), s.frames)
	}
	v, _ := s.engine.View(s.now, open[0].ID, true)
	return v
}

func ownQuestionStage(t *testing.T) *stage {
	return askingStageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: policy.Default(), Local: true})
}

// A participant's request for policy/reload was taken for our own question about the policy
// file: the person read our words, and no answer to them was put on record or told to anybody.
func TestAParticipantsRequestForOurMethodIsAnyOther(t *testing.T) {
	for name, c := range map[string]struct {
		answer  string
		verdict string
	}{"a yes": {yes, "allow"}, "a no": {`{"action":"decline"}`, "deny"}} {
		t.Run(name, func(t *testing.T) {
			s := ownQuestionStage(t)
			v := s.asOurs()
			s.has(v.Headline, "bob requests permission to send policy/reload")
			s.has(v.Text(), "Method: policy/reload", "Caller: bob", `/looser/0 = "nothing"`)
			if v.AboutPolicy || strings.Contains(v.Text(), "Shall it count") {
				t.Errorf("it reads like our own:\n%s", v.Text())
			}
			s.decides(v, c.answer)
			if r := s.decided(); r == nil || r.Verdict != c.verdict || r.Method != approval.PolicyReload || r.From != "bob" {
				t.Fatalf("on record is %+v", r)
			}
			if c.verdict == "deny" {
				s.refused(-31001, "policy/reload was declined by ")
				return
			}
			s.lastLine(`{"jsonrpc":"2.0","id":%s,"method":"policy/reload","params":{"file":"/srv/policy.yaml","looser":["nothing"]}}`)
			s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"error":{"code":-32601,"message":"no such method"}}`)
			s.has(s.frames[len(s.frames)-1], "no such method")
		})
	}
}

// Whatever ends such a question, its caller hears, and no call is left for a shutdown to wait for.
func TestTheEndOfARequestForOurMethodIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		end    Event
		reason string
	}{
		"a stop":          {Stopping{}, approval.ShuttingDown},
		"a policy denies": {Reloaded{rules(t, "version: 1\ndefault: deny\n")}, approval.PolicyDenied},
		"a policy of one": {Reloaded{rules(t, "version: 1\ndefault: deny\nrules:\n - {deny: ['*'], methods: [policy/reload]}\n")}, approval.PolicyDenied},
	} {
		t.Run(name, func(t *testing.T) {
			s := ownQuestionStage(t)
			s.asOurs()
			s.do(c.end)
			if r := s.decided(); r == nil || r.Reason != c.reason || len(s.engine.calls.Asked) > 0 || len(s.frames) == 0 {
				t.Errorf("on record is %+v, %d calls wait, and bob got %q", r, len(s.engine.calls.Asked), s.frames)
			}
		})
	}
}

// Neither question ends the other, nor takes its answer.
func TestOurQuestionAndOneOfThatNameAreTwo(t *testing.T) {
	s := ownQuestionStage(t)
	theirs := s.asOurs()
	s.do(Saved{Policy: rules(t, looserRules+" - {allow: ['*'], methods: ['*']}\n"), File: "/srv/policy.yaml"})
	open := s.engine.Pending(0, 0)
	if len(open) != 2 || open[0].ID != theirs.ID || open[0].AboutPolicy || !open[1].AboutPolicy {
		t.Fatalf("open are %+v", open)
	}
	s.decides(theirs, `{"action":"decline"}`)
	if s.eventsOf(record.ReloadDecided) != 0 || s.eventsOf(record.Reloaded) != 0 || len(s.engine.Pending(0, 0)) != 1 {
		t.Fatalf("a no to bob was one to the file: %+v", s.notes)
	}
	ours, _ := s.engine.View(s.now, open[1].ID, true)
	if s.decides(ours, yes); s.eventsOf(record.Reloaded) != 1 {
		t.Errorf("the file does not count: %+v", s.notes)
	}
}

// A proposal for that method is served as one for any other.
func TestAProposalOfOurMethodIsAnyOther(t *testing.T) {
	s := askingStageWith(t, lookup(t, "mew/v0.4"), Config{Local: true, Policy: rules(t, "version: 1\ndefault: deny\nasks: {default: {of: [local]}}\n"+
		"rules:\n - {ask: ['*'], methods: ['*']}\nproposals: {fulfil: policy}\n")})
	s.arrive(mewHead + `"id":"p1","from":"bob","kind":"mcp/proposal","payload":{"method":"policy/reload","params":{}}}`)
	open := s.engine.Pending(0, 0)
	if len(open) != 1 {
		t.Fatalf("%d questions, %s", len(open), s.frames)
	}
	v, _ := s.engine.View(s.now, open[0].ID, true)
	s.has(v.Headline, "bob requests permission to send policy/reload")
	s.decides(v, `{"action":"decline"}`)
	if r := s.decided(); r == nil || r.Verdict != "deny" || r.Via != "proposal" {
		t.Errorf("on record is %+v", r)
	}
	s.rejected("disagree")
}

// A participant may be called what we call the client, where that is not judged.
func TestARecordOfAParticipantCalledHostSaysThatNobodyVerifiedIt(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	s.says("host", "e1", wire.Request, "tools/call", "delete_file", "", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete_file","arguments":{}}}`)
	said := false
	for i := range s.notes {
		r := string(s.notes[i].JSON())
		if !strings.Contains(r, `"from":"host"`) {
			continue
		}
		if said = true; !strings.Contains(r, `"from":"host","from_verified":false`) {
			t.Error(r)
		}
	}
	if !said {
		t.Error("no record is about it")
	}
}
