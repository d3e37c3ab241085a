package channel

import (
	"context"
	"errors"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

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
		out.Final, out.After, out.Sent, out.Shared = e.Final, e.After, e.Sent, e.Shared
	}
	return out
}
