package main

import (
	"fmt"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// tokenEnds says until when the token is good that a bridge would join with now, and what
// becomes of the bridge then; "" where that is not known, or --token-command has the next.
func (p *program) tokenEnds(with string) (until, then string) {
	at := topic.ReadClaims(with).Until
	if at.IsZero() {
		return "", ""
	}
	until = "good until " + text.Moment(at, time.Now())
	if p.s.TokenCommand != "" {
		return until, ""
	}
	then = "a participant that joined with it loses the seat then"
	if p.s.TokenFile != "" {
		then += fmt.Sprintf(", unless %s has another by that time", p.s.TokenFile)
	}
	return until, then + "; token --ttl 90d makes one that lasts, --token-command fetches the next"
}
