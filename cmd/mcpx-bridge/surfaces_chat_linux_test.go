package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/notifytest"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A chatroom is Slack or Telegram: what the bot posts is in a diary, and people press its buttons.
type chatroom struct {
	*testing.T
	*notifytest.Chats
	posts   *diary
	waits   *notifytest.Poll // of Telegram: a poll that came, and was not answered
	socket  *websocket.Conn
	pressed int
}

// openChat is the chat server that a policy names, in which alice is who its notify says.
func openChat(s *site) *chatroom {
	c := &chatroom{T: s.root, posts: newDiary()}
	c.Chats = notifytest.New(s.root, func(method string, params []byte) {
		fmt.Fprintf(c.posts, `{"method":%q,"params":%s}`+"\n", method, bytes.TrimSpace(params))
	})
	return c
}

// shown waits until a question is put there, and returns all that one reads of it, and the data of
// its buttons.
func (c *chatroom) shown(a asked) (words string, buttons map[string]string) {
	c.Helper()
	for n := 0; ; {
		for _, post := range c.posts.after(&n) {
			var m any
			if err := json.Unmarshal([]byte(post), &m); err != nil {
				c.Fatalf("%v in %s", err, post)
			}
			all, buttons := stringsIn(m), map[string]string{}
			for _, s := range all {
				if word, of, _ := strings.Cut(s, " "); (word == "allow" || word == "deny") && strings.HasPrefix(of, a.id) {
					buttons[word] = s
				}
			}
			if len(buttons) > 0 {
				return strings.Join(all, "\n"), buttons
			}
		}
		if !c.posts.wait(patience) && !strings.Contains(c.posts.text(), a.id) {
			c.Fatalf("%v is not put in the chat: %s", a, tail(c.posts.text()))
		}
	}
}

