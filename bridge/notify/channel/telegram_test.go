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

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A botServer is what Telegram is to a bot, as far as a bot of ours goes.
type botServer struct {
	url     string
	said    chan botCall // every method but getUpdates
	updates chan string  // each is the list that one poll gets
	offsets chan int
}

type botCall struct {
	method string
	params struct {
		Chat    any    `json:"chat_id"`
		Text    string `json:"text"`
		Message int    `json:"message_id"`
		Mode    string `json:"parse_mode"`
		Query   string `json:"callback_query_id"`
		Reply   struct {
			Message int `json:"message_id"`
		} `json:"reply_parameters"`
		Markup struct {
			Keyboard [][]struct {
				Text string
				Data string `json:"callback_data"`
			} `json:"inline_keyboard"`
		} `json:"reply_markup"`
	}
}

func newBotServer(t *testing.T, refuse func(method string) (status int, answer string)) *botServer {
	t.Helper()
	b := &botServer{said: make(chan botCall, 16), updates: make(chan string, 16), offsets: make(chan int, 16)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method, ok := strings.CutPrefix(r.URL.Path, "/bot"+secret+"/")
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if method == "getUpdates" {
			var p struct{ Offset int }
			json.Unmarshal(body, &p)
			b.offsets <- p.Offset
			select {
			case list := <-b.updates:
				fmt.Fprintf(w, `{"ok":true,"result":%s}`, list)
			case <-r.Context().Done():
			}
			return
		}
		c := botCall{method: method}
		if err := json.Unmarshal(body, &c.params); err != nil {
			t.Errorf("%s: %s: %v", method, body, err)
		}
		if refuse != nil {
			if status, answer := refuse(method); status != 0 {
				w.WriteHeader(status)
				io.WriteString(w, answer)
				return
			}
		}
		io.WriteString(w, `{"ok":true,"result":{"message_id":77}}`)
		b.said <- c
	}))
	t.Cleanup(s.Close)
	b.url = s.URL
	return b
}

func (b *botServer) open(t *testing.T, trust string) channel.Channel {
	return open(t, "telegram: -100123, token: '${SECRET}', api: '%s'%s", b.url, trust)
}

const trusted = ", trust: answers, people: {7: ann}"

func TestAChatOfTelegram(t *testing.T) {
	b := newBotServer(t, nil)
	c, n := b.open(t, ""), asked(t)
	ref, err := c.Send(t.Context(), n)
	if err != nil || ref != "77" {
		t.Fatal(ref, err)
	}
	first := <-b.said
	if first.method != "sendMessage" || first.params.Chat != "-100123" || first.params.Mode != "" || len(first.params.Markup.Keyboard) > 0 {
		t.Errorf("%+v", first)
	}
	for _, part := range []string{n.Question.Headline, `<b>x</b>`, `\u{202e}`, "at the bridge: mcpx-bridge approve"} {
		if !strings.Contains(first.params.Text, part) {
			t.Errorf("%s\nlacks %s", first.params.Text, part)
		}
	}
	reminder := *n
	reminder.Event, reminder.Ref, reminder.Buttons = "reminder", ref, true
	if again, err := c.Send(t.Context(), &reminder); err != nil || again != "" {
		t.Errorf("%q, %v", again, err)
	}
	if p := (<-b.said).params; !strings.HasPrefix(p.Text, "5m left: ") || !strings.Contains(p.Text, "above, or at the bridge: mcpx-bridge approve") || len(p.Markup.Keyboard) > 0 || p.Reply.Message != 77 {
		t.Errorf("%+v", p)
	}
	if _, err := c.Send(t.Context(), closed(n, ref)); err != nil {
		t.Fatal(err)
	}
	if last := <-b.said; last.method != "editMessageText" || last.params.Message != 77 || !strings.HasPrefix(last.params.Text, "allowed by ann: ") || len(last.params.Markup.Keyboard) > 0 {
		t.Errorf("%+v", last)
	}
}

// An answer is who pressed which button, in our chat and no other; a yes is offered where all there
// is to the question was shown.
func TestAnswersByTelegram(t *testing.T) {
	b := newBotServer(t, nil)
	c, n := b.open(t, trusted), asked(t)
	n.Buttons = true
	if _, err := c.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	row := (<-b.said).params.Markup.Keyboard[0]
	if len(row) != 2 || row[0].Text != "Allow "+n.Question.Short || row[1].Text != "Deny" || len(row[0].Data) > 64 {
		t.Fatalf("%+v", row)
	}
	press := func(id, user int, chat, data string) string {
		return fmt.Sprintf(`{"update_id":%d,"callback_query":{"id":"q%d","from":{"id":%d},"data":%q,"message":{"message_id":77,"chat":{"id":%s}}}}`, id, id, user, data, chat)
	}
	b.updates <- "[" + strings.Join([]string{
		press(5, 7, "-100999", row[0].Data), // in another chat
		press(6, 7, "-100123", "allow everything"),
		press(7, 7, "-100123", "approve "+n.Question.ID+" "+n.Question.Short),
		`{"update_id":8,"message":{"text":"allow"}}`,
		press(9, 8, "-100123", row[1].Data),
		press(10, 7, "-100123", row[0].Data),
	}, ",") + "]"
	ctx, cancel := context.WithCancel(t.Context())
	took, done := make(chan channel.Answer, 8), make(chan error, 1)
	go func() {
		done <- c.(channel.Listener).Listen(ctx, func(_ context.Context, a channel.Answer) string {
			took <- a
			return "noted"
		})
	}()
	for _, want := range []channel.Answer{{"8", n.Question.ID, n.Question.Short, false}, {"7", n.Question.ID, n.Question.Short, true}} {
		if got := <-took; got != want {
			t.Errorf("%+v, not %+v", got, want)
		}
		if told := <-b.said; told.method != "answerCallbackQuery" || told.params.Text != "noted" {
			t.Errorf("%+v", told)
		}
	}
	if first, next := <-b.offsets, <-b.offsets; first != 0 || next != 11 {
		t.Errorf("asked from %d, then from %d", first, next)
	}
	cancel()
	<-done
	if len(took) > 0 {
		t.Errorf("and %+v", <-took)
	}
}

