package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A chats is what Slack or Telegram is to bridges with one bot or app.
type chats struct {
	url     string
	polls   chan poll // of Telegram
	sockets chan *websocket.Conn
	told    chan string // whoever has pressed
}

// A poll is a bridge that waits for something to happen.
type poll struct {
	bridge string
	answer func(status int, body string)
	drop   func() // the connection
}

const overtaken = `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`

func newChats(t *testing.T) *chats {
	c := &chats{polls: make(chan poll), sockets: make(chan *websocket.Conn), told: make(chan string, 8)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		path := strings.Split(r.URL.Path, "/")
		switch path[len(path)-1] {
		case "getUpdates":
			done := make(chan struct{})
			one := poll{path[1], func(status int, body string) {
				w.WriteHeader(status)
				io.WriteString(w, body)
				close(done)
			}, func() {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				conn.Close()
				close(done)
			}}
			select {
			case c.polls <- one:
				select {
				case <-done:
				case <-r.Context().Done():
				}
			case <-r.Context().Done():
			}
		case "apps.connections.open":
			fmt.Fprintf(w, `{"ok":true,"url":"ws%s/socket"}`, strings.TrimPrefix(c.url, "http"))
		case "socket":
			conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			c.sockets <- conn
		case "answerCallbackQuery", "chat.postEphemeral":
			c.told <- string(body)
			fallthrough
		default:
			io.WriteString(w, `{"ok":true,"ts":"1.5","result":{"message_id":77}}`)
		}
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// asks is a bridge that tells of its questions there, and takes the answers.
func (c *chats) asks(t *testing.T, bridge, channel string) (h *inboxtest.Hall, said log) {
	t.Helper()
	h = inboxtest.New(bridge)
	p, err := policy.Load("p", fmt.Appendf(nil, "version: 1\ndefault: ask\nnotify: {x: {%s, api: '%s/%s', trust: answers, people: {7: ann}, for: local}}\n", channel, c.url, bridge))
	if err != nil {
		t.Fatal(err)
	}
	return h, notifies(t, h, notify.Options{Channels: p.Channels(), Seat: func(context.Context, string) (inbox.Inbox, error) { return h, nil }})
}

const (
	telegram = "telegram: 5, token: '${T}'"
	slack    = "slack: C1, token: '${T}', app_token: '${T}'"
)

// yes is a press of Allow, as a button has it.
func yes(h *inboxtest.Hall, id string) string {
	v, _ := h.Question(id)
	return "allow " + id + " " + v.Short
}

func update(n int, data string) string {
	return fmt.Sprintf(`{"ok":true,"result":[{"update_id":%d,"callback_query":{"id":"q","from":{"id":7},"data":%q,"message":{"chat":{"id":5}}}}]}`, n, data)
}

// allowed waits until a question is agreed to, and sees that no other end has come.
func allowed(t *testing.T, h *inboxtest.Hall, id string) {
	t.Helper()
	if s := h.Next(t); s.ID != id || s.Outcome != approval.Allowed {
		t.Errorf("%+v", s)
	}
	if n := len(h.Settled); n > 0 {
		t.Errorf("and %d more", n)
	}
}

// Whatever becomes of the way by which answers come, one that is given afterwards counts, and counts once.
func TestAnAnswerAfterTheWayWasLostCountsOnce(t *testing.T) {
	t.Run("telegram", func(t *testing.T) {
		t.Parallel()
		c := newChats(t)
		h, said := c.asks(t, "fs", telegram)
		id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
		press := update(5, yes(h, id))
		(<-c.polls).drop()
		if line := <-said; !strings.Contains(line, "answers by the channel x (notify) do not come") {
			t.Errorf("said %s", line)
		}
		(<-c.polls).answer(200, press)
		<-c.told
		allowed(t, h, id)
		other := h.Ask(inboxtest.Write(`{"path":"/b"}`))
		(<-c.polls).answer(200, press) // which it did not see us acknowledge
		(<-c.polls).answer(200, update(6, yes(h, other)))
		<-c.told
		allowed(t, h, other)
	})
	t.Run("slack", func(t *testing.T) {
		t.Parallel()
		c := newChats(t)
		h, said := c.asks(t, "fs", slack)
		id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
		(<-c.sockets).Close()
		if line := <-said; !strings.Contains(line, "answers by the channel x (notify) do not come") {
			t.Errorf("said %s", line)
		}
		conn := <-c.sockets
		defer conn.Close()
		press := map[string]any{"type": "interactive", "envelope_id": "e", "payload": map[string]any{"type": "block_actions",
			"user": map[string]any{"id": "7"}, "channel": map[string]any{"id": "C1"}, "actions": []any{map[string]any{"value": yes(h, id)}}}}
		for _, want := range []string{"allowed", "does not count"} { // the second as Slack did not see us acknowledge the first
			if err := conn.WriteJSON(press); err != nil {
				t.Fatal(err)
			}
			var ack map[string]string
			if err := conn.ReadJSON(&ack); err != nil || ack["envelope_id"] != "e" {
				t.Fatalf("%v: %v", ack, err)
			}
			if told := <-c.told; !strings.Contains(told, want) {
				t.Errorf("told %s", told)
			}
		}
		allowed(t, h, id)
	})
}

// Two bridges with one bot take each other's answers away: no answer counts for another question,
// whoever gave it hears that it did not count, and the log says once what to do.
func TestTwoBridgesWithOneBot(t *testing.T) {
	t.Parallel()
	c := newChats(t)
	a, said := c.asks(t, "a", telegram)
	id := a.Ask(inboxtest.Write(`{"path":"/a"}`))
	mine := <-c.polls
	b, _ := c.asks(t, "b", telegram)
	other := b.Ask(inboxtest.Write(`{"path":"/a"}`))
	theirs := <-c.polls
	mine.answer(http.StatusConflict, overtaken)
	if line := <-said; !strings.Contains(line, "each bridge needs a bot of its own") || !strings.Contains(line, "409") {
		t.Errorf("said %s", line)
	}
	theirs.answer(200, update(5, yes(a, id)))
	var told struct{ Text string }
	if err := json.Unmarshal([]byte(<-c.told), &told); err != nil || !strings.Contains(told.Text, "does not count") || !strings.Contains(told.Text, "another bridge") {
		t.Errorf("told %q, %v", told.Text, err)
	}
	for got := 0; got < 2; {
		switch p := <-c.polls; {
		case p.bridge == "b":
			p.answer(200, `{"ok":true,"result":[]}`)
		case got == 0:
			p.answer(http.StatusConflict, overtaken)
			got++
		default:
			p.answer(200, update(6, yes(a, id)))
			got++
		}
	}
	allowed(t, a, id)
	if _, open := b.Question(other); !open || len(b.Settled) > 0 {
		t.Error("the question of the other bridge is closed")
	}
	if len(said) > 0 {
		t.Errorf("said once more: %s", <-said)
	}
}
