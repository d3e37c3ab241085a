package channel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
)

// A workspace is what Slack is to an app, as far as ours goes.
type workspace struct {
	url     string
	said    chan slackCall
	sockets chan *websocket.Conn
}

type slackCall struct {
	method, token string
	params        struct {
		Channel, Text, TS, User string
		Blocks                  []struct {
			Type     string
			Text     struct{ Type, Text string }
			Expand   bool
			Elements []struct {
				Text  struct{ Text string }
				Value string
			}
		}
	}
}

func newWorkspace(t *testing.T, answer func(method string, w http.ResponseWriter) bool) *workspace {
	t.Helper()
	s := &workspace{said: make(chan slackCall, 16), sockets: make(chan *websocket.Conn, 4)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/link" {
			conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			s.sockets <- conn
			return
		}
		body, _ := io.ReadAll(r.Body)
		c := slackCall{method: strings.TrimPrefix(r.URL.Path, "/api/"), token: r.Header.Get("Authorization")}
		if err := json.Unmarshal(body, &c.params); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		switch {
		case answer != nil && answer(c.method, w):
			return
		case c.method == "apps.connections.open":
			fmt.Fprintf(w, `{"ok":true,"url":"ws%s/link"}`, strings.TrimPrefix(s.url, "http"))
		default:
			io.WriteString(w, `{"ok":true,"channel":"C01","ts":"1700.5"}`)
		}
		s.said <- c
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *workspace) open(t *testing.T) channel.Channel {
	return open(t, "slack: C01, token: '${SECRET}', app_token: '${SECRET}', trust: answers, people: {U1: ann}, api: '%s/api'", s.url)
}

func TestAChannelOfSlack(t *testing.T) {
	s := newWorkspace(t, nil)
	c, n := s.open(t), asked(t)
	n.Buttons = true
	ref, err := c.Send(t.Context(), n)
	if err != nil || ref != "1700.5" {
		t.Fatal(ref, err)
	}
	first := <-s.said
	if p := first.params; first.method != "chat.postMessage" || first.token != "Bearer "+secret || p.Channel != "C01" || strings.Contains(p.Text, "agent-a") || len(p.Blocks) != 3 {
		t.Fatalf("%+v", first)
	}
	for i, part := range []string{"agent-a requests permission", "<!channel> *bold*"} {
		if b := first.params.Blocks[i]; b.Text.Type != "plain_text" || !b.Expand || !strings.Contains(b.Text.Text, part) {
			t.Errorf("%+v", b)
		}
	}
	if e := first.params.Blocks[2].Elements; len(e) != 2 || e[0].Text.Text != "Allow "+n.Question.Short {
		t.Errorf("%+v", e)
	}
	if _, err := c.Send(t.Context(), closed(n, ref)); err != nil {
		t.Fatal(err)
	}
	if last := <-s.said; last.method != "chat.update" || last.params.TS != ref || len(last.params.Blocks) != 2 || !strings.HasPrefix(last.params.Blocks[0].Text.Text, "allowed by ann: ") {
		t.Errorf("%+v", last)
	}
}

// Each message of the socket is acknowledged, and a press in our channel is an answer.
func TestAnswersBySlack(t *testing.T) {
	s := newWorkspace(t, nil)
	c, n := s.open(t), asked(t)
	took, done := make(chan channel.Answer, 8), make(chan error, 1)
	go func() {
		done <- c.(channel.Listener).Listen(t.Context(), func(_ context.Context, a channel.Answer) string {
			took <- a
			return "noted"
		})
	}()
	if call := <-s.said; call.method != "apps.connections.open" {
		t.Errorf("%+v", call)
	}
	conn := <-s.sockets
	defer conn.Close()
	says := func(format string, a ...any) {
		if err := conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, a...)); err != nil {
			t.Fatal(err)
		}
	}
	press := func(envelope, user, in, value string) {
		says(`{"envelope_id":%q,"type":"interactive","accepts_response_payload":false,"payload":{"type":"block_actions","user":{"id":%q},"channel":{"id":%q},"actions":[{"action_id":"Allo","value":%q}]}}`, envelope, user, in, value)
		var ack map[string]string
		if err := conn.ReadJSON(&ack); err != nil || ack["envelope_id"] != envelope {
			t.Fatalf("%v, %v", ack, err)
		}
	}
	says(`{"type":"hello","num_connections":1}`)
	press("e1", "U1", "C99", "allow "+n.Question.ID+" "+n.Question.Short) // in another channel
	press("e2", "U1", "C01", "allow everything")
	press("e3", "U2", "C01", "allow "+n.Question.ID+" "+n.Question.Short)
	if got, want := <-took, (channel.Answer{"U2", n.Question.ID, n.Question.Short, true}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if told := <-s.said; told.method != "chat.postEphemeral" || told.params.User != "U2" || told.params.Blocks[0].Text.Text != "noted" {
		t.Errorf("%+v", told)
	}
	says(`{"type":"disconnect","reason":"refresh_requested"}`)
	if err := <-done; err != nil || len(took) > 0 {
		t.Errorf("%v, and %d more", err, len(took))
	}
}

