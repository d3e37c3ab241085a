package bridge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// recorded is the line of the audit about an event.
func (s *stage) recorded(event string) string {
	s.t.Helper()
	for _, r := range s.notes {
		if line := r.forAudit(); r.Event == event {
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
		{"read_file", `{"path" : "/a","n":9007199254740993.10}`, "decided", `"args":{"path":"/a","n":9007199254740993.10}`, "e+"},
		{"write_file", `{"path":"/a","password":{"x":"HUSH"}}`, "asked", `"args":{"path":"/a","password":"[redacted]"}`, "HUSH"},
	} {
		d, _ := wire.Lookup("mcpx/v0.1")
		s := askingStage(t, d, asksAlice)
		s.asksFor("bob", "e7", "7", c.tool, c.args, "")
		line := s.recorded(c.event)
		if !strings.Contains(line, c.has) || strings.Contains(line, c.not) || !json.Valid([]byte(line)) {
			t.Errorf("%s %.60s: %.300s", c.tool, c.args, line)
		}
	}
}

// What somebody changed is on record as it ran.
func TestAnEditIsOnRecord(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.asksFor("bob", "e7", "7", "deploy", `{"target":"production"}`, "")
	s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"approve","modifiedTarget":"staging"}}`)
	if line := s.recorded("asked"); !strings.Contains(line, `"args":{"target":"production"}`) {
		t.Error(line)
	}
	if line := s.recorded("decided"); !strings.Contains(line, `"modified":["/target"],"args":{"target":"staging"}`) {
		t.Error(line)
	}
}
