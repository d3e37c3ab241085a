package node

import (
	"context"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// notifyOptions say how people hear of questions under a policy.
func (p *plan) notifyOptions(now *policy.Policy) notify.Options {
	return notify.Options{Channels: now.Channels(), Command: p.o.Notify, Env: p.o.Env.forOthers(), Getenv: p.o.Env.lookup, Link: p.o.Link, Log: p.o.Log}
}

// keepNotifying tells people what is asked, by the channels of the policy in force.
func (n *Node) keepNotifying(ctx context.Context) error {
	for ctx.Err() == nil {
		now := n.sidecar.Policy()
		together(ctx,
			func(ctx context.Context) error {
				if len(now.Channels()) > 0 || n.o.Notify != "" {
					notify.Run(ctx, n.inbox, n.notifyOptions(now))
				}
				<-ctx.Done()
				return nil
			},
			func(ctx context.Context) error {
				n.otherChannels(ctx, now)
				return nil
			})
	}
	return nil
}

// otherChannels waits for a policy that has others.
func (n *Node) otherChannels(ctx context.Context, than *policy.Policy) {
	for than.SameChannels(n.sidecar.Policy()) {
		select {
		case <-ctx.Done():
			return
		case <-n.reloaded:
		}
	}
}
