package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// The corpus is what others got wrong, as data: testdata/bad-inputs.jsonl, one
// case per line. RELIABILITY section 5 says what its members mean.
//
// A case is run by the test of its surface, or it is in one of the lists below
// with the reason; TestEveryBadInputIsAccountedFor holds the two together.

// notYet are cases about what is not built yet.
var notYet = map[string][]string{
	"the web page":                           {"web-001", "web-002", "web-003", "web-004", "web-005", "web-008", "web-009", "web-010", "web-011", "web-014", "web-015", "web-019"},
	"the MCP server towards desktop clients": {"hst-001", "hst-002", "hst-003", "hst-004", "hst-005"},
}

// provenBy are cases that another package shows, in a test of that name or in a
// subtest that begins with the id.
var provenBy = map[string]proof{
	"gwy-022": {"bridge/topic", "TestWelcomeTimeout", "10 s pass"},
	"gwy-026": {"bridge/topic", "TestHalfOpen", "25 s pass"},

	"gwy-001": {room: "bridge/gateway"}, "gwy-002": {room: "bridge/gateway"}, "gwy-003": {room: "bridge/gateway"},
	"gwy-004": {room: "bridge/gateway"}, "gwy-005": {room: "bridge/gateway"}, "gwy-008": {room: "bridge/gateway"},
	"gwy-009": {room: "bridge/gateway"}, "gwy-012": {room: "bridge/gateway"}, "gwy-013": {room: "bridge/gateway"},
	"gwy-014": {room: "bridge/gateway"}, "gwy-015": {room: "bridge/gateway"}, "gwy-019": {room: "bridge/gateway"},

	"env-041": {room: "cmd/mcpx-bridge"}, "apr-001": {room: "cmd/mcpx-bridge"}, "apr-002": {room: "cmd/mcpx-bridge"}, "apr-005": {room: "cmd/mcpx-bridge"},
	"apr-006": {room: "cmd/mcpx-bridge"}, "apr-031": {room: "cmd/mcpx-bridge"},
	"apr-030": {"cmd/mcpx-bridge", "TestOnAFullDiskNothingRunsUntilThereIsRoom", "it needs a disk"},
	"ui-001":  {room: "cmd/mcpx-bridge"}, "ui-002": {room: "cmd/mcpx-bridge"}, "ui-003": {room: "cmd/mcpx-bridge"},
	"ui-004": {room: "cmd/mcpx-bridge"}, "ui-005": {room: "cmd/mcpx-bridge"}, "pol-020": {room: "cmd/mcpx-bridge"},

	"apr-008": {room: "bridge/approval"}, "apr-009": {room: "bridge/approval"}, "apr-011": {room: "bridge/approval"}, "apr-012": {room: "bridge/approval"},
	"apr-013": {room: "bridge/approval"}, "apr-016": {room: "bridge/approval"}, "apr-017": {room: "bridge/approval"}, "apr-019": {room: "bridge/approval"},
	"apr-021": {room: "bridge/approval"}, "apr-022": {room: "bridge/approval"}, "apr-023": {room: "bridge/approval"}, "apr-024": {room: "bridge/approval"},
	"apr-026": {room: "bridge/approval"}, "apr-028": {room: "bridge/approval"}, "apr-034": {room: "bridge/approval"}, "apr-035": {room: "bridge/approval"},

	"pol-001": {room: "policy"}, "pol-002": {room: "policy"}, "pol-003": {room: "policy"}, "pol-004": {room: "policy"}, "pol-005": {room: "policy"},
	"pol-006": {room: "policy"}, "pol-009": {room: "policy"}, "pol-010": {room: "policy"}, "pol-011": {room: "policy"}, "pol-012": {room: "policy"},
	"pol-014": {room: "policy"}, "pol-016": {room: "policy"}, "pol-018": {room: "policy"},
}

// A badInput is one case.
type badInput struct {
	ID, Surface, Why string
	Input            json.RawMessage
	Expect           struct {
		Outcome, Audit, Reason, Note string
		Exec, Code                   int
		ReplyID                      string `json:"reply_id"`
		ReplyIDRaw                   string `json:"reply_id_raw"`
	}
}

func corpus(t *testing.T) (all []badInput) {
	t.Helper()
	f, err := os.Open("testdata/bad-inputs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c badInput
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		all = append(all, c)
	}
	return all
}

// of are the cases of a surface that are run here.
func of(t *testing.T, surface string) (cases []badInput) {
	t.Helper()
	for _, c := range corpus(t) {
		if c.Surface == surface && c.listed() == "" {
			cases = append(cases, c)
		}
	}
	return cases
}

// listed is why a case is not run here, "" if it is.
func (c badInput) listed() string {
	for why, ids := range notYet {
		if slices.Contains(ids, c.ID) {
			return "not yet: " + why
		}
	}
	if p, ok := provenBy[c.ID]; ok {
		return p.room + ": " + p.test
	}
	return ""
}

