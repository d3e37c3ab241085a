package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const asksHost = `version: 1
default: deny
asks:
  default:
    of: [host]
    within: 1m
    delegate: {to: [host, carol]}
    edit:
      path: {arg: /path, title: Path, enum: [/a, /b, /c]}
      decision: {arg: /mode, title: Mode, type: integer, min: 1, max: 511}
rules:
 - {ask: ['write_*']}
`

// dialogStage has a client whose person can be asked, and a call of its that waits.
func dialogStage(t *testing.T) *stage {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, asksHost), IDPrefix: "mcpx1n", Hosted: true, HostIDPrefix: "mcpx-SEAL-"})
	s.seat()
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Elicits: true,
		Result: []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)}})
	s.answerListing(tools)
	s.frames, s.lines, s.notes, s.toldHost = nil, nil, nil, nil
	s.hostCalls("1", "write_file")
	return s
}

// dialog is the id of the dialog that the client has been shown last.
func (s *stage) dialog() (id, text string) {
	s.t.Helper()
	for _, line := range s.toldHost {
		var m struct{ ID, Method string }
		if json.Unmarshal([]byte(line), &m); m.Method == elicitation {
			id, text = m.ID, line
		}
	}
	if id == "" {
		s.t.Fatalf("the client is shown nothing: %q", s.toldHost)
	}
	return id, text
}

func (s *stage) hostAnswers(id, result string) {
	s.t.Helper()
	m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":"`+id+`","result":`+result+`}`), jsonrpc.Judged)
	if err != nil {
		s.t.Fatal(err)
	}
	s.do(HostReplied{m})
}

// What the person behind the client may change stood on every surface but its own dialog
// (FINDINGS S8, seed 003 pattern 2).
func TestTheClientsDialogHasWhatMayBeChanged(t *testing.T) {
	for content, want := range map[string]string{
		`{"decision":"allow"}`:                            `"arguments":{"path":"/a"}`,
		`{"decision":"allow","path":"/a"}`:                `"arguments":{"path":"/a"}`,
		`{"decision":"allow","path":"/b","edit2":""}`:     `"arguments":{"path":"/b"}`,
		`{"decision":"allow","path":"/c","edit2":64}`:     `"arguments":{"mode":64,"path":"/c"}`,
		`{"decision":"allow","path":"/etc"}`:              "invalid_answer",
		`{"decision":"allow","edit2":512}`:                "invalid_answer",
		`{"decision":"allow","edit2":"64"}`:               "invalid_answer",
		`{"decision":"allow","mode":64}`:                  "invalid_answer",
		`{"decision":64}`:                                 "invalid_answer",
		`{"decision":"deny","path":"/b"}`:                 "declined",
		`{"decision":"delegate","delegateTo":"mallory"}`:  "invalid_answer",
		`{"decision":"delegate","path":"/b"}`:             "invalid_answer",
		`{"decision":"allow","approve":true,"path":"/b"}`: "invalid_answer",
		`{"decision":"allow","arguments":{"path":"/b"}}`:  "invalid_answer",
		`{"path":"/b"}`:                                   "invalid_answer",
	} {
		s := dialogStage(t)
		id, text := s.dialog()
		for _, part := range []string{`"enum":["allow","deny","delegate"]`, `"enum":["carol"]`, `"edit2":{"type":"integer","title":"Mode",`, `"minimum":1,"maximum":511}`,
			`"path":{"type":"string","title":"Path","description":"Now \"/a\". Left empty, it stays as it is.","enum":["/a","/b","/c"]}`, `"required":["decision"]`} {
			if !strings.Contains(text, part) {
				t.Fatalf("there is no %s in %s", part, text)
			}
		}
		s.hostAnswers(id, `{"action":"accept","content":`+content+`}`)
		ran := strings.Join(s.lines, "")
		said := strings.Join(s.toldHost, "")
		if strings.HasPrefix(want, `"arguments"`) != (ran != "") || !strings.Contains(ran+said, want) {
			t.Errorf("%s: the server gets %q, the client %s", content, ran, said)
		}
	}
}

// The person behind the client may pass a question on, to others only; to one who cannot be
// asked it comes back with why (FINDINGS S8, seed 003 pattern 3).
func TestTheClientsDialogPassesAQuestionOn(t *testing.T) {
	s := dialogStage(t)
	id, _ := s.dialog()
	s.hostAnswers(id, `{"action":"accept","content":{"decision":"delegate","delegateTo":"carol","path":"/b"}}`)
	if !s.noted(record.Delegated, "") || len(s.lines) > 0 {
		t.Fatalf("it is not passed on: %v", s.notes)
	}
	if sent := strings.Join(s.frames, ""); !strings.Contains(sent, `"to":["carol"]`) || !strings.Contains(sent, `"arguments":{"path":"/a"}`) {
		t.Errorf("carol is asked %s", sent)
	}
	s.hostAnswers(id, `{"action":"accept","content":{"decision":"allow"}}`)
	if len(s.lines) > 0 {
		t.Error("who passed it on decides all the same")
	}

	s = dialogStage(t)
	s.leaves("carol")
	id, _ = s.dialog()
	s.hostAnswers(id, `{"action":"accept","content":{"decision":"delegate","delegateTo":"carol"}}`)
	again, text := s.dialog()
	if again == id || !strings.Contains(text, "Please answer again:") || !strings.Contains(text, "is not here") {
		t.Fatalf("the client is shown %s", text)
	}
	s.hostAnswers(again, `{"action":"accept","content":{"decision":"allow"}}`)
	if len(s.lines) != 1 {
		t.Errorf("the server gets %q", s.lines)
	}
}

// What a dialog cannot show whole is shown to nobody there, and whoever else may decide does.
func TestAQuestionTooLongForTheClientsDialogIsPutToOthersOnly(t *testing.T) {
	for of, want := range map[string]string{"[host]": "no_approver", "[host, carol]": "carol"} {
		d, _ := wire.Lookup("mcpx/v0.1")
		s := stageWith(t, d, Config{Policy: rules(t, strings.Replace(asksHost, "[host]", of, 1)), IDPrefix: "mcpx1n", Hosted: true, HostIDPrefix: "mcpx-SEAL-"})
		s.seat()
		s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Elicits: true, Result: []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)}})
		s.answerListing(tools)
		s.frames, s.lines, s.toldHost = nil, nil, nil
		line := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"` + strings.Repeat("a", dialogMax) + `"}}}`)
		m, err := jsonrpc.Parse(line, jsonrpc.Judged)
		if err != nil {
			t.Fatal(err)
		}
		s.do(HostCalled{line, m})
		told := strings.Join(s.toldHost, "")
		if strings.Contains(told, elicitation) || !strings.Contains(told+strings.Join(s.frames, ""), want) || len(s.lines) > 0 {
			t.Errorf("of %s: the client is told %.300s, the topic %.300q, the server %.100q", of, told, s.frames, s.lines)
		}
	}
}
