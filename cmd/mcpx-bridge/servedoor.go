package main

import (
	"context"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// openDoor lets mcpx-bridge approve at this machine answer what we are asked,
// for clients that cannot put questions to their person. It is no trouble if it
// cannot: another client may have started us twice.
func (s *serving) openDoor() {
	home, err := stateHome(s.p.getenv)
	if err == nil {
		err = home.Open()
	}
	if err == nil {
		s.door, err = socket.Open(socket.Options{Dir: home.File("control"), ID: s.q.door.Join.ID, Inbox: settling{s.asked, s}, Log: s.p.log})
	}
	if err != nil {
		s.p.log.Warn("mcpx-bridge approve does not reach this client's questions", "error", err)
	}
}

func (s *serving) keepDoor(ctx context.Context) error {
	if s.door == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return s.door.Serve(ctx)
}

// A settling tells the client of what was answered elsewhere than at it.
type settling struct {
	*client.ApprovalInbox
	s *serving
}

func (l settling) Decide(ctx context.Context, d inbox.Decision) (inbox.Outcome, error) {
	outcome, err := l.ApprovalInbox.Decide(ctx, d)
	if err == nil {
		l.s.settled(d.ID)
	}
	return outcome, err
}