// surfaces that are run here, by these tests.
var surfaces = map[string]string{"ws-in": "TestBadFrames", "child-stdout": "TestBadServerOutput", "child-proc": "TestBadServers", "cli": "TestBadCommandLines"}

func TestEveryBadInputIsAccountedFor(t *testing.T) {
	known := map[string]bool{}
	for _, c := range corpus(t) {
		known[c.ID] = true
		if why := c.listed(); why != "" || surfaces[c.Surface] != "" {
			continue
		}
		t.Errorf("%s (%s) is neither run nor listed: %s", c.ID, c.Surface, c.Why)
	}
	for why, ids := range notYet {
		for _, id := range ids {
			if !known[id] {
				t.Errorf("%s is listed (%s) and not in the corpus", id, why)
			}
		}
	}
	for id, p := range provenBy {
		p.check(t, id)
		if !known[id] {
			t.Errorf("%s is listed and not in the corpus", id)
		}
	}
	for _, cases := range []map[string]func(*testing.T, badInput){serverOutput, badServers, commandLines} {
		for id := range cases {
			if !known[id] {
				t.Errorf("there is a test for %s, which is not in the corpus", id)
			}
		}
	}
}

// The fixture of the corpus: read_file and slow may run, delete_all may not.
// write_file is what a person is asked about in cases that expect that; in the
// others it is allowed, so that what must be dropped is dropped for its own sake.
func fixture(t *testing.T, more ...string) (*stage, *sidecar) {
	t.Helper()
	rules := append([]string{"--allow", "read_*", "--allow", "slow", "--allow", "write_file", "--deny", "delete_*"}, more...)
	return perform(t, d1, launch{id: "fs-bridge", rules: rules})
}

// stand is where a case is played: where it is about a question, one is put.
func (c *badInput) stand(t *testing.T) (*stage, *sidecar) {
	t.Helper()
	if outcome, _ := c.now(); outcome != "ask" {
		return fixture(t)
	}
	p := askingFixture(t)
	return p.stage, p.s
}

// A step is one line of a case that takes several.
type step struct {
	Given     string
	Send      json.RawMessage
	Approve   string
	Wait      string
	Reconnect bool
}

// frames are what a case sends, in order; nil stands for a new connection.
func (c badInput) frames(t *testing.T) (frames []*string) {
	t.Helper()
	var text string
	if json.Unmarshal(c.Input, &text) == nil {
		return []*string{&text}
	}
	var in struct {
		B64   string
		Steps []step
		Gen   *struct {
			Nest, Repeat, Fill, At string
			Depth, Count, Bytes    int
		}
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		t.Fatal(err)
	}
	switch {
	case in.B64 != "":
		b, err := base64.StdEncoding.DecodeString(in.B64)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
		return []*string{&text}
	case in.Gen != nil:
		content := `"` + strings.Repeat(in.Gen.Fill, in.Gen.Bytes) + `"`
		switch {
		case in.Gen.Nest != "":
			content = strings.Repeat(in.Gen.Nest, in.Gen.Depth) + strings.Repeat("]", in.Gen.Depth)
		case in.Gen.Repeat != "":
			content = "[" + strings.TrimSuffix(strings.Repeat(in.Gen.Repeat, in.Gen.Count), ",") + "]"
		}
		text = d1.frame("env-1", "agent-a", "fs-bridge", "mcp/request:tools/call:write_file", "",
			call("42", "write_file", `{"path":"/tmp/x","content":`+content+`}`))
		return []*string{&text}
	}
	for _, s := range in.Steps {
		switch {
		case s.Send != nil:
			text := string(s.Send)
			frames = append(frames, &text)
		case s.Reconnect:
			frames = append(frames, nil)
		case s.Given == "" && s.Approve == "" && s.Wait == "":
			t.Fatalf("a step of %s is not understood", c.ID)
		}
	}
	return frames
}

// play sends the frames and returns what comes back: at least so many frames,
// and whatever else has come when the server has seen all of it.
func (c badInput) play(t *testing.T, g *stage, s *sidecar, atLeast int) (answers []string) {
	t.Helper()
	for _, frame := range c.frames(t) {
		if frame != nil {
			g.send(*frame)
			continue
		}
		answers = append(answers, g.settle()...)
		g.drop()
		g.accept()
		g.greet("agent-a", "agent-b", "alice", "bob", "mallory")
		s.await(`{"event":"reconnected"}`)
	}
	for len(answers) < atLeast {
		answers = append(answers, g.next())
	}
	return append(answers, g.settle()...)
}

func TestBadFrames(t *testing.T) {
	t.Parallel()
	for _, c := range of(t, "ws-in") {
		t.Run(c.ID, func(t *testing.T) {
			if c.ID == "gwy-024" {
				tokenExpires(t, c)
				return
			}
			g, s := c.stand(t)
			g.count = 1000 // envelope ids of the case are not used by probes
			outcome, exec := c.now()
			least := 0
			if outcome == "serve" {
				least = exec
			}
			c.judge(t, s, outcome, exec, c.play(t, g, s, least))
			g.request("after", "bob", call("1", "read_file", `{"path":"/a"}`)) // whatever came, the session lives
			g.expect(d1.reply("bob", "after", "tools/call", "read_file", `{"id":1,"result":"*"}`))
		})
	}
}

