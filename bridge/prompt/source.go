package prompt

import (
	"context"
	"errors"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// A Found is an inbox as a Finder found it.
type Found struct {
	inbox.Inbox
	Name  string // distinct from all others'
	Label string // for people

	// Page makes a new link to the page of its own; nil: it has none, or none for who sits here.
	// What leads there is for the screen alone.
	Page func() string

	status inbox.Status // as it was when something was last heard of it
}

// A Finder returns the inboxes that there are now, without those whose names
// are known already.
type Finder func(ctx context.Context, known func(name string) bool) ([]*Found, error)

// Bridges finds the bridges of this user on this machine, by their sockets in
// dir. want narrows them down; nil: all.
func Bridges(dir string, want func(inbox.Status) bool) Finder {
	return func(ctx context.Context, known func(string) bool) (found []*Found, err error) {
		others, err := socket.Others(ctx, dir, known)
		for _, c := range others {
			if want == nil || want(c.Known) {
				found = append(found, &Found{Inbox: c, Name: c.Path, Label: c.Known.ID + " in " + c.Known.Topic, status: c.Known})
			}
		}
		return found, err
	}
}

// Only finds one inbox, and again when it has ended.
func Only(f *Found) Finder {
	return func(_ context.Context, known func(string) bool) ([]*Found, error) {
		if known(f.Name) {
			return nil, nil
		}
		return []*Found{f}, nil
	}
}

// gone: the question is not open any more, so nobody need hear of it.
func gone(err error) bool {
	r, ok := errors.AsType[*inbox.Refusal](err)
	return ok && (r.Reason == inbox.Unknown || r.Reason == inbox.AlreadyDecided)
}
