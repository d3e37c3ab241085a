package channel

import (
	"cmp"
	"encoding/base64"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// hidden is what no error of a channel shows, whatever it is about: the other side may repeat what
// it got, with the URL, the head and all.
type hidden struct{ all []string }

// add hides a text, as it is and as others may write it.
func (h *hidden) add(s string) {
	quoted, path := strconv.Quote(s), url.URL{Path: s}
	h.all = append(h.all, s, url.QueryEscape(s), url.PathEscape(s), path.EscapedPath(), html.EscapeString(s), quoted[1:len(quoted)-1], base64.StdEncoding.EncodeToString([]byte(s)))
}

// leastPart is how long a part of a URL is that may be a secret.
const leastPart = 8

// addURL hides what a URL says beside the host.
func (h *hidden) addURL(at string) {
	u, err := url.Parse(at)
	if err != nil {
		return
	}
	for _, part := range append(strings.Split(u.Path, "/"), u.Path, u.RequestURI(), u.RawQuery) {
		if len(part) >= leastPart {
			h.add(part)
		}
	}
}

// replacer takes it out of a text; the longest first, as one may be part of another.
func (h *hidden) replacer() *strings.Replacer {
	slices.SortFunc(h.all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	var pairs []string
	for _, s := range slices.Compact(h.all) {
		if s != "" {
			pairs = append(pairs, s, "[hidden]")
		}
	}
	return strings.NewReplacer(pairs...)
}