// stringsIn are all strings in a JSON value.
func stringsIn(m any) (all []string) {
	switch m := m.(type) {
	case string:
		return []string{m}
	case []any:
		for _, v := range m {
			all = append(all, stringsIn(v)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(m)) {
			all = append(all, stringsIn(m[name])...)
		}
	}
	return all
}

// told is what the bot has said to who pressed, since so many posts.
func (c *chatroom) told(since int) string {
	return strings.Join(slices.DeleteFunc(c.posts.after(&since), func(post string) bool {
		return !strings.Contains(post, `"method":"answerCallbackQuery"`) && !strings.Contains(post, `"method":"chat.postEphemeral"`)
	}), "\n")
}

// updated is what happens in a chat of Telegram, and what it tells whoever did it.
func (c *chatroom) updated(what string) string {
	c.Helper()
	c.pressed++
	since := c.posts.length()
	for !c.poll().Answer(http.StatusOK, fmt.Sprintf(`{"ok":true,"result":[{"update_id":%d,%s}]}`, c.pressed, what)) {
	}
	for c.waits == nil { // until it wants the next
		p := c.poll()
		if (names{}).mismatch(fmt.Sprintf(`{"offset":%d}`, c.pressed+1), string(p.Params)) == "" {
			c.waits = p
		}
	}
	return c.told(since)
}

// poll is the next poll that was not answered.
func (c *chatroom) poll() (p *notifytest.Poll) {
	c.Helper()
	if p, c.waits = c.waits, nil; p != nil {
		return p
	}
	select {
	case p = <-c.Polls:
	case <-time.After(patience):
		c.Fatal("the next poll does not come")
	}
	return p
}

func (c *chatroom) pressTelegram(who, where, data string) string {
	c.Helper()
	return c.updated(fmt.Sprintf(`"callback_query":{"id":"q","from":{"id":%s},"data":%q,"message":{"chat":{"id":%s}}}`, who, data, where))
}

// sent is what happens in a channel of Slack. Our app acknowledges each message when it has done
// with those before.
func (c *chatroom) sent(what string) string {
	c.Helper()
	since := c.posts.length()
	for _, message := range []string{what, `"type":"events_api","payload":{}`} {
		c.pressed++
		if err := c.socket.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"envelope_id":"e%d",%s}`, c.pressed, message)); err != nil {
			c.Fatal(err)
		}
		var ack map[string]string
		if err := c.socket.ReadJSON(&ack); err != nil || ack["envelope_id"] != fmt.Sprint("e", c.pressed) {
			c.Fatalf("%v: %v", ack, err)
		}
	}
	return c.told(since)
}

func (c *chatroom) pressSlack(who, where, data string) string {
	c.Helper()
	return c.sent(fmt.Sprintf(`"type":"interactive","payload":{"type":"block_actions","user":{"id":%q},"channel":{"id":%q},"actions":[{"action_id":"Allo","value":%q}]}`, who, where, data))
}

// A chatKind is how a chat is named in a policy, and used by people.
type chatKind struct {
	rules                    string // URL and SECRET are put in
	alice, other, here, away string
	press                    func(c *chatroom, who, where, data string) string
	says                     func(c *chatroom, text string)
}

var telegramChat = chatKind{
	rules: "notify:\n  chat: {telegram: -100123, token: 'file:SECRET', api: 'URL', trust: answers, people: {7: alice}}\n",
	alice: "7", other: "8", here: "-100123", away: "-100999", press: (*chatroom).pressTelegram,
	says: func(c *chatroom, text string) {
		c.updated(fmt.Sprintf(`"message":{"from":{"id":7},"chat":{"id":-100123},"text":%q}`, text))
	},
}

var slackChat = chatKind{
	rules: "notify:\n  chat: {slack: C01, token: 'file:SECRET', app_token: 'file:SECRET', api: 'URL', trust: answers, people: {U1: alice}}\n",
	alice: "U1", other: "U2", here: "C01", away: "C99", press: (*chatroom).pressSlack,
	says: func(c *chatroom, text string) {
		c.sent(fmt.Sprintf(`"type":"slash_commands","payload":{"type":"message","user":{"id":"U1"},"channel":{"id":"C01"},"text":%q}`, text))
	},
}

// withChat is a bridge whose policy has a chat. The gateway is this machine's own, where it takes a
// seat for alice.
func withChat(k chatKind) func(*site, launch) *sidecar {
	return func(s *site, l launch) *sidecar {
		s.chat = openChat(s)
		s.keep(filepath.Join(s.home, "token"), "s3cret")
		rules, err := os.ReadFile(s.rules)
		if err != nil {
			s.Fatal(err)
		}
		s.keep(s.rules, string(rules)+strings.NewReplacer("URL", s.chat.URL, "SECRET", filepath.Join(s.home, "token")).Replace(k.rules))
		if err := os.Mkdir(filepath.Join(s.home, "mcpx-bridge"), 0o700); err != nil {
			s.Fatal(err)
		}
		s.keep(filepath.Join(s.home, "mcpx-bridge", "secret"), hex.EncodeToString(siteSecret))
		delete(l.env, "MCPX_AUTH_TOKEN")
		l.script.Record = filepath.Join(s.home, "given")
		l.raw, l.flags = true, slices.Concat([]string{"run", "--json", "--listen", "127.0.0.1:0", "--topic", "t1", "--id", "fs"}, l.flags, l.rules, []string{"--"})
		l.server = stdiotest.Command(s.root, l.script)
		b := l.start(s.root, "")
		b.record = l.script.Record
		s.url = b.ready()["gateway"].(string)
		b.events.back(0)
		return b
	}
}

// inChat is somebody with a phone.
func inChat(k chatKind) func(*site) hand {
	return func(s *site) hand {
		s.bridge.await(`{"event":"peer","id":"alice","state":"joined"}`)
		c := s.chat
		if strings.Contains(k.rules, "slack") {
			c.socket = <-c.Sockets
			s.root.Cleanup(func() { c.socket.Close() })
		}
		buttons := map[string]map[string]string{}
		press := func(data string) string { return k.press(c, k.alice, k.here, data) }
		return hand{
			sees: func(a asked) string {
				words, these := c.shown(a)
				buttons[a.id] = these
				return words
			},
			says: func(a asked, yes bool) string {
				return press(buttons[a.id][map[bool]string{true: "allow", false: "deny"}[yes]])
			},
			wrongly:  func(a asked) string { return press("allow " + a.id + " 00000000") },
			garbles:  func(a asked) string { return press("Allow " + a.id + " " + a.short) },
			strays:   func(a asked) string { return press("allow " + strings.Repeat("0", 32) + " " + a.short) },
			intrudes: func(a asked) string { return press("allow " + a.id + " " + a.short) },
			unshown: func(a asked) string { // somebody else, and elsewhere
				return k.press(c, k.other, k.here, buttons[a.id]["allow"]) + k.press(c, k.alice, k.away, buttons[a.id]["allow"])
			},
			idles: func(a asked) {
				k.says(c, buttons[a.id]["allow"])
				k.says(c, "allow")
			},
			calls: func(args string) string { // from the seat, which is hers then
				s.sends("alice", "own", "write_file", args)
				told := s.hears("alice", `{"correlation_id":"own","payload":"*"}`)
				carol := s.seat("carol").heard
				carol.back(carol.length())
				s.seats["alice"].ws.Close()
				s.hears("carol", `{"kind":"system/presence","payload":{"event":"join","participant":{"id":"alice","capabilities":["mcp/response:*"]}}}`)
				return told
			},
		}
	}
}
