package socket

import (
	"context"
	"fmt"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
)

// A Pending is a question, and where it is asked.
type Pending struct {
	At *Client
	approval.Summary
}

// Find is the question, of all that are open, whose name it is (see [approval.Summary.Named]).
// None and more than one are errors, *fault.Error with a hint.
func Find(ctx context.Context, all []*Client, name string) (found Pending, err error) {
	if len(all) == 0 {
		return found, fault.New(fault.Failed, "start one with \"mcpx-bridge run\"", "no bridge is running on this machine")
	}
	n := 0
	for _, c := range all {
		list, err := c.List(ctx, false)
		if err != nil {
			return found, fmt.Errorf("%s: %w", c.Known.ID, err)
		}
		for _, q := range list {
			if q.Named(name) {
				found = Pending{c, q}
				n++
			}
		}
	}
	switch {
	case n == 0:
		return found, NotOpen(name)
	case n > 1:
		return found, fault.New(fault.Failed, "write more of it", "there are %d questions whose id or digest begins with %q", n, name)
	}
	return found, nil
}

// NotOpen is the error for a name that no open question has.
func NotOpen(name string) error {
	return fault.New(fault.Failed, "mcpx-bridge approvals list says what is open", "no question is open whose id or digest begins with %q", name)
}
