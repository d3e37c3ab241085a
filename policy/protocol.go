package policy

import (
	"bytes"
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

const (
	versionKey = "io.modelcontextprotocol/protocolVersion"
	appsKey    = "io.modelcontextprotocol/ui"
)

// One member of a tracestate and one of a baggage, as W3C has them, the former without
// blanks in its value, which nobody who traces puts there.
const (
	state = `[a-z0-9][a-z0-9_*/@-]*=[!-+\--<>-~]+`
	bag   = "[!#$%&'*+.^_`|~0-9A-Za-z-]+ *= *[!#-+\\--\\[\\]-~]*"
)

var protocolMeta = map[string]protocolKey{
	// MCP, all revisions, "Progress".
	"progressToken": {fits: func(v []byte) bool {
		return v[0] == '"' && len(v) <= 256 || len(v) <= 64 && numeral().Match(v)
	}},

	// W3C Trace Context and Baggage, in MCP since 2026-07-28; callers that trace send
	// them to servers of all revisions.
	"traceparent": {fits: like(`^"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"$`, 64)},
	"tracestate":  {fits: like(`^"`+state+`( *, *`+state+`)*"$`, 512)},
	"baggage":     {fits: like(`^"`+bag+`( *, *`+bag+`)*"$`, 1024)},

	// MCP 2026-07-28, "Per-request metadata".
	versionKey:                                   {modern: true, fits: like(`^"20[0-9]{2}-[0-9]{2}-[0-9]{2}"$`, 16)},
	"io.modelcontextprotocol/clientInfo":         {modern: true, fits: objectOf(isInfo)},
	"io.modelcontextprotocol/clientCapabilities": {modern: true, fits: objectOf(isCapability)},
	"io.modelcontextprotocol/logLevel":           {modern: true, fits: like(`^"(debug|info|notice|warning|error|critical|alert|emergency)"$`, 16)},
}

// OfProtocol reports whether a member of params._meta is one that the protocol defines
// for servers of a revision, and says what that may say: revision is that of the server
// if it is 2026-07-28 or later, else "". key is the name without quotes and escapes, value
// raw JSON. What is not is for the policy to judge. related-task of 2025-11-25 never is:
// it names a task.
func OfProtocol(key, value []byte, revision string) bool {
	k, known := protocolMeta[string(key)]
	if !known || len(value) == 0 || k.modern && revision == "" {
		return false
	}
	return k.fits(value) && (string(key) != versionKey || string(value) == `"`+revision+`"`)
}

// RedactMeta is [Policy.Redact] for an object of members that are the protocol's own. Those
// of a trace hold keys and values in a text.
func (p *Policy) RedactMeta(meta []byte) []byte {
	v, err := readObject(meta)
	if err != nil {
		return bytes.Clone(hiddenAll)
	}
	var out []byte
	from := 0
	for i, key := range v.keys {
		if item := &v.items[i]; key == "baggage" || key == "tracestate" { // neither holds an escape
			text := p.RedactText(string(meta[item.start+1 : item.end-1]))
			out = append(append(append(append(out, meta[from:item.start]...), '"'), text...), '"')
			from = item.end
		}
	}
	return p.Redact(append(out, meta[from:]...))
}

// like returns a test of strings, which are held as they are spelled: none of the
// protocol's needs an escape.
func like(pattern string, most int) func([]byte) bool {
	re := lazily(pattern)
	return func(v []byte) bool { return len(v) <= most+len(`""`) && bytes.IndexByte(v, '\\') < 0 && re().Match(v) }
}

// Bounds of what clients say about themselves.
const (
	maxAbout    = 4 << 10 // bytes of all of it
	maxAboutOne = 256     // bytes of one text
)

// objectOf returns a test of objects: each member fits.
func objectOf(fits func(key string, v *value) bool) func(raw []byte) bool {
	return func(raw []byte) bool {
		if len(raw) > maxAbout {
			return false
		}
		v, err := readObject(raw)
		return err == nil && v.holdsOnly(fits)
	}
}

// holdsOnly reports whether a value is an object each of whose members fits.
func (v *value) holdsOnly(fits func(key string, v *value) bool) bool {
	for i, key := range v.keys {
		if !fits(key, &v.items[i]) {
			return false
		}
	}
	return v.kind == isObject
}

// isInfo: texts of Implementation and no other members. Icons are none: they may hold
// anything.
func isInfo(key string, v *value) bool {
	return slices.Contains([]string{"name", "title", "version", "description", "websiteUrl"}, key) &&
		v.kind == isString && len(v.text) <= maxAboutOne
}

// isCapability: objects of objects and of true and false, under the names there are. Of
// extensions the one for apps says something in words: which types it shows.
func isCapability(key string, v *value) bool {
	if key == "extensions" {
		return v.holdsOnly(isExtension)
	}
	return slices.Contains([]string{"roots", "sampling", "elicitation", "tasks", "experimental"}, key) && v.declares()
}

var (
	capabilityName = lazily(`^[A-Za-z0-9_$][A-Za-z0-9_$./-]{0,63}$`)
	extensionName  = lazily(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*/[A-Za-z0-9][A-Za-z0-9_.-]*$`) // a prefix is required
	mediaType      = lazily(`^[a-z]+/[a-z0-9.+-]{1,64}(; ?[a-z]{1,16}=[a-z0-9.+-]{1,32})?$`)
)

// declares reports whether a value only says what there is: under names that are no
// sentences, and without any text.
func (v *value) declares() bool {
	return v.kind == isBoolean || v.holdsOnly(func(key string, v *value) bool {
		return capabilityName().MatchString(key) && v.declares()
	})
}

// isExtension is the same of an extension, which has a name with a prefix.
func isExtension(key string, v *value) bool {
	return key == appsKey && v.showsTypes() ||
		extensionName().MatchString(key) && capabilityName().MatchString(key) && v.declares()
}

// showsTypes reports whether a value is what a client that shows apps says: mimeTypes alone.
func (v *value) showsTypes() bool {
	if v.kind != isObject || len(v.keys) != 1 || v.keys[0] != "mimeTypes" || v.items[0].kind != isArray {
		return false
	}
	return len(v.items[0].items) <= 8 && !slices.ContainsFunc(v.items[0].items, func(t value) bool {
		return t.kind != isString || !mediaType().MatchString(t.text)
	})
}
