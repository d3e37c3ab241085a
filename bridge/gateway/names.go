package gateway

import "strings"

const (
	topicGrammar = "letters, digits, _ . - : @ # + ~ = , and at most 128 of them"
	idGrammar    = "letters, digits, _ . - and at most 64 of them, not beginning with system"
)

// ValidTopic reports whether name can be a topic's here: 1 to 128 letters and digits of
// ASCII and _ . - : @ # + ~ = , which is what rooms are called at stock gateways, as
// room:general (FINDINGS D12). All of it is safe in a log, and escaped in addresses. Not a
// topic are . and .., which paths take for something else, and *, which tokens do.
func ValidTopic(name string) bool {
	if name == "" || len(name) > 128 || name == "." || name == ".." {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_.-:@#+~=,", c) >= 0:
		default:
			return false
		}
	}
	return true
}
