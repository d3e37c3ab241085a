package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// tokenEnd is until when a token is good, as far as it says so itself: one that is a
// JWT, as ours are. Nobody has verified it; its gateway has the last word.
func tokenEnd(token string) (until time.Time, said bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return until, false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Expires <= 0 || claims.Expires > 1<<40 {
		return until, false
	}
	return time.Unix(int64(claims.Expires), 0), true
}

// tokenEnds says until when the token is good that a bridge would join with now, and what
// becomes of the bridge then; "" where that is not known, or --token-command has the next.
func (p *program) tokenEnds(token string) (until, then string) {
	at, said := tokenEnd(token)
	if !said {
		return "", ""
	}
	until = "good until " + at.Local().Format(time.DateTime)
	if p.s.TokenCommand != "" {
		return until, ""
	}
	then = "who joins with it loses the seat then"
	if p.s.TokenFile != "" {
		then += fmt.Sprintf(", unless %s has another by that time", p.s.TokenFile)
	}
	return until, then + "; token --ttl 720h makes one that lasts 30 days, --token-command fetches the next"
}

// peek is the token that was fetched ahead of time; "" if there is none.
func (t *tokenSource) peek() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready
}

// sayTokenEnd says until when a client can start what is being written into its file.
func (s starters) sayTokenEnd(p *program) error {
	if s.apart.s.TokenFile == "" {
		return nil
	}
	token, err := tokenFromFile(s.apart.s.TokenFile)
	if err != nil {
		return err
	}
	if until, then := s.apart.tokenEnds(token); until != "" {
		p.log.Info("the token is " + until)
		p.log.Info("hint: " + then)
	}
	return nil
}
