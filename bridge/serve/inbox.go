package serve

import (
	"context"
	"errors"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// OpenInbox lets others at this machine answer what this participant is asked, for clients
// that cannot put questions to their person. dir is where the sockets of this user are. It
// comes after Start and before Run, which closes it; its error says why there is no socket,
// and all else goes on without.
func (s *Server) OpenInbox(dir string) (err error) {
	s.socket, err = socket.Open(socket.Options{Dir: dir, ID: s.way.Join.ID, Inbox: settling{s.asked, s}, Log: s.o.Log})
	return err
}

func (s *Server) keepInbox(ctx context.Context) error {
	if s.socket == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return s.socket.Serve(ctx)
}

// A settling tells the client of what was answered elsewhere than at it.
type settling struct {
	*client.ApprovalInbox
	s *Server
}

func (l settling) Decide(ctx context.Context, d inbox.Decision) (inbox.Outcome, error) {
	outcome, err := l.ApprovalInbox.Decide(ctx, d)
	refusal, refused := errors.AsType[*inbox.Refusal](err)
	if err == nil || refused && refusal.Reason == inbox.Unknown {
		l.s.settled(d.ID)
	}
	return outcome, err
}
