package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// recorded is the line of the audit about an event.
func (s *stage) recorded(event record.Event) string {
	s.t.Helper()
	for _, r := range s.notes {
		if line := r.ForAudit(); r.Event == event {
			return string(line)
		}
	}
	s.t.Fatalf("there is no %s: %+v", event, s.notes)
	return ""
}

func TestWhatWasDecidedAboutIsOnRecordWithoutSecrets(t *testing.T) {
	long := `{"path":"/a","text":"` + strings.Repeat("x", argsMax) + `"}`
	for _, c := range []struct{ tool, args, event, has, not string }{
		{"read_file", `{"path":"/a","api_token":"HUSH"}`, "decided", `"verdict":"allow","rule":"reads","args":{"path":"/a","api_token":"[redacted]"}`, "HUSH"},
		{"read_file", long, "decided", fmt.Sprintf(`"args_bytes":%d`, len(long)), "xxx"},
		{"read_file", `{"path" : "/a","n":9007199254740993.10}`, "decided", `"args":{"path" : "/a","n":9007199254740993.10}`, "e+"},
		{"write_file", `{"path":"/a","password":{"x":"HUSH"}}`, "asked", `"args":{"path":"/a","password":"[redacted]"}`, "HUSH"},
	} {
		d, _ := wire.Lookup("mcpx/v0.1")
		s := askingStage(t, d, asksAlice)
		s.asksFor("bob", "e7", "7", c.tool, c.args, "")
		line := s.recorded(record.Event(c.event))
		if !strings.Contains(line, c.has) || strings.Contains(line, c.not) || !json.Valid([]byte(line)) {
			t.Errorf("%s %.60s: %.300s", c.tool, c.args, line)
		}
	}
}

// args_bytes was the size of the arguments alone in a record of a deny, and that of the
// arguments with what stands beside them in others.
func TestTheSizeOnRecordHadTwoMeanings(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	args := `{"path":"/a","text":"` + strings.Repeat("x", argsMax) + `"}`
	sizes := map[string]int{}
	for _, verdict := range []string{"allow", "deny"} { // what stands beside is asked about
		s := askingStage(t, d, strings.Replace(asksAlice, `allow: ["read_*"]`, verdict+`: ["read_*"]`, 1))
		for _, tool := range []string{"read_file", "write_file"} {
			s.asksFor("bob", "e-"+tool, "7", tool, args, `"task":{"ttl":`+strings.Repeat("1", 900)+`},`)
		}
		for _, r := range s.notes {
			if r.Event == record.Asked || r.Event == record.Decided && r.Question == "" {
				sizes[r.Tool+" "+string(r.Event)+" "+r.Verdict] = r.ArgsBytes
			}
		}
	}
	for what, size := range sizes {
		if size < len(args)+900 {
			t.Errorf("%s: %d bytes, and the arguments alone are %d", what, size, len(args))
		}
	}
	if len(sizes) < 3 {
		t.Errorf("only %v", sizes)
	}
}

// What somebody changed is on record as it ran.
func TestAnEditIsOnRecord(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.asksFor("bob", "e7", "7", "deploy", `{"target":"production"}`, "")
	s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"staging"}}`)
	if line := s.recorded(record.Asked); !strings.Contains(line, `"args":{"target":"production"}`) {
		t.Error(line)
	}
	if line := s.recorded(record.Decided); !strings.Contains(line, `"modified":["/target"],"args":{"target":"staging"}`) {
		t.Error(line)
	}
}

// What we leave to others is on record, or nobody could read later what became of
// a proposal.
func TestWhatIsLeftToOthersIsOnRecord(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: never")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	if line := s.recorded(record.Left); !strings.Contains(line, `"proposal":"p1"`) || !strings.Contains(line, "fulfils no proposals") {
		t.Errorf("on record: %q", line)
	}
}

// What a call takes from limits is on record where it starts, for the arguments
// with which it runs, and nowhere else.
func TestWhatACallTakesIsOnRecord(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, `
version: 1
default: deny
asks:
  deploy: {of: [alice], within: 60s, edit: {modifiedTarget: {arg: /target, title: Target, enum: [production, staging]}}}
rules:
  - {name: deploys, ask: [deploy], as: deploy, limit: {count: 5/day}}
  - {name: staged, ask: [deploy], as: deploy, args: {target: {is: staging}}, limit: {count: 3/day, per: all}}
`)
	s.asksFor("bob", "e7", "7", "deploy", `{"target":"production"}`, "")
	s.answers("alice", s.question(), true, `{"action":"accept","content":{"modifiedTarget":"staging","approve":true}}`)
	if line := s.recorded(record.Started); !strings.Contains(line, `"took":[{"rule":"deploys","caller":"bob"},{"rule":"staged"}]`) {
		t.Error(line)
	}
	for _, r := range s.notes {
		if r.Event != record.Started && r.Took != nil {
			t.Errorf("%+v", r)
		}
	}
}

func TestLimitsGoOnWhereAnEarlierRunEnded(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	p := rules(t, "version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*'], limit: {count: 2/day}}\n")
	c := Config{Policy: p}
	p.Recall(&c.Ledger, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), []policy.Reservation{{Rule: "some", Caller: "bob"}})
	s := stageWith(t, d, c)
	s.seat()
	s.startServer()
	for i, who := range []string{"bob", "carol", "bob", "carol"} {
		s.call(who, fmt.Sprint("e", i), fmt.Sprint(i), "read_file", `{"path":"a"}`)
	}
	if s.asked() != 3 || !s.noted(record.Ended, "policy_denied") {
		t.Errorf("the server was asked %d times", s.asked())
	}
}
