package topic

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// ErrNoOther is what [Options.Token] returns when it is asked for another token and has none.
var ErrNoOther = errors.New("there is no other token")

// Claims are what a token says of itself, as far as it can be read: one that is a JWT, as
// ours are. Nobody has verified it; its gateway has the last word.
type Claims struct {
	ID    string    // whom it is for; "" where it does not say, or what cannot be a participant's
	Topic string    // "*" for every topic; "" where it does not say, or what our gateways would not keep
	Until time.Time // zero where it does not say
}

// ReadClaims reads a token. Of what is none it reads nothing.
func ReadClaims(token string) (c Claims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	var said struct {
		ID      any     `json:"participantId"`
		Topic   any     `json:"topic"`
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(body, &said) != nil {
		return c
	}
	if topic, _ := said.Topic.(string); topic == "*" || wire.ValidTopic(topic) {
		c.Topic = topic
	}
	if id, _ := said.ID.(string); wire.ValidID(id) {
		c.ID = id
	}
	if said.Expires > 0 && said.Expires <= 1<<40 {
		c.Until = time.Unix(int64(said.Expires), 0)
	}
	return c
}

// notTaken words why a gateway does not take a token: what the token says itself, where that
// is the reason, else what the gateway said.
func (o *Options) notTaken(token string, err error, now time.Time) *FatalError {
	c, topic := ReadClaims(token), o.Topic
	said, code := err.Error(), 0
	if e, ok := errors.AsType[*wire.CloseError](err); ok {
		said, code = cmp.Or(e.Reason, said), e.Code
	}
	fail := func(hint, format string, args ...any) *FatalError {
		return &FatalError{Exit: fault.Gateway, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	another := "get another from where the gateway runs: mcpx-bridge token --id " + cmp.Or(c.ID, "ID") + " --topic " + topic + " --out FILE"
	switch {
	case token == "" && code != http.StatusForbidden && code != 4403:
		return fail("--token-file FILE; where the gateway runs, mcpx-bridge token --id ID --topic "+topic+" --out FILE makes one", "no token was given")
	case !c.Until.IsZero() && !now.Before(c.Until):
		return fail(another+"; you keep your seat if --token-file or --token-command has the next one in time", "the token ran out at %s", text.Moment(c.Until, now))
	case c.Topic != "" && c.Topic != "*" && c.Topic != topic:
		return fail("--topic "+c.Topic+" joins that one; or "+another, "the token is for topic %s, not %s", c.Topic, topic)
	case c.ID != "" && c.ID != o.ID && strings.Contains(said, "participant"):
		return fail("--id "+c.ID+", or no --id, joins as that one", "the token is for %s, not %s", c.ID, o.ID)
	}
	said = strings.TrimPrefix(strings.TrimPrefix(said, "the token is not valid: "), "Invalid token: ") // as our gateway begins
	return fail(another, "the gateway does not take the token: %s", said)
}
