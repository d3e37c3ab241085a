package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/notifytest"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A chat is Telegram with a bot: it has the buttons that were sent, and presses them.
type chat struct {
	*notifytest.Chats
	buttons chan [][]pressable // of each message
	told    chan string        // what a press was answered with, and that a message was changed
	pressed int
}

type pressable struct {
	Text string
	Data string `json:"callback_data"`
}

func newChat(t *testing.T) *chat {
	c := &chat{buttons: make(chan [][]pressable, 16), told: make(chan string, 16)}
	c.Chats = notifytest.New(t, func(method string, params []byte) {
		var p struct {
			Text   string
			Markup struct {
				Rows [][]pressable `json:"inline_keyboard"`
			} `json:"reply_markup"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			t.Errorf("%s: %v", params, err)
		}
		if method == "sendMessage" {
			c.buttons <- p.Markup.Rows
		} else {
			c.told <- method + ": " + p.Text
		}
	})
	return c
}

// press presses a button that has some data.
func (c *chat) press(who, data string) {
	c.pressed++
	press := fmt.Sprintf(`{"ok":true,"result":[{"update_id":%d,"callback_query":{"id":"q","from":{"id":%s},"data":%q,"message":{"message_id":77,"chat":{"id":-100}}}}]}`, c.pressed, who, data)
	for !(<-c.Polls).Answer(http.StatusOK, press) {
	}
}

// awaits waits for something that the chat is told.
func (c *chat) awaits(t *testing.T, part string) {
	t.Helper()
	if said := <-c.told; !strings.Contains(said, part) {
		t.Errorf("the chat is told %q, not %q", said, part)
	}
}

// An answer by a channel is that of the participant whom the policy names, over a seat of its own:
// never of the person at the machine, of whoever else presses, or of the caller.
func TestAnAnswerByAChannelIsThatOfTheParticipantItIsMappedTo(t *testing.T) {
	t.Setenv("TELEGRAM_TOKEN", "T0KEN")
	c, dir := newChat(t), t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	rules := "version: 1\ndefault: ask\nasks: {default: {of: [ann, bob], within: 60s}}\nnotify:\n  ann: {telegram: -100, token: '${TELEGRAM_TOKEN}', api: '" + c.URL + "', trust: answers, people: {7: ann, 8: bob}, for: [ann, bob]}\n"
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	home := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state")}
	s := launch{raw: true, env: home, flags: []string{"run", "--json", "--listen", "127.0.0.1:0", "--id", "fs", "--policy", file, "--"},
		server: stdiotest.Command(t, stdiotest.Script{Record: filepath.Join(dir, "given")})}.start(t, "")
	s.ready()
	for range 2 { // ann and bob, in whichever order
		s.await(`{"event":"peer","state":"joined"}`)
	}

	asks := func(as, path string) *sidecar {
		return launch{raw: true, env: home, flags: []string{"call", "--id", as, "fs", "write_file", "path=" + path, "text=x"}}.start(t, "")
	}
	call := asks("carol", "/a")
	s.await(`{"event":"asked","from":"carol"}`)
	row := (<-c.buttons)[0]
	if len(row) != 2 {
		t.Fatalf("%+v", row)
	}
	allow, deny := row[0].Data, row[1].Data
	c.press("9", allow) // somebody else in the chat
	c.awaits(t, "answerCallbackQuery: your answer does not count: the policy of the bridge does not name you")
	c.press("7", allow[:len(allow)-8]+"00000000") // of another question
	c.awaits(t, "answerCallbackQuery: your answer does not count: the question is closed, or is not put to you")
	c.press("7", allow)
	s.await(`{"event":"decided","verdict":"allow","by":["ann"]}`)
	if code := <-call.exit; code != 0 {
		t.Errorf("the call ended with %d: %s", code, call.about())
	}
	call.exit <- 0
	for range 2 { // in whichever order
		if said := <-c.told; !strings.Contains(said, "your answer is sent") && !strings.Contains(said, "editMessageText: allowed by ann: ") {
			t.Errorf("the chat is told %q", said)
		}
	}
	c.press("8", deny) // late
	c.awaits(t, "answerCallbackQuery: your answer does not count: this bridge asks no such question: it is closed, or is of another bridge, which needs a bot of its own")

	no := asks("carol", "/b")
	s.await(`{"event":"asked","from":"carol"}`)
	row = (<-c.buttons)[0]
	c.press("8", row[1].Data)
	s.await(`{"event":"decided","verdict":"deny","by":["bob"]}`)
	if code := <-no.exit; code != 8 {
		t.Errorf("the call ended with %d: %s", code, no.about())
	}
	no.exit <- 8
}

// At a gateway that is another's the bridge has no token but its own, and takes nobody's seat with it.
func TestAtAnothersGatewayNobodysSeatIsTaken(t *testing.T) {
	t.Setenv("TELEGRAM_TOKEN", "T0KEN")
	file := filepath.Join(t.TempDir(), "policy.yaml")
	rules := "version: 1\ndefault: ask\nasks: {default: {of: [ann], within: 60s}}\nnotify:\n  ann: {telegram: -100, token: '${TELEGRAM_TOKEN}', api: '" + newChat(t).URL + "', trust: answers, people: {7: ann}}\n"
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	g := openStage(t, d1)
	s := launch{rules: []string{"--policy", file}}.start(t, g.url)
	g.side = s
	g.accept()
	g.greet("bob")
	s.ready()
	for n := 0; !strings.Contains(s.stderr.text(), "answers of ann by a channel do not count now"); n++ {
		if n > 20 {
			t.Fatalf("nothing says so: %s", s.stderr.text())
		}
		s.stderr.wait(time.Second) // for a line; one may have come before we waited
	}
	if said := s.stderr.text(); !strings.Contains(said, "at this machine's own gateway only") {
		t.Errorf("it says %s", said)
	}
}

// Who is asked before the person at the machine, or comes while the question is open, is told of it
// then: their channel heard nothing until something else became of the question.
func TestAChannelHearsOfAQuestionWhenItIsPutToThoseItIsFor(t *testing.T) {
	for name, c := range map[string]struct {
		asks  string
		later bool
	}{
		"asked before us": {"of: [alice, local], mode: sequential", false},
		"comes later":     {"of: [local, dora]", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TELEGRAM_TOKEN", "T0KEN")
			chat := newChat(t)
			at := "telegram: -100, token: '${TELEGRAM_TOKEN}', api: '" + chat.URL + "'"
			g, _ := perform(t, d1, ruled(t, "version: 1\ndefault: ask\nasks: {default: {"+c.asks+", within: 10m}}\nnotify: {us: {"+at+", for: local}, them: {"+at+", for: [alice, dora]}}\n"))
			hears := func(who string) {
				t.Helper()
				select {
				case <-chat.buttons:
				case <-time.After(patience):
					t.Fatalf("%s hears nothing", who)
				}
			}
			g.request("e1", "carol", call("1", "write_file", writeArguments))
			if c.later {
				hears("we")
				g.send(g.d.presence("dora-comes", "join", "dora"))
			}
			hears("they")
		})
	}
}
