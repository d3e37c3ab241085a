package bridge

import (
	"context"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Decide hands on what a person at this machine says to a question, and returns
// what came of it: a Noted where the answer counts for nothing or others must
// agree too, a Settled where it ended the question, nothing if there is no such
// question.
func (s *Sidecar) Decide(a approval.Answer) []approval.Act {
	s.mu.Lock()
	s.handleAndWake(engine.Decided{Answer: a})
	told := s.told
	s.unlockAndTell()
	s.Flush()
	return told
}

// Halt has nothing start any more, and returns how the bridge is halted: as ev says, or as it
// was before. It waits for no disk: when it returns, no call leaves any more, be it on record
// that it starts, and what had left is in the pipe to the server.
func (s *Sidecar) Halt(ev engine.Halt) engine.Halted {
	s.mu.Lock()
	s.handleAndWake(ev)
	how := *s.engine.Halted()
	s.unlockAndTell()
	s.server.Flush() // whoever has put lines there may not have come to it
	s.Flush()
	return how
}

// Resume lets things start again, and returns when they do: as soon as that is on record. An
// error says why the bridge is halted still, or, when ctx has ended, that it may be.
func (s *Sidecar) Resume(ctx context.Context, ev engine.Resume) error {
	done := make(chan error, 1)
	s.mu.Lock()
	s.resuming = append(s.resuming, done)
	s.handleAndWake(ev)
	s.unlockAndTell()
	s.Flush()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Halted is how the bridge is halted, nil if it is not. Nobody changes it any more.
func (s *Sidecar) Halted() *engine.Halted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Halted()
}

// Rules are what [engine.Config] asks for to go on under them: what is in force, and the last that
// somebody stood behind.
func (s *Sidecar) Rules() (now, backed *policy.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Policy(), s.engine.Backed()
}

// Described is a call with what is known of it, and the policy in force; see [engine.Engine.Described].
func (s *Sidecar) Described(c policy.Call) (*policy.Policy, policy.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Policy(), s.engine.Described(c)
}

// Pending lists open questions, the oldest first; limit 0: all from skip on.
func (s *Sidecar) Pending(skip, limit int) []approval.Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Pending(skip, limit)
}

// View is one question as a person at this machine sees it; see [engine.Engine.View].
func (s *Sidecar) View(id string, whole bool) (approval.View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.View(s.o.Now(), id, whole)
}

// PublicView is one question as it may be shown off this machine; see [engine.Engine.PublicView].
func (s *Sidecar) PublicView(id string) (approval.View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.PublicView(s.o.Now(), id)
}

// Grants are as those of [engine.Engine.Grants].
func (s *Sidecar) Grants() []approval.Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Grants(s.o.Now())
}

// Revoke forgets a yes, and reports whether there was one of that id.
func (s *Sidecar) Revoke(id string) bool {
	s.mu.Lock()
	had := slices.ContainsFunc(s.engine.Grants(s.o.Now()), func(g approval.Grant) bool { return g.ID == id })
	s.handleAndWake(engine.Revoked{Grant: id})
	s.unlockAndTell()
	s.Flush()
	return had
}
