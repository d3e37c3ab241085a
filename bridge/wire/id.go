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

// What ids and names of topics are made of, as people are told.
const (
	IDGrammar    = "1 to 64 letters, digits, _ . -, not beginning with system"
	TopicGrammar = "1 to 128 letters, digits, _ . - : @ # + ~ = ,"
)

// ValidID reports whether id can be a participant's: one to 64 of
// A-Z a-z 0-9 _ . - that do not begin with "system", which is the gateway's.
func ValidID(id string) bool { return participant(id) && !reserved(id) }

// ValidTopic reports whether name can be a topic's at our own gateways: 1 to 128 letters and
// digits of ASCII and _ . - : @ # + ~ = , which is what rooms are called at stock gateways, as
// room:general (FINDINGS D12). All of it is safe in a log, and escaped in addresses. Not a
// topic are . and .., which paths take for something else, and *, which tokens do.
func ValidTopic(name string) bool {
	return name != "." && name != ".." && plainName(name, 128, "_.-:@#+~=,")
}

func participant(id string) bool { return plainName(id, 64, "_.-") }

// plainName reports whether s is 1 to most letters and digits of ASCII, and others.
func plainName(s string, most int, others string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(others, c) >= 0:
		default:
			return false
		}
	}
	return 0 < len(s) && len(s) <= most
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