// now is what the case expects, where that can be said in more than one way.
func (c *badInput) now() (outcome string, exec int) {
	switch {
	case c.ID == "json-002": // "rejecting the frame is also fine", says its note
		c.Expect.Code = -32602
		return "error", 0
	case c.ID == "env-037":
		return "ask", 0 // the question about the proposal stays
	case c.ID == "env-028":
		return "serve", 1 // once, before the connection is lost
	}
	return c.Expect.Outcome, c.Expect.Exec
}

// judge holds what happened against what the case expects.
func (c badInput) judge(t *testing.T, s *sidecar, outcome string, exec int, answers []string) {
	t.Helper()
	if n := s.ran(); n > exec || outcome == "serve" && n != exec {
		t.Errorf("the server was given %d calls, expected %d\n%s", n, exec, s.about())
	}
	switch outcome {
	case "drop", "ignore":
		c.silent(t, answers)
	case "serve":
		c.served(t, answers, exec)
	case "error":
		c.refused(t, answers)
	case "reject":
		if len(answers) != 1 || (names{}).mismatch(fmt.Sprintf(`{"to":["agent-a"],"kind":"mcp/reject","correlation_id":"env-1","payload":{"reason":%q}}`, c.Expect.Reason), answers[0]) != "" {
			t.Errorf("it is not rejected: %q", answers)
		}
	case "ask":
		if len(answers) != 1 || (names{}).mismatch(`{"to":["alice"],"payload":{"method":"elicitation/create"}}`, answers[0]) != "" {
			t.Errorf("alice is not asked: %q", answers)
		}
	default:
		t.Fatalf("this outcome is not known here: %s", outcome)
	}
	if a := c.Expect.Audit; a == "withdraw_not_proposer" {
		s.await(`{"event":"security","reason":"withdraw_not_proposer"}`)
	} else if a != "" && outcome != "error" {
		s.dropped(a)
	}
}

func (c badInput) silent(t *testing.T, answers []string) {
	t.Helper()
	if len(answers) != 0 {
		t.Errorf("it was answered: %q", answers)
	}
}

func (c badInput) served(t *testing.T, answers []string, times int) {
	t.Helper()
	if len(answers) != times {
		t.Fatalf("%d answers, expected %d: %q", len(answers), times, answers)
	}
	id := `"*"`
	if c.Expect.ReplyIDRaw != "" {
		id = c.Expect.ReplyIDRaw
	}
	if c.Expect.ReplyID != "" {
		id = quoted(c.Expect.ReplyID)
	}
	for _, a := range answers {
		if why := (names{}).mismatch(`{"kind":"*","payload":{"id":`+id+`,"!error":0,"result":{"content":"*"}}}`, a); why != "" {
			t.Errorf("%s: %s", why, a)
		}
	}
}

func (c badInput) refused(t *testing.T, answers []string) {
	t.Helper()
	if len(answers) != 1 {
		t.Fatalf("%d answers, expected 1: %q", len(answers), answers)
	}
	reason := ""
	if c.Expect.Reason != "" {
		reason = fmt.Sprintf(`,"reason":%q`, c.Expect.Reason)
	}
	want := fmt.Sprintf(`{"to":["agent-a"],"correlation_id":"env-1","payload":{"!result":0,"error":{"code":%d,"message":"*","data":{"executed":"no"%s}}}}`, c.Expect.Code, reason)
	if why := (names{}).mismatch(want, answers[0]); why != "" {
		t.Errorf("%s\n%s", why, answers[0])
	}
}

// tokenExpires: the gateway takes our token no more when we come again.
func tokenExpires(t *testing.T, c badInput) {
	g, s := perform(t, d1, launch{env: map[string]string{"MCPX_AUTH_TOKEN": "TOK"}})
	g.refuse.Store(http.StatusUnauthorized)
	g.drop()
	if code := s.wait(); code != c.Expect.Code {
		t.Errorf("exit %d, want %d\n%s", code, c.Expect.Code, s.about())
	}
}

// env-003 once more, now that its tool is denied: a kind that does not name the
// tool must not be judged without it.
func TestAKindWithoutTheToolIsJudgedByTheTool(t *testing.T) {
	for _, c := range corpus(t) {
		if c.ID == "env-003" {
			g, s := fixture(t, "--deny", "write_*")
			answers := c.play(t, g, s, 0)
			c.Expect.Code = -31004
			c.refused(t, answers)
			if n := s.ran(); n != 0 {
				t.Errorf("the server was given %d calls", n)
			}
			return
		}
	}
	t.Error("env-003 is not in the corpus")
}