func TestWhereNotAllIsShownNobodyCanSayYes(t *testing.T) {
	for what, hide := range map[string]func(n *channel.Notice){
		"an argument": func(n *channel.Notice) { n.Question.More = 1 },
		"the tool":    func(n *channel.Notice) { n.Question.Headline += strings.Repeat("_file", 50) },
	} {
		b := newBotServer(t, nil)
		c, n := b.open(t, trusted), asked(t)
		n.Buttons = true
		hide(n)
		if _, err := c.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if row := (<-b.said).params.Markup.Keyboard[0]; len(row) != 1 || row[0].Text != "Deny" {
			t.Errorf("without %s: %+v", what, row)
		}
	}
}

// A button that says Allow allows something: a yes that takes a passkey is none in a chat, which
// says where it is.
func TestNoChatHasAButtonForAYesThatTakesAPasskey(t *testing.T) {
	takesPasskey := func(q *approval.Question) { q.Terms.Confirm = policy.Passkey }
	n := asked(t, takesPasskey)
	n.Buttons = true
	b, s := newBotServer(t, nil), newWorkspace(t, nil)
	for _, c := range []channel.Channel{b.open(t, trusted), s.open(t)} {
		if _, err := c.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	there, here := (<-b.said).params, (<-s.said).params
	if row := there.Markup.Keyboard[0]; len(row) != 1 || row[0].Text != "Deny" || !strings.Contains(there.Text, approval.TakesPasskey) || strings.Contains(there.Text, "] here") {
		t.Errorf("%+v\n%s", row, there.Text)
	}
	if row, words := here.Blocks[2].Elements, here.Blocks[1].Text.Text; len(row) != 1 || row[0].Text.Text != "Deny" || !strings.Contains(words, approval.TakesPasskey) || strings.Contains(words, "] here") {
		t.Errorf("%+v\n%s", row, words)
	}
}

// The token is in every URL, and in no error.
func TestWhenTelegramRefuses(t *testing.T) {
	for _, c := range []struct {
		status int
		answer string
		want   string
		final  bool
		after  time.Duration
	}{
		{429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 33","parameters":{"retry_after":33}}`, "sendMessage: it answered 429 Too Many Requests", false, 33 * time.Second},
		{400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`, "sendMessage: it answered 400 Bad Request: chat not found", true, 0},
		{502, `<html>bad gateway</html>`, "it answered 502 Bad Gateway", false, 0},
		{200, `not JSON`, "sendMessage: the answer is no JSON", false, 0},
	} {
		b := newBotServer(t, func(string) (int, string) { return c.status, c.answer })
		_, err := b.open(t, "").Send(t.Context(), asked(t))
		if e, is := errors.AsType[*channel.Error](err); !is || !strings.Contains(err.Error(), c.want) || e.Final != c.final || e.After != c.after || strings.Contains(err.Error(), secret) {
			t.Errorf("%d: %v", c.status, err)
		}
	}
	gone := open(t, "telegram: 7, token: '${SECRET}', api: 'http://127.0.0.1:1'")
	if _, err := gone.Send(t.Context(), asked(t)); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
}

// An update that is none keeps no other from us, and one that comes again, be it after the way was
// lost, is no second answer.
func TestUpdatesThatAreNoneOrComeAgain(t *testing.T) {
	b := newBotServer(t, nil)
	l := b.open(t, trusted).(channel.Listener)
	press := func(id int) string {
		return fmt.Sprintf(`{"update_id":%d,"callback_query":{"id":"q","from":{"id":7},"data":"deny %032d 0badcafe","message":{"chat":{"id":-100123}}}}`, id, id)
	}
	b.updates <- `[7,null,{},{"update_id":"x"},{"update_id":3,"callback_query":"?"},{"update_id":4,"callback_query":{"from":[]}},` + press(5) + `]`
	b.updates <- `[` + press(5) + `,` + press(6) + `]`
	b.updates <- `{"no":"list"}`
	took := make(chan string, 8)
	take := func(_ context.Context, a channel.Answer) string {
		took <- a.Question
		return ""
	}
	if err := l.Listen(t.Context(), take); err == nil || !strings.Contains(err.Error(), "the answer is not what it should be") {
		t.Fatalf("%v", err)
	}
	b.updates <- `[` + press(5) + `,` + press(6) + `,` + press(7) + `]`
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Listen(ctx, take) }()
	for i, want := range []int{0, 6, 7, 7, 8} {
		if from := <-b.offsets; from != want {
			t.Errorf("poll %d is from %d, not %d", i, from, want)
		}
	}
	cancel()
	<-done
	close(took)
	var all []string
	for id := range took {
		all = append(all, strings.TrimLeft(id, "0"))
	}
	if got := strings.Join(all, " "); got != "5 6 7" {
		t.Errorf("took %s", got)
	}
}
