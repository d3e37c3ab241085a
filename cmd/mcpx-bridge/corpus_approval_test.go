package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"
)

// Cases of the corpus about questions, played against the whole program. What a
// case calls elic-1 in elic-env-1 is whatever the question's ids are.

const corpusRules = `version: 1
default: deny
asks: {alice: {of: [alice], within: 60s}}
rules:
  - {name: reads, allow: ["read_*", slow]}
  - {name: writes, ask: [write_file], as: alice}
`

func askingFixture(t *testing.T) play {
	t.Helper()
	l := ruled(t, corpusRules)
	l.id = "fs-bridge"
	g, s := perform(t, d1, l)
	return play{g, s}
}

func theCase(t *testing.T, id string) badInput {
	t.Helper()
	for _, c := range corpus(t) {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("%s is not in the corpus", id)
	return badInput{}
}

// Answers that are none: the question stays open, and the right one still counts.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"apr-001 the caller answers", "apr-002 somebody else answers", "apr-005 the answer is to the caller's request",
		"apr-006 the answer names no envelope", "apr-031 the answer is in another dialect", "env-041 the link is spelled another way too",
	} {
		t.Run(name, func(t *testing.T) {
			p := askingFixture(t)
			id, _, _ := strings.Cut(name, " ")
			p.request("env-1", "agent-a", call("42", "write_file", `{"path":"/tmp/x","content":"x"}`))
			q := p.poses("alice", anyQuestion)
			before := p.s.ran()
			for _, frame := range theCase(t, id).frames(t) {
				p.send(strings.NewReplacer(`"elic-1"`, q.id, `"elic-env-1"`, quoted(q.env)).Replace(*frame))
			}
			var again posed
			told := strings.Contains("apr-005 apr-006 env-041", id) // by whom it was put to, who is asked once more (D6)
			if told {
				again = p.poses("alice", anyQuestion)
			}
			p.runs(before, 0)
			p.decides("alice", q, approve)
			if told {
				p.expect(p.withdrawn(again))
			}
			p.expect(d1.reply("agent-a", "env-1", "tools/call", "write_file", `{"id":42,"result":"*"}`))
			p.runs(before, 1)
		})
	}
}

// What is asked is shown, and nothing of it can pass for something else.
func TestBadTextInQuestions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ui-001 escape sequences", "ui-002 direction overrides", "ui-003 invisible tags", "ui-004 lines that look like ours", "ui-005 markup"} {
		t.Run(name, func(t *testing.T) {
			p := askingFixture(t)
			id, _, _ := strings.Cut(name, " ")
			for _, frame := range theCase(t, id).frames(t) {
				p.send(*frame)
			}
			q := p.poses("alice", anyQuestion)
			var m struct {
				Payload struct {
					Params struct {
						Message string
						Schema  struct {
							Properties map[string]struct{ Title, Description string }
						} `json:"requestedSchema"`
					}
				}
			}
			if err := json.Unmarshal([]byte(q.frame), &m); err != nil {
				t.Fatal(err)
			}
			shown := m.Payload.Params.Message + "\n" + m.Payload.Params.Schema.Properties["approve"].Description
			for _, r := range shown {
				if r != '\n' && !unicode.IsPrint(r) {
					t.Errorf("%U is shown as it is: %q", r, shown)
				}
			}
			for line := range strings.Lines(shown) {
				if strings.HasPrefix(line, "Tool: ") && line != "Tool: write_file\n" || strings.HasPrefix(line, "Caller: ") && line != "Caller: agent-a\n" {
					t.Errorf("an argument looks like a line of ours: %q", shown)
				}
			}
			if id != "ui-004" && id != "ui-005" && !strings.Contains(shown, `\u{`) {
				t.Errorf("what cannot be seen is not spelled out: %q", shown)
			}
			p.runs(0, 0)
		})
	}
}

// A policy that cannot be read changes nothing.
func TestABadPolicyIsNotPutInForce(t *testing.T) {
	t.Run("pol-020 half a file", func(t *testing.T) {
		t.Parallel()
		l := ruled(t, corpusRules)
		l.id = "fs-bridge"
		g, s := perform(t, d1, l)
		p := play{g, s}
		if err := os.WriteFile(l.rules[1], []byte(`{"default":`), 0o600); err != nil {
			t.Fatal(err)
		}
		s.await(`{"event":"reload_failed"}`)
		p.request("env-1", "agent-a", call("42", "write_file", `{"path":"/tmp/x"}`))
		p.poses("alice", anyQuestion)
		p.request("env-2", "agent-a", call("43", "read_file", `{"path":"/tmp/x"}`))
		p.expect(d1.reply("agent-a", "env-2", "tools/call", "read_file", `{"id":43,"result":"*"}`))
	})
}
