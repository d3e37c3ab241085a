package hub_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
)

// A shelf is a sink with room for a few frames, whose reader takes them when somebody waits for that.
type shelf struct {
	ear
	mu    sync.Mutex
	stand int
	cut   bool
}

const shelfRoom = 16

func (s *shelf) Put([]byte) hub.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stand == shelfRoom {
		return hub.Slow
	}
	if s.stand++; s.stand > shelfRoom/2 {
		return hub.Crowded
	}
	return hub.Taken
}

func (s *shelf) Cut(int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
}

func (s *shelf) WaitForRoom(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stand = 0
}

// Who takes the same seat again and again, also many times at once, waits for those who are to hear
// of it: a bridge in the gateway's process lost its seat to that.
func TestWhoCameAgainAndAgainCostOthersTheSeat(t *testing.T) {
	for name, at := range map[string]int{"one after the other": 1, "at once": 20} {
		t.Run(name, func(t *testing.T) {
			h := open(hub.Options{})
			defer h.Close()
			slow := sitsSlowly(t, h)
			var clients sync.WaitGroup
			for range at {
				clients.Go(func() {
					for i := range 100 {
						again, _ := guest("again", int64(2+i))
						s, err := h.Join(t.Context(), "t", again)
						if err == nil && i%2 > 0 {
							s.Leave()
						}
					}
				})
			}
			clients.Wait()
			if slow.cut {
				t.Error("the slow one was cut")
			}
		})
	}
}

// Who is served within Flush waits for nobody, who could be waiting for him.
func TestWhoIsServedInlineComesAtOnce(t *testing.T) {
	h := open(hub.Options{})
	defer h.Close()
	slow := sitsSlowly(t, h)
	for i := range shelfRoom {
		inside, _ := guest(fmt.Sprint("inside", i%2), int64(2+i))
		inside.Sink = &within{}
		if _, err := h.Join(t.Context(), "t", inside); err != nil {
			t.Fatal(err)
		}
	}
	if !slow.cut {
		t.Error("it waited for room")
	}
}

// within is a sink that is served inline.
type within struct{ ear }

func (*within) Put([]byte) hub.Outcome { return hub.Taken }
func (*within) Cut(int, string)        {}
func (*within) Inline() bool           { return true }

// sitsSlowly has somebody sit in topic t who takes nothing unless the test does.
func sitsSlowly(t *testing.T, h *hub.Hub) *shelf {
	t.Helper()
	slow := &shelf{}
	who, _ := guest("slow", 1)
	who.Sink = slow
	if _, err := h.Join(t.Context(), "t", who); err != nil {
		t.Fatal(err)
	}
	return slow
}
