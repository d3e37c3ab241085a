package wire

import (
	"slices"
	"strings"
)

const (
	maxID     = 256 // bytes of an envelope id, and of a JSON-RPC id as written
	maxMethod = 256 // bytes of a method
	maxNamed  = 256 // recipients or links of one frame
)

// ValidID reports whether id can be a participant's: one to 64 of
// A-Z a-z 0-9 _ . - that do not begin with "system", which is the gateway's.
func ValidID(id string) bool { return participant(id) && !reserved(id) }

func participant(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

func reserved(id string) bool { return strings.HasPrefix(id, "system") }

// gateway reports whether a sender is the gateway itself.
func gateway(id string) bool { return id == Gateway || id == "system" }

// Gateway is the sender that our gateway gives its own frames.
const Gateway = "system:gateway"

// envelopeID reports whether id can be the id of an envelope: 1 to 256
// printable characters of ASCII.
func envelopeID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for _, c := range []byte(id) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

func envelopeIDs(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !envelopeID(id) })
}
