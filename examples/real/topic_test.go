//go:build real

package real

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// A dialect is how a participant of it joins and asks, written down here once
// more and by hand: nothing of what is tested takes part.
type dialect struct {
	protocol string
	path     string // where its gateway is, with the topic put in
	join     bool   // it speaks first
	kind     func(c call) string
}

var dialects = []dialect{
	{"mcp-x/v0", "/v0/ws?topic=%s", false, func(call) string { return "mcp" }},
	{"mcpx/v0.1", "/ws?topic=%s", false, func(c call) string {
		if c.key == "" {
			return "mcp/request:" + c.method
		}
		return "mcp/request:" + c.method + ":" + c.key
	}},
	{"mew/v0.4", "/?space=%s", true, func(call) string { return "mcp/request" }},
}

// ids are what requests are numbered with: every shape an id may have.
var ids = []string{`7`, `"7"`, `0`, `-1`, `9007199254740993`, `"ä \" b"`, `1.0`, `""`}

// A frame is as much of an envelope as the tests look at.
type frame struct {
	ID, From, Kind string
	To             []string
	Corr           json.RawMessage `json:"correlation_id"`
	Payload        json.RawMessage
}

// seat takes a seat in a topic for "caller".
func seat(t *testing.T, s *stage.Stage, gateway, topic string, d dialect) *websocket.Conn {
	t.Helper()
	out, err := s.Run(stage.Bridge, "token", "--topic", topic, "--id", "caller")
	if err != nil || out.Exit != 0 {
		t.Fatalf("token: %v %s", err, out.Stderr)
	}
	token := strings.TrimSpace(out.Stdout)
	conn, _, err := websocket.DefaultDialer.Dial(gateway+fmt.Sprintf(d.path, topic), http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	if d.join {
		put(t, conn, fmt.Sprintf(`{"type":"join","kind":"system/join","id":"join-1","participantId":"caller","space":%q,"token":%q}`, topic, token))
	}
	for {
		if f := next(t, conn); strings.HasPrefix(f.Kind, "system") && strings.Contains(string(f.Payload), "participants") {
			return conn
		}
	}
}

func put(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, conn *websocket.Conn) (f frame) {
	t.Helper()
	_, text, err := conn.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return f
}

// compare asks everything in a script through the topic and compares.
func (d dialect) compare(t *testing.T, conn *websocket.Conn, script []call, want []answer) {
	// An envelope id is used once in the world: a bridge remembers those it has
	// seen over its own restarts.
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	for i, c := range script {
		id := ids[i%len(ids)]
		env := fmt.Sprintf("call-%s-%d", run, i)
		put(t, conn, fmt.Sprintf(`{"protocol":%q,"id":%q,"ts":"2026-01-01T00:00:00Z","from":"caller","to":["server"],"kind":%q,"payload":{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}}`,
			d.protocol, env, d.kind(c), id, c.method, c.params))
		got, progress := d.await(t, conn, env, c.token)
		if strings.Count(want[i].line, `"id":`+want[i].id) != 1 {
			t.Fatalf("the direct answer has no id to map: %s", want[i].line)
		}
		mapped := strings.Replace(want[i].line, `"id":`+want[i].id, `"id":`+id, 1)
		if got != mapped {
			t.Errorf("%s %s, id %s\n   got %s\n  want %s", c.method, c.key, id, clip(got), clip(mapped))
		}
		if strings.Join(progress, "\n") != strings.Join(want[i].progress, "\n") {
			t.Errorf("%s: progress\n   got %s\n  want %s", c.key, progress, want[i].progress)
		}
		if c.token != "" && len(progress) == 0 {
			t.Errorf("%s: no progress at all", c.key)
		}
	}
}

// await reads to the answer to an envelope of ours, which must be to us alone.
func (d dialect) await(t *testing.T, conn *websocket.Conn, env, token string) (payload string, progress []string) {
	t.Helper()
	for {
		f := next(t, conn)
		if f.From != "server" {
			continue
		}
		if strings.Trim(string(f.Corr), `[]"`) == env {
			if len(f.To) != 1 || f.To[0] != "caller" {
				t.Errorf("the answer is addressed to %q", f.To)
			}
			return string(f.Payload), progress
		}
		if m := parse(t, string(f.Payload)); m.Method == "notifications/progress" && token != "" && string(m.Params.Token) == token {
			progress = append(progress, string(f.Payload))
		}
	}
}

// clip cuts what would fill the screen.
func clip(s string) string {
	if len(s) > 600 {
		return fmt.Sprintf("%s … (%d bytes)", s[:600], len(s))
	}
	return s
}
