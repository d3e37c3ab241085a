package token

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// Ends says, for somebody who reads it now, until when a token is good, and what becomes then of
// whoever joined with it: a file may have another by that time, a command fetches the next. Both
// are "" where that is not known, and the latter where a command does.
func Ends(token, file string, command bool, now time.Time) (until, then string) {
	at := topic.ReadClaims(token).Until
	if at.IsZero() {
		return "", ""
	}
	until = "good until " + text.Moment(at, now)
	if command {
		return until, ""
	}
	then = "a participant that joined with it loses the seat then"
	if file != "" {
		then += ", unless " + file + " has another by that time"
	}
	return until, then + "; token --ttl 90d makes one that lasts, --token-command fetches the next"
}
