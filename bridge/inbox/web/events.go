package web

import (
	"net/http"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// events tells a page when to look again. Because says at which bridge something happened.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	socket.Stream(w, r, s.feed.Watch, patience)
}

// inboxOf is that of the bridge in the path of a request.
func (s *Server) inboxOf(r *http.Request) inbox.Inbox {
	if src := s.source(r.PathValue("bridge")); src != nil {
		return src.Inbox
	}
	return nil
}
