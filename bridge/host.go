package bridge

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// HostSaid hands on what the client that the server belongs to has said, which
// is a tools/call, an answer to something that we asked, or a cancellation, and
// makes leave what follows from it. It reports false for a cancellation of what
// is none of our business.
func (s *Sidecar) HostSaid(line []byte, m jsonrpc.Message) (taken bool) {
	s.mu.Lock()
	switch id := m.Get(jsonrpc.RequestID); engine.ShortMethod(&m) {
	case "tools/call":
		s.handleAndWake(engine.HostCalled{Line: line, Message: m})
	case "notifications/cancelled":
		if !s.engine.OwnsHostCall(id) {
			s.mu.Unlock()
			return false
		}
		s.handleAndWake(engine.HostCancelled{Line: line, ID: id})
	default:
		s.handleAndWake(engine.HostReplied{Message: m})
	}
	s.unlockAndTell()
	s.Flush()
	return true
}

// HostAnswered hears that the server answers its own client under a raw id, nil
// if which one depends on the reader. It reports false if the client must not
// get that, because the server cannot have the call.
func (s *Sidecar) HostAnswered(id []byte, m *jsonrpc.Message) (pass bool) {
	s.mu.Lock()
	defer s.unlockAndTell()
	pass = !s.engine.HoldsHostCall(id)
	if id == nil && !pass || s.engine.OwnsHostCall(id) {
		how := "unknown"
		if m != nil {
			how = engine.Outcome(m)
		}
		s.handleAndWake(engine.HostAnswered{ID: id, Outcome: how})
	}
	return pass
}
