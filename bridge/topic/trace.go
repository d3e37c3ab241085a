package topic

import (
	"regexp"
	"strings"
)

const blotted = "[redacted]"

// secrets finds the values of members that hold a token, in join frames,
// space/invite-ack (WIRE 5.2) and wherever else somebody puts one.
var secrets = regexp.MustCompile(`("(?i:token|access_token|auth_token)"\s*:\s*)"(?:[^"\\]|\\.)*"`)

// redact is a frame as it may be shown.
func redact(frame []byte, token string) []byte {
	shown := secrets.ReplaceAll(frame, []byte(`${1}"`+blotted+`"`))
	if token == "" {
		return shown
	}
	return []byte(blot(string(shown), token))
}

// blot takes a token out of a text.
func blot(s, token string) string {
	if token == "" {
		return s
	}
	return strings.ReplaceAll(s, token, blotted)
}
