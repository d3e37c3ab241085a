package notify

import (
	"context"
	"errors"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// listen takes the answers of a channel until ctx ends.
func (n *notifier) listen(ctx context.Context, i int, l channel.Listener) {
	wait := firstPause
	for {
		began := time.Now()
		err := l.Listen(ctx, func(ctx context.Context, a channel.Answer) string { return n.answered(ctx, i, a) })
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > longestWait {
			wait = firstPause
		}
		if err != nil && wait == firstPause {
			n.o.Log.Warn("answers by "+said(n.channels[i].Name)+" do not come", "error", text.Line(err.Error()))
		}
		if !pause.For(ctx, wait) {
			return
		}
		wait = min(2*wait, longestWait)
	}
}

// answered takes one answer as that of the participant whom the policy says it is from, and
// returns what came of it, for whoever gave it.
func (n *notifier) answered(ctx context.Context, i int, a channel.Answer) string {
	who, known := n.channels[i].People[a.Person]
	if !known || n.o.Seat == nil {
		return "your answer does not count: the policy of the bridge does not name you"
	}
	seat, err := n.o.Seat(ctx, who)
	if err != nil {
		n.o.Log.Warn("an answer by "+said(n.channels[i].Name)+" does not count", "for", who, "error", text.Line(err.Error()))
		return "your answer does not count: the bridge has no seat for " + who + " in the topic now"
	}
	v, err := put(ctx, seat, a.Digest)
	if err != nil {
		return "your answer does not count: " + err.Error()
	}
	o, err := seat.Decide(ctx, inbox.Decide(&v, &approval.Reply{Allow: a.Allow, Reason: "by " + n.channels[i].Kind}))
	if err != nil {
		return "your answer does not count: " + err.Error()
	}
	if o.Outcome == inbox.Sent {
		return "your answer is sent"
	}
	return o.Outcome
}

var errNotPut = errors.New("the question is closed, or is not put to you")

// put is the question with a digest, as it was put to somebody.
func put(ctx context.Context, seat inbox.Inbox, digest string) (v approval.View, err error) {
	open, err := seat.List(ctx, false)
	if err != nil {
		return v, err
	}
	for _, q := range open {
		if q.Short == digest {
			return seat.Show(ctx, q.ID)
		}
	}
	return v, errNotPut
}
