package bridge

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// SeatTaken, SeatLost, Received, Refused and TopicIdle are what a seat at a
// topic calls.
func (s *Sidecar) SeatTaken(d wire.Dialect, w wire.Welcome) {
	s.Handle(engine.Seated{Dialect: d, Welcome: w})
	s.Flush()
}
func (s *Sidecar) SeatLost(err error)        { s.Handle(engine.Unseated{Err: err}) }
func (s *Sidecar) Received(e *wire.Envelope) { s.Handle(engine.Arrived{Envelope: e}) }
func (s *Sidecar) Refused(r *wire.Refused)   { s.Handle(engine.Garbled{Refused: r}) }
func (s *Sidecar) TopicIdle()                { s.Flush() }
