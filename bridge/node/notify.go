package node

import (
	"context"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// notifying has people told of questions, by the channels of the policy in force.
type notifying struct {
	*plan
	in       inbox.Publisher
	rules    func() *policy.Policy // those in force
	reloaded <-chan struct{}       // has something when there are others
	seated   latch                 // set when we have been in the topic
}

func (n *notifying) run(ctx context.Context) {
	for ctx.Err() == nil {
		now, seats := n.rules(), &answerSeats{plan: n.plan, seated: n.seated}
		parts := []func(context.Context) error{
			func(ctx context.Context) error { return n.tell(ctx, now, seats) },
			func(ctx context.Context) error { return n.untilOthers(ctx, now) },
		}
		for _, id := range answering(now) {
			parts = append(parts, func(ctx context.Context) error { return seats.keep(ctx, id) })
		}
		together(ctx, parts...)
	}
}

func (n *notifying) tell(ctx context.Context, now *policy.Policy, seats *answerSeats) error {
	if o := n.notifyOptions(now); len(o.Channels) > 0 || o.Command != "" {
		o.Seat = seats.of
		notify.Run(ctx, n.in, o)
	}
	<-ctx.Done()
	return nil
}

// untilOthers waits for a policy that has other channels.
func (n *notifying) untilOthers(ctx context.Context, than *policy.Policy) error {
	for than.SameChannels(n.rules()) {
		select {
		case <-ctx.Done():
			return nil
		case <-n.reloaded:
		}
	}
	return nil
}
