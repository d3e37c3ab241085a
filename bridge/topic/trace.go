package topic

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

const redacted = "[redacted]"

// secrets finds the values of members that hold a token, in join frames,
// space/invite-ack (WIRE 5.2) and wherever else somebody puts one.
var secrets = text.Pattern(`("(?i:token|access_token|auth_token)"\s*:\s*)"(?:[^"\\]|\\.)*"`)

// redact is a frame as it may be shown.
func redact(frame []byte, token string) []byte {
	shown := secrets().ReplaceAll(frame, []byte(`${1}"`+redacted+`"`))
	if token == "" {
		return shown
	}
	return []byte(redactToken(string(shown), token))
}

// redactToken takes a token out of a text.
func redactToken(s, token string) string {
	if token == "" {
		return s
	}
	return strings.ReplaceAll(s, token, redacted)
}
