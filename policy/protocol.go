package policy

import (
	"bytes"
	"regexp"
	"slices"
)

// A protocolKey is a member of params._meta that the protocol defines. Its content
// reaches the server unshown, so it is what the protocol says that it is and nothing
// else, and not for a server that knows no such key, to which it could be anything
// (FINDINGS A5).
type protocolKey struct {
	modern bool                    // only requests of revision 2026-07-28 and later have it
	fits   func(value []byte) bool // reports whether raw JSON that was scanned strictly is of its shape
}

// One member of a tracestate and one of a baggage, as W3C has them.
const (
	state = `[a-z0-9][a-z0-9_*/@-]*=[ -+\--<>-~]+`
	bag   = "[!#$%&'*+.^_`|~0-9A-Za-z-]+ *= *[!#-+\\--\\[\\]-~]*"
)

var protocolMeta = map[string]protocolKey{
	// MCP, all revisions, "Progress".
	"progressToken": {fits: func(v []byte) bool {
		return v[0] == '"' && len(v) <= 256 || len(v) <= 64 && isNumeral(v)
	}},

	// W3C Trace Context and Baggage, in MCP since 2026-07-28; callers that trace send
	// them to servers of all revisions.
	"traceparent": {fits: like(`^"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"$`, 64)},
	"tracestate":  {fits: like(`^"`+state+`( *, *`+state+`)*"$`, 512)},
	"baggage":     {fits: like(`^"`+bag+`( *, *`+bag+`)*"$`, 1024)},

	// MCP 2026-07-28, "Per-request metadata".
	"io.modelcontextprotocol/protocolVersion":    {modern: true, fits: like(`^"20[0-9]{2}-[0-9]{2}-[0-9]{2}"$`, 16)},
	"io.modelcontextprotocol/clientInfo":         {modern: true, fits: isClientInfo},
	"io.modelcontextprotocol/clientCapabilities": {modern: true, fits: areCapabilities},
	"io.modelcontextprotocol/logLevel":           {modern: true, fits: like(`^"(debug|info|notice|warning|error|critical|alert|emergency)"$`, 16)},
}

// OfProtocol reports whether a member of params._meta is one that the protocol defines
// for servers of such a revision (modern: 2026-07-28 and later), and says what that
// may say. key is the name without quotes and escapes, value raw JSON. What is not is
// for the policy to judge. related-task of 2025-11-25 never is: it names a task.
func OfProtocol(key, value []byte, modern bool) bool {
	k, known := protocolMeta[string(key)]
	return known && len(value) > 0 && (modern || !k.modern) && k.fits(value)
}

// like returns a test of strings, which are held as they are spelled: none of the
// protocol's needs an escape.
func like(pattern string, most int) func([]byte) bool {
	re := regexp.MustCompile(pattern)
	return func(v []byte) bool { return len(v) <= most+len(`""`) && bytes.IndexByte(v, '\\') < 0 && re.Match(v) }
}

// Bounds of what clients say about themselves.
const (
	maxAbout    = 4 << 10 // bytes of all of it
	maxAboutOne = 256     // bytes of one text
)

// isClientInfo: texts of Implementation and no other members. Icons are none: they may
// hold anything.
func isClientInfo(raw []byte) bool {
	if len(raw) > maxAbout {
		return false
	}
	v, err := readObject(raw)
	if err != nil {
		return false
	}
	for i, key := range v.keys {
		if !slices.Contains([]string{"name", "title", "version", "description", "websiteUrl"}, key) ||
			v.items[i].kind != isString || len(v.items[i].text) > maxAboutOne {
			return false
		}
	}
	return true
}

// areCapabilities: objects of objects and of true and false, under the names there
// are. Only an extension may say something in words, as which types it shows.
func areCapabilities(raw []byte) bool {
	if len(raw) > maxAbout {
		return false
	}
	v, err := readObject(raw)
	if err != nil {
		return false
	}
	for i, key := range v.keys {
		if !slices.Contains([]string{"roots", "sampling", "elicitation", "tasks", "extensions", "experimental"}, key) ||
			!v.items[i].declares(key == "extensions") {
			return false
		}
	}
	return true
}

// declares reports whether a value only says what there is; words: texts in it may be.
func (v *value) declares(words bool) bool {
	switch v.kind {
	case isBoolean:
		return true
	case isString:
		return words && len(v.text) <= maxAboutOne
	case isArray:
		if !words {
			return false
		}
	case isObject:
	default:
		return false
	}
	for i := range v.items {
		if len(v.keys) > 0 && len(v.keys[i]) > maxAboutOne || !v.items[i].declares(words) {
			return false
		}
	}
	return true
}
