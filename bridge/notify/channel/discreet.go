package channel

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
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

// maxError is how many characters an error has at most.
const maxError = 300

// discreet is a channel whose errors are [*Error], of one line, and show nothing that is hidden.
type discreet struct {
	Channel
	hide *strings.Replacer
}

type discreetListener struct {
	discreet
	from Listener
}

// discreetly makes a channel so, which may be a [Listener].
func discreetly(c Channel, h *hidden) Channel {
	d := discreet{c, h.replacer()}
	if l, is := c.(Listener); is {
		return discreetListener{d, l}
	}
	return d
}

func (d discreet) Send(ctx context.Context, n *Notice) (string, error) {
	ref, err := d.Channel.Send(ctx, n)
	return ref, d.shown(err)
}

func (d discreetListener) Listen(ctx context.Context, take func(context.Context, Answer) string) error {
	return d.shown(d.from.Listen(ctx, take))
}

func (d discreet) shown(err error) error {
	if err == nil {
		return nil
	}
	out := &Error{Err: errors.New(text.Cut(d.hide.Replace(err.Error()), maxError))}
	if e, is := errors.AsType[*Error](err); is {
		out.Final, out.After = e.Final, e.After
	}
	return out
}
