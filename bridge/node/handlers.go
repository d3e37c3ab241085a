package node

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// seatOf makes the seat's errors those that package bridge asks for.
type seatOf struct{ *topic.Seat }

func (s seatOf) Send(c wire.Class, frame []byte) error {
	err := s.Seat.Send(c, frame)
	if err == nil || errors.Is(err, outbox.ErrFull) || errors.Is(err, topic.ErrTooLarge) {
		return err
	}
	return bridge.ErrNoSeat // a link that is breaking is no seat either
}

// fromTopic is the sidecar as the seat's handler. welcomed hears of each seat taken, when
// the sidecar has.
type fromTopic struct {
	*bridge.Sidecar
	linger   func()
	welcomed func(wire.Dialect, wire.Welcome)
}

func (t fromTopic) SeatTaken(d wire.Dialect, w wire.Welcome) {
	t.Sidecar.SeatTaken(d, w)
	t.welcomed(d, w)
}

// TopicIdle stays awake for the answer to a single call. Where there are several,
// more than one is answered by the time we have been to sleep, so that it costs
// each of them less.
func (t fromTopic) TopicIdle() {
	t.Sidecar.TopicIdle()
	if t.Running() == 1 {
		t.linger()
	}
}

// fromServer tells the sidecar, and the inbox, what happens to the server.
type fromServer struct {
	sidecar *bridge.Sidecar
	inbox   *localInbox
	pid     *atomic.Int64 // of the server's process, 0 while there is none
}

// ServerUp and the following are those of stdio.Handler.
func (s fromServer) ServerUp(h stdio.Hello) {
	s.pid.Store(int64(h.PID))
	s.sidecar.Handle(engine.ServerUp{Hello: engine.Hello(h)})
}

func (s fromServer) ServerMessage(m jsonrpc.Message) {
	s.sidecar.Handle(engine.ServerSaid{Message: m})
}

func (s fromServer) ServerNoise(n stdio.Noise) {
	s.sidecar.Handle(engine.ServerNoise{Reason: n.Reason, Head: n.Head, Count: n.Count, Answer: n.Answer, ID: n.ID})
}

func (s fromServer) ServerDown(x stdio.Exit) {
	s.pid.Store(0)
	s.inbox.serverUp(false)
	retry := time.Duration(-1)
	if x.Restarting {
		retry = x.In
	}
	s.sidecar.Handle(engine.ServerDown{Reason: x.Cause, Cause: x.String(), ExitCode: x.Code, Signal: x.Signal,
		Stderr: x.Stderr, Unsent: x.Unsent, Retry: retry})
	s.sidecar.Flush()
}

func (s fromServer) ServerIdle() { s.sidecar.Flush() }
