package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
)

// A slack is a channel of Slack, over its web methods. Answers are presses of buttons, which come
// over a WebSocket that we open (Socket Mode).
type slack struct {
	web        *http.Client
	api        string
	channel    string
	token, app string
}

const slackAPI = "https://slack.com/api"

func newSlack(s secrets) (Channel, error) {
	token, err := s.read("token")
	if err != nil {
		return nil, err
	}
	app, err := s.read("app_token")
	if err != nil {
		return nil, err
	}
	return &slack{newWeb(), cmp.Or(s.API, slackAPI) + "/", s.To[0].Text, token, app}, nil
}

// maxSlack is how many characters a block of text has at most.
const maxSlack = 2900

// plain is text that is shown as it is: none of it is markup or a mention.
func plain(s string) map[string]any {
	return map[string]any{"type": "plain_text", "text": s, "emoji": false}
}

func (c *slack) Send(ctx context.Context, n *Notice) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	n.offer(maxSlack)
	section := func(s string) map[string]any { // unfolded: Allow stands below
		return map[string]any{"type": "section", "text": plain(s), "expand": true}
	}
	blocks := []map[string]any{section(n.Title(maxTitle)), section(n.Body(maxSlack))}
	if row := slackButtons(n); len(row) > 0 {
		blocks = append(blocks, map[string]any{"type": "actions", "elements": row})
	}
	// The text beside the blocks is what a phone shows, and is markup: so none of the words of others are in it.
	m := map[string]any{"channel": c.channel, "text": "mcpx-bridge: question " + n.Question.Short + " " + n.Event, "blocks": blocks, "unfurl_links": false, "unfurl_media": false}
	method := "chat.postMessage"
	if n.Event == "closed" {
		method, m["ts"] = "chat.update", n.Ref
	}
	var sent struct {
		TS string `json:"ts"`
	}
	err := c.ask(ctx, method, c.token, m, &sent)
	if n.Event == "reminder" {
		sent.TS = "" // that it is closed is said at the first
	}
	return sent.TS, err
}

func slackButtons(n *Notice) (row []map[string]any) {
	for _, b := range buttons(n) {
		row = append(row, map[string]any{"type": "button", "action_id": b.Text[:4], "text": plain(b.Text), "value": b.Data})
	}
	return row
}

// A socketMessage is what Slack says over a socket.
type socketMessage struct {
	Type     string `json:"type"`
	Envelope string `json:"envelope_id"`
	Payload  struct {
		Type string `json:"type"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
		Actions []struct {
			Value string `json:"value"`
		} `json:"actions"`
	} `json:"payload"`
}

// slackSilence is after how long a socket counts as lost that nothing came by, not even a ping.
const slackSilence = 2 * time.Minute

// slackPresses are how many presses wait for the one before them. Those beyond are not acknowledged
// before there is room, and Slack warns whose they are.
const slackPresses = 16

// Listen takes presses beside what reads the socket, which acknowledges them: Slack waits three
// seconds for that, an answer may wait longer. What was acknowledged is taken, also when the socket is lost.
func (c *slack) Listen(ctx context.Context, take func(context.Context, Answer) string) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	alive := func() { conn.SetReadDeadline(time.Now().Add(slackSilence)) }
	pong := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		alive()
		return pong(data)
	})
	presses := make(chan *socketMessage, slackPresses)
	var taking sync.WaitGroup
	taking.Go(func() {
		for m := range presses {
			c.hear(ctx, m, take)
		}
	})
	defer taking.Wait()
	defer close(presses)
	for {
		alive()
		var m socketMessage
		if err := conn.ReadJSON(&m); err != nil {
			return err
		}
		if m.Envelope != "" {
			conn.SetWriteDeadline(time.Now().Add(requestTime))
			if err := conn.WriteJSON(map[string]string{"envelope_id": m.Envelope}); err != nil {
				return err
			}
		}
		switch m.Type {
		case "disconnect": // Slack asks us to come again
			return nil
		case "interactive":
			presses <- &m
		}
	}
}

// connect opens a socket where Slack says.
func (c *slack) connect(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var opened struct {
		URL string `json:"url"`
	}
	if err := c.ask(ctx, "apps.connections.open", c.app, map[string]any{}, &opened); err != nil {
		return nil, err
	}
	if at, err := http.NewRequest(http.MethodGet, opened.URL, nil); err != nil || at.URL.Scheme != "wss" && !(at.URL.Scheme == "ws" && loopback.Is(at.URL.Hostname())) {
		return nil, refused("apps.connections.open: it names no place that can be used")
	}
	return openSocket(ctx, opened.URL)
}

// openSocket opens it by a way that is bounded until it is open: then its messages are.
func openSocket(ctx context.Context, at string) (*websocket.Conn, error) {
	var way *bounded
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: requestTime, NetDialContext: func(ctx context.Context, network, host string) (_ net.Conn, err error) {
		way, err = dialBounded(ctx, network, host)
		return way, err
	}}
	conn, _, err := dialer.DialContext(ctx, at, nil)
	if err != nil {
		return nil, &Error{Err: bare(err)}
	}
	conn.SetReadLimit(maxAnswer)
	way.left = math.MaxInt64
	return conn, nil
}

// hear takes one press. One in another channel than ours is none.
func (c *slack) hear(ctx context.Context, m *socketMessage, take func(context.Context, Answer) string) {
	p := &m.Payload
	if p.Type != "block_actions" || p.Channel.ID != c.channel || len(p.Actions) != 1 {
		return
	}
	a, ok := readPress(p.Actions[0].Value)
	if !ok {
		return
	}
	a.Person = p.User.ID
	limited, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	words := map[string]any{"type": "section", "text": plain(take(ctx, a))}
	c.ask(limited, "chat.postEphemeral", c.token, map[string]any{"channel": c.channel, "user": a.Person, "text": "mcpx-bridge", "blocks": []any{words}}, nil)
}

// later are the refusals of Slack after which the same may be taken.
var later = map[string]bool{"ratelimited": true, "rate_limited": true, "service_unavailable": true, "fatal_error": true, "internal_error": true, "request_timeout": true}

// ask calls a method, and reads its answer into as; nil: nobody wants it.
func (c *slack) ask(ctx context.Context, method, token string, params map[string]any, as any) error {
	raw, err := post(ctx, c.web, c.api+method, bearer(token), encode(params))
	if err != nil {
		return err
	}
	var said struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return &Error{Err: fmt.Errorf("%s: the answer is no JSON", method)}
	}
	if !said.OK {
		return &Error{Err: fmt.Errorf("%s: it answered %s", method, said.Error), Final: !later[said.Error]}
	}
	if as != nil && json.Unmarshal(raw, as) != nil {
		return &Error{Err: fmt.Errorf("%s: the answer is not what it should be", method)}
	}
	return nil
}