// Whoever presses is told that it has come, whether or not the answer before it is still waited for.
func TestAPressWasAcknowledgedAfterTheOneBeforeItWasTaken(t *testing.T) {
	s := newWorkspace(t, nil)
	taking, taken, done := make(chan string), make(chan bool), make(chan error, 1)
	go func() {
		done <- s.open(t).(channel.Listener).Listen(t.Context(), func(_ context.Context, a channel.Answer) string {
			taking <- a.Question
			<-taken
			return "noted"
		})
	}()
	conn := <-s.sockets
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	for _, id := range []string{"q1", "q2"} {
		if err := conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"envelope_id":%q,"type":"interactive","payload":{"type":"block_actions","user":{"id":"U2"},"channel":{"id":"C01"},"actions":[{"value":"deny %s 0badcafe"}]}}`, id, id)); err != nil {
			t.Fatal(err)
		}
		var ack map[string]string
		if err := conn.ReadJSON(&ack); err != nil || ack["envelope_id"] != id {
			t.Errorf("%v, %v", ack, err)
		}
		if id == "q1" && <-taking != "q1" {
			t.Error("another was taken first")
		}
	}
	conn.Close() // what was acknowledged is taken all the same
	taken <- true
	if got := <-taking; got != "q2" {
		t.Errorf("then %s", got)
	}
	close(taken)
	if err := <-done; err == nil {
		t.Error("it was lost, and nobody said so")
	}
}

func TestASocketThatIsLost(t *testing.T) {
	s := newWorkspace(t, nil)
	for name, lose := range map[string]func(*websocket.Conn){
		"closed":  func(c *websocket.Conn) { c.Close() },
		"rubbish": func(c *websocket.Conn) { c.WriteMessage(websocket.TextMessage, []byte("{")); c.Close() },
	} {
		done := make(chan error, 1)
		go func() { done <- s.open(t).(channel.Listener).Listen(t.Context(), nil) }()
		lose(<-s.sockets)
		if err := <-done; err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.open(t).(channel.Listener).Listen(ctx, nil) }()
	conn := <-s.sockets
	defer conn.Close()
	cancel()
	<-done
}

// Nobody opens a socket in clear text elsewhere, whatever the answer says.
func TestASocketElsewhereIsNotOpened(t *testing.T) {
	s := newWorkspace(t, func(method string, w http.ResponseWriter) bool {
		io.WriteString(w, `{"ok":true,"url":"ws://evil.example/link"}`)
		return true
	})
	if err := s.open(t).(channel.Listener).Listen(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no place that can be used") {
		t.Errorf("%v", err)
	}
}

func TestWhenSlackRefuses(t *testing.T) {
	for _, c := range []struct {
		answer func(w http.ResponseWriter)
		want   string
		final  bool
		after  time.Duration
	}{
		{func(w http.ResponseWriter) { w.Header().Set("Retry-After", "9"); w.WriteHeader(429) }, "it answered 429", false, 9 * time.Second},
		{func(w http.ResponseWriter) { io.WriteString(w, `{"ok":false,"error":"ratelimited"}`) }, "chat.postMessage: it answered ratelimited", false, 0},
		{func(w http.ResponseWriter) { io.WriteString(w, `{"ok":false,"error":"channel_not_found"}`) }, "chat.postMessage: it answered channel_not_found", true, 0},
		{func(w http.ResponseWriter) { io.WriteString(w, `<html>`) }, "the answer is no JSON", false, 0},
	} {
		s := newWorkspace(t, func(_ string, w http.ResponseWriter) bool { c.answer(w); return true })
		_, err := s.open(t).Send(t.Context(), asked(t))
		if e, is := errors.AsType[*channel.Error](err); !is || !strings.Contains(err.Error(), c.want) || e.Final != c.final || e.After != c.after || strings.Contains(err.Error(), secret) {
			t.Errorf("%v", err)
		}
	}
}
