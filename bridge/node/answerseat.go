package node

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Answers that come by a channel are those of participants, who must have been asked as all others
// are: so the bridge takes a seat for each of them, with nothing but the right to answer. Whoever
// has that seat already keeps it, and whoever comes for it gets it.

// answerSeats are the inboxes of those participants, while they have a seat.
type answerSeats struct {
	*plan
	seated latch // set when the bridge has been in the topic

	mu     sync.Mutex
	inside map[string]inbox.Inbox
}

var errNoSeat = errors.New("it has no seat in the topic")

func (s *answerSeats) of(_ context.Context, id string) (inbox.Inbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.inside[id]; in != nil {
		return in, nil
	}
	return nil, errNoSeat
}

func (s *answerSeats) put(id string, in inbox.Inbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inside == nil {
		s.inside = map[string]inbox.Inbox{}
	}
	s.inside[id] = in
}

// answering are the participants whose answers may come by a channel, each once.
func answering(now *policy.Policy) (ids []string) {
	for _, c := range now.Channels() {
		for _, who := range c.People {
			ids = append(ids, who)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// How long it takes until a seat is tried for again.
const (
	seatSoon = time.Second
	seatLate = 30 * time.Second
)

// keep has a seat for a participant until ctx ends.
func (s *answerSeats) keep(ctx context.Context, id string) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.seated.set: // by then there is a gateway
	}
	told := ""
	for wait := seatSoon; ; wait = min(2*wait, seatLate) {
		began := time.Now()
		err := s.sit(ctx, id)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > seatLate {
			wait = seatSoon
		}
		if why := text.Line(err.Error()); why != told {
			s.o.Log.Warn("answers of "+id+" by a channel do not count now", "error", why)
			told = why
		}
		if errors.Is(err, errForeignGateway) {
			<-ctx.Done()
			return nil
		}
		if !pause.For(ctx, wait) {
			return nil
		}
	}
}

var (
	errForeignGateway = errors.New("the bridge takes a seat for others at this machine's own gateway only, and --gateway names another")
	errSeatTaken      = errors.New("somebody else has that seat, and questions go there: where that is another bridge, give the people of each bridge an id of their own")
)

// sit has a seat for a participant until it is lost or somebody else comes for it.
func (s *answerSeats) sit(ctx context.Context, id string) error {
	way, err := s.o.Connect(id)
	if err != nil {
		return err
	}
	defer way.Close()
	if way.Local == nil { // a token of the bridge's own would join as the bridge
		return errForeignGateway
	}
	way.Hosts, way.Bears, way.Derived, way.State, way.Join.PinID, way.Caps = false, false, false, s.o.State, true, []byte(`["mcp/response:*"]`)
	if err := way.Locate(ctx); err != nil {
		return err
	}
	at, _ := way.Where()
	here, err := way.Local.Present(ctx, at, way.Join.Topic)
	if err != nil {
		return err
	}
	if slices.Contains(here, id) {
		return errSeatTaken
	}
	defer way.HoldApprover(ctx).Close()
	in := &client.ApprovalInbox{}
	defer in.Close()
	c := client.New(way, client.Options{Version: s.o.Version, Yields: true, Log: s.o.Log, Approvals: in})
	if err := c.Dial(ctx); err != nil {
		return err
	}
	defer c.Close()
	s.put(id, in)
	defer s.put(id, nil)
	select {
	case <-ctx.Done():
		return nil
	case <-c.Done():
		return c.Err()
	}
}
