package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const (
	minSecret = 32 // bytes; what HS256 asks for
	tokenLife = 24 * time.Hour
	anyTopic  = "*"
)

// Claims are what a token says: who its bearer is, where it may go and what
// it may send there.
type Claims struct {
	ID    string // the participant
	Topic string // "*" for every topic

	// Capabilities are a JSON array, of strings (WIRE 3.3) or of objects
	// (WIRE 5.6); nil for the default grant. They mean the same whichever
	// dialect the bearer then speaks.
	Capabilities json.RawMessage

	Expires time.Time // when it opens no session any more, and ends those it opened; zero = in 24 hours
}

// tokenBody is how claims stand in a token.
type tokenBody struct {
	Participant  string          `json:"participantId"`
	Topic        string          `json:"topic"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	jwt.RegisteredClaims
}

// Mint signs a token. It refuses claims that this gateway would refuse later.
func (g *Gateway) Mint(c Claims) (string, error) {
	if _, err := c.check(); err != nil {
		return "", fmt.Errorf("mint: %w", err)
	}
	if c.Expires.IsZero() {
		c.Expires = time.Now().Add(tokenLife)
	}
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, tokenBody{
		Participant:  c.ID,
		Topic:        c.Topic,
		Capabilities: c.Capabilities,
		RegisteredClaims: jwt.RegisteredClaims{
			IssuedAt:  jwt.NewNumericDate(time.Now()),
			ExpiresAt: jwt.NewNumericDate(c.Expires),
		},
	})
	return t.SignedString(g.opt.Secret)
}

// A pass is a token that was found good.
type pass struct {
	id    string
	topic string
	caps  wire.Caps
	ends  time.Time // a session it opened ends then
}

// admits reports whether the pass is good for a topic.
func (p pass) admits(topic string) bool { return p.topic == anyTopic || p.topic == topic }

// elsewhere says for which topic the pass is good, which its bearer can read in the token too.
func (p pass) elsewhere(topic string) string {
	return "the token is for topic " + p.topic + ", not " + topic
}

var errToken = errors.New("the token is not valid")

// verify reads a token. Its errors say what is wrong with it and never show it.
func (g *Gateway) verify(token string) (pass, error) {
	var s tokenBody
	_, err := jwt.ParseWithClaims(token, &s,
		func(*jwt.Token) (any, error) { return g.opt.Secret, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithExpirationRequired())
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return pass{}, fmt.Errorf("%w: it has expired", errToken)
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return pass{}, fmt.Errorf("%w: it has no exp", errToken)
	case errors.Is(err, jwt.ErrTokenSignatureInvalid): // found before anything that the token claims is looked at
		return pass{}, fmt.Errorf("%w: it was not made here", errToken)
	case err != nil:
		return pass{}, errToken
	}
	caps, err := Claims{ID: s.Participant, Topic: s.Topic, Capabilities: s.Capabilities}.check()
	if err != nil {
		return pass{}, fmt.Errorf("%w: %w", errToken, err)
	}
	return pass{id: s.Participant, topic: s.Topic, caps: caps, ends: s.ExpiresAt.Time}, nil
}

// check says what is wrong with the claims, and reads the capabilities.
func (c Claims) check() (wire.Caps, error) {
	switch {
	case !wire.ValidID(c.ID):
		return wire.Caps{}, fmt.Errorf("%q is no participant id: %s", c.ID, wire.IDGrammar)
	case c.Topic != anyTopic && !wire.ValidTopic(c.Topic):
		return wire.Caps{}, fmt.Errorf("%q is no name for a topic: %s", c.Topic, wire.TopicGrammar)
	case len(c.Capabilities) == 0 || string(c.Capabilities) == "null":
		return wire.Caps{}, nil
	}
	caps, err := wire.ParseCaps(c.Capabilities)
	if err != nil {
		return wire.Caps{}, fmt.Errorf("capabilities: %w", err)
	}
	return caps, nil
}
