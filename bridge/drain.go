package bridge

import (
	"context"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
)

// Drain admits nothing more and waits for the calls at the server, at most
// until ctx ends; those still there then are answered as unknown.
func (s *Sidecar) Drain(ctx context.Context) {
	s.Handle(engine.Stopping{})
	s.Flush()
	for {
		select {
		case <-s.idle:
		case <-ctx.Done():
			s.Handle(engine.GivingUp{})
			s.flushAndWait()
			s.Handle(engine.GivingUp{}) // for answers whose requests have left only now
			s.flushAndWait()
			return
		}
		if s.flushAndWait(); !s.owes() {
			return
		}
	}
}

// Leave is for the end, however that came: what cannot be said to the topic by now
// is given up, on record. It waits for results that wait for the disk, as long as
// that may take.
func (s *Sidecar) Leave() {
	s.flushAndWait()
	s.Handle(engine.Leaving{})
	s.Settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.journal.telling {
		s.allTold.Wait()
	}
}

// Settle is Flush that also waits for a goroutine which is writing records already: what was
// handled before is on record when it returns, or cannot be. Whoever puts a record into the log
// without the Sidecar calls it first. Not to be called from within the Audit or the seat.
func (s *Sidecar) Settle() {
	s.flushBatch()
	s.Flush()
}

// owes reports whether answers are left for which the way out was full: the Engine
// tries them again, and says when they are gone.
func (s *Sidecar) owes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Owes()
}
