package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/notifytest"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// chats are Slack and Telegram with bridges that have one bot or app.
type chats struct {
	*notifytest.Chats
	told chan string // whoever has pressed
}

const overtaken = `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`

func newChats(t *testing.T) *chats {
	told := make(chan string, 8)
	return &chats{notifytest.New(t, func(method string, params []byte) {
		if method == "answerCallbackQuery" || method == "chat.postEphemeral" {
			told <- string(params)
		}
	}), told}
}

// asks is a bridge that tells of its questions there, and takes the answers.
func (c *chats) asks(t *testing.T, bridge, channel string) (h *inboxtest.Hall, said log) {
	t.Helper()
	h = inboxtest.New(bridge)
	p, err := policy.Load("p", fmt.Appendf(nil, "version: 1\ndefault: ask\nnotify: {x: {%s, api: '%s/%s', trust: answers, people: {7: ann}, for: local}}\n", channel, c.URL, bridge))
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
		(<-c.Polls).Drop()
		if line := <-said; !strings.Contains(line, "answers by the channel x (notify) do not come") {
			t.Errorf("said %s", line)
		}
		(<-c.Polls).Answer(200, press)
		<-c.told
		allowed(t, h, id)
		other := h.Ask(inboxtest.Write(`{"path":"/b"}`))
		(<-c.Polls).Answer(200, press) // which it did not see us acknowledge
		(<-c.Polls).Answer(200, update(6, yes(h, other)))
		<-c.told
		allowed(t, h, other)
	})
	t.Run("slack", func(t *testing.T) {
		t.Parallel()
		c := newChats(t)
		h, said := c.asks(t, "fs", slack)
		id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
		(<-c.Sockets).Close()
		if line := <-said; !strings.Contains(line, "answers by the channel x (notify) do not come") {
			t.Errorf("said %s", line)
		}
		conn := <-c.Sockets
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
	mine := <-c.Polls
	b, _ := c.asks(t, "b", telegram)
	other := b.Ask(inboxtest.Write(`{"path":"/a"}`))
	theirs := <-c.Polls
	mine.Answer(http.StatusConflict, overtaken)
	if line := <-said; !strings.Contains(line, "each bridge needs a bot of its own") || !strings.Contains(line, "409") {
		t.Errorf("said %s", line)
	}
	theirs.Answer(200, update(5, yes(a, id)))
	var told struct{ Text string }
	if err := json.Unmarshal([]byte(<-c.told), &told); err != nil || !strings.Contains(told.Text, "does not count") || !strings.Contains(told.Text, "another bridge") {
		t.Errorf("told %q, %v", told.Text, err)
	}
	for got := 0; got < 2; {
		switch p := <-c.Polls; {
		case strings.HasPrefix(p.Path, "/b/"):
			p.Answer(200, `{"ok":true,"result":[]}`)
		case got == 0:
			p.Answer(http.StatusConflict, overtaken)
			got++
		default:
			p.Answer(200, update(6, yes(a, id)))
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
