package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A telegram is a chat with a bot, over its HTTP interface. Answers are presses of buttons, which
// long polling brings: one program alone can do that for a bot.
type telegram struct {
	web  *http.Client
	api  string // with the token in it, so it is never shown
	chat string

	// What follows is Listen's.
	next  int       // of the updates, the first that we have not heard; 0: whichever comes
	heard time.Time // when one came last, by the wall clock: machines sleep
}

const telegramAPI = "https://api.telegram.org"

func newTelegram(s secrets) (Channel, error) {
	token, err := s.read("token")
	if err != nil {
		return nil, err
	}
	return &telegram{web: newWeb(), api: cmp.Or(s.API, telegramAPI) + "/bot" + token + "/", chat: s.To[0].Text}, nil
}

// maxTelegram is how many characters a message has at most; a character has a byte at least.
const maxTelegram = 4000

func (c *telegram) Send(ctx context.Context, n *Notice) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	n.offer(maxTelegram - 300)
	words := n.Title(maxTitle) + "\n\n" + n.Body(maxTelegram-300)
	m := map[string]any{"chat_id": c.chat, "text": words, "link_preview_options": map[string]any{"is_disabled": true}}
	if n.Event == "closed" {
		id, _ := strconv.Atoi(n.Ref)
		m["message_id"] = id // without its buttons
		return "", c.ask(ctx, "editMessageText", m, nil)
	}
	if row := buttons(n); len(row) > 0 {
		m["reply_markup"] = map[string]any{"inline_keyboard": [][]button{row}}
	}
	if first, err := strconv.Atoi(n.Ref); err == nil {
		m["reply_parameters"] = map[string]any{"message_id": first, "allow_sending_without_reply": true}
	}
	var sent struct {
		ID int `json:"message_id"`
	}
	err := c.ask(ctx, "sendMessage", m, &sent)
	if n.Event == "reminder" {
		return "", err // that it is closed is said at the first
	}
	return strconv.Itoa(sent.ID), err
}

// telegramWait is how long a poll waits for something to happen.
const telegramWait = 50 * time.Second

// telegramPause is how long we wait after a poll, lest one that is answered at once be made again
// and again.
const telegramPause = 250 * time.Millisecond

// telegramKnown is how long the number of an update says that it is older than another: after a week
// without any, Telegram begins anew with whatever number.
const telegramKnown = 6 * 24 * time.Hour

type telegramUpdate struct {
	ID       int `json:"update_id"`
	Callback *struct {
		ID   string `json:"id"`
		From struct {
			ID json.Number `json:"id"`
		} `json:"from"`
		Data    string `json:"data"`
		Message *struct {
			Chat struct {
				ID json.Number `json:"id"`
			} `json:"chat"`
		} `json:"message"`
	} `json:"callback_query"`
}

// Listen polls for ever. An update that is none is passed over, and so is one that we have had: else
// one alone could keep all others from us.
func (c *telegram) Listen(ctx context.Context, take func(context.Context, Answer) string) error {
	for {
		if time.Since(c.heard) > telegramKnown {
			c.next = 0
		}
		updates, err := c.poll(ctx)
		if err != nil {
			return err
		}
		for _, raw := range updates {
			var u telegramUpdate
			if json.Unmarshal(raw, &u) == nil && u.ID >= c.next {
				c.next, c.heard = u.ID+1, time.Now().Round(0)
				c.hear(ctx, u, take)
			}
		}
		if !pause.For(ctx, telegramPause) {
			return ctx.Err()
		}
	}
}

func (c *telegram) poll(ctx context.Context) (updates []json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, telegramWait+requestTime)
	defer cancel()
	err = c.ask(ctx, "getUpdates", map[string]any{"offset": c.next, "timeout": int(telegramWait.Seconds()), "allowed_updates": []string{"callback_query"}}, &updates)
	if e, is := errors.AsType[*Error](err); is && e.Shared {
		e.Err = fmt.Errorf("another program polls for this bot and takes answers away; each bridge needs a bot of its own (%w)", e.Err)
	}
	return updates, err
}

// hear takes one press. One in another chat than ours is none.
func (c *telegram) hear(ctx context.Context, u telegramUpdate, take func(context.Context, Answer) string) {
	q := u.Callback
	if q == nil || q.Message == nil || q.Message.Chat.ID.String() != c.chat {
		return
	}
	a, ok := readPress(q.Data)
	if !ok {
		return
	}
	a.Person = q.From.ID.String()
	limited, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	c.ask(limited, "answerCallbackQuery", map[string]any{"callback_query_id": q.ID, "text": text.Cut(take(ctx, a), 190), "show_alert": true}, nil)
}

// ask calls a method of the bot, and reads its result into as; nil: nobody wants it.
func (c *telegram) ask(ctx context.Context, method string, params map[string]any, as any) error {
	reply, raw, err := exchange(ctx, c.web, c.api+method, http.Header{}, encode(params))
	if err != nil {
		return err
	}
	var said struct {
		OK         bool            `json:"ok"`
		Code       int             `json:"error_code"`
		About      string          `json:"description"`
		Result     json.RawMessage `json:"result"`
		Parameters struct {
			Retry int `json:"retry_after"`
		} `json:"parameters"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return cmp.Or(reply.refusal(raw), error(&Error{Err: fmt.Errorf("%s: the answer is no JSON", method)}))
	}
	if !said.OK {
		if said.Code != 0 {
			reply.code = said.Code
		}
		after := max(reply.after, time.Duration(said.Parameters.Retry)*time.Second)
		later := reply.code >= 500 || reply.code == http.StatusTooManyRequests || reply.code == http.StatusConflict
		return &Error{Err: fmt.Errorf("%s: it answered %d %s", method, reply.code, said.About), Final: !later, After: after, Shared: reply.code == http.StatusConflict}
	}
	if as != nil && json.Unmarshal(said.Result, as) != nil {
		return &Error{Err: fmt.Errorf("%s: the answer is not what it should be", method)}
	}
	return nil
}
