package topic

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// However pacing ends, be it that the seat is left or that the gateway turns out not to
// count, the progress that was dropped for it is told once, and all of it.
func TestDroppedProgressIsToldOnceWhenPacingEnds(t *testing.T) {
	for name, c := range map[string]struct {
		pace  int
		lifts bool
	}{"we leave": {pace: 5}, "it was lifted before we leave": {lifts: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				asked := make(chan struct{})
				g := &script{
					rest: map[string]http.HandlerFunc{"/health": func(w http.ResponseWriter, _ *http.Request) {
						<-asked
						reply(w, `{"server":"mcpx-bridge"}`)
					}},
					play: func(_ int, p *player) { p.say(welcomeD0); p.stay() },
				}
				s := sit(t, g.bubble(t, Options{Pace: c.pace, Log: slog.New(slog.NewTextHandler(&log, nil))}))
				s.want("taken")
				for range 30 {
					s.Send(wire.Progress, []byte("progress"))
				}
				s.Flush()
				if !s.Paced() {
					t.Error("it drops progress and is not paced")
				}
				close(asked)
				synctest.Wait()
				if s.Paced() != !c.lifts {
					t.Errorf("paced: %t", s.Paced())
				}
				if told := strings.Count(log.String(), "progress frames dropped"); c.lifts != (told == 1) {
					t.Errorf("told %d times before we leave", told)
				}
				s.Send(wire.Reply, []byte("last"))
				s.stop()
				s.ended <- <-s.ended
				want := "count=29" // of a burst of one; of one of ten, half is kept for answers
				if c.lifts {
					want = "count=25"
				}
				if told := strings.Count(log.String(), "progress frames dropped"); told != 1 || !strings.Contains(log.String(), want) {
					t.Errorf("told %d times, want once with %s:\n%s", told, want, log.String())
				}
			})
		})
	}
}

// pacedByOne is seated with a burst of one, which is spent. left asks what has left in the end, and in which order.
func pacedByOne(t *testing.T) (s *sitting, left func(want string)) {
	t.Helper()
	var c counter
	g := &script{play: func(_ int, p *player) { p.say(welcomeD1); c.hear(p) }}
	s = sit(t, g.bubble(t, Options{Pace: 5}))
	s.want("taken")
	s.Send(wire.Reply, []byte("first"))
	return s, func(want string) {
		t.Helper()
		time.Sleep(time.Hour)
		if got := strings.Join(c.take(), " "); got != want {
			t.Errorf("the order was %s", got)
		}
	}
}

// A claim that comes again has a token before what waits, and of two in a row no more than one.
func TestClaimsAndWhatWaitsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, left := pacedByOne(t)
		for i := range 3 {
			s.Send(wire.Reply, fmt.Append(nil, "reply", i))
		}
		for claims := 0; claims < 3; time.Sleep(claimAgain / 4) {
			for s.Send(wire.Claim, fmt.Append(nil, "claim", claims)) == nil {
				claims++
			}
			s.Flush()
		}
		left("first claim0 reply0 claim1 reply1 claim2 reply2")
	})
}

// A token that is kept for a claim is for others again once that does not come.
func TestAClaimThatDoesNotComeAgainKeepsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, left := pacedByOne(t)
		time.Sleep(12*time.Second - claimAgain/2)
		if s.Send(wire.Claim, []byte("claim")) == nil {
			t.Error("it passed before there was a token")
		}
		time.Sleep(claimAgain * 3 / 4)
		for i := range 3 {
			s.Send(wire.Progress, []byte("progress"))
			s.Send(wire.Reply, fmt.Append(nil, "reply", i))
		}
		left("first reply0 reply1 reply2")
	})
}

// Whoever causes as many answers as may leave keeps nothing else from leaving, whatever it is.
func TestManyAnswersKeepNothingElseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counter
		g := &script{play: func(_ int, p *player) { p.say(welcomeD1); c.hear(p) }}
		s := sit(t, g.bubble(t, Options{Pace: 60}))
		s.want("taken")
		s.flood(40)
		others := map[wire.Class]string{wire.Cancellation: "cancellation", wire.Question: "question", wire.Own: "own", wire.Notice: "notice"}
		for class, frame := range others {
			s.Send(class, []byte(frame))
		}
		for range 60 {
			s.Send(wire.Cancellation, []byte("more"))
			s.flood(1)
			time.Sleep(time.Second)
		}
		got := c.take()
		for _, frame := range others {
			if !slices.Contains(got, frame) {
				t.Errorf("%s has not left", frame)
			}
		}
		answers := 0
		for _, f := range got {
			if f == "reply" {
				answers++
			}
		}
		if answers < 12+30 { // the burst, and half of what left in that minute
			t.Errorf("of %d frames %d were answers", len(got), answers)
		}
	})
}

func (s *sitting) flood(n int) {
	for range n {
		s.Send(wire.Reply, []byte("reply"))
	}
	s.Flush()
}

// A gateway that says nothing of whether it counts, because it has much to do, may count.
func TestAGatewayThatDoesNotAnswerIsPacedAndAskedAgain(t *testing.T) {
	for name, last := range map[string]http.HandlerFunc{
		"it does not count": http.NotFound,
		"it counts":         answers(`{"messages":3}`),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, n := make(chan int), 0
				g := &script{
					rest: map[string]http.HandlerFunc{limitPath: func(w http.ResponseWriter, r *http.Request) {
						n++
						asked <- n
						switch n {
						case 1:
							<-r.Context().Done()
						case 2:
							http.Error(w, "one moment", http.StatusServiceUnavailable)
						default:
							last(w, r)
						}
					}},
					play: func(_ int, p *player) { p.say(welcomeD0); p.stay() },
				}
				s := sit(t, g.bubble(t, Options{}))
				s.want("taken")
				for i := range 3 {
					if !s.Paced() {
						t.Errorf("not paced after %d requests", i)
					}
					select {
					case <-asked:
					case <-time.After(time.Hour):
						t.Fatalf("after %d requests it is asked no more", i)
					}
				}
				synctest.Wait()
				if s.Paced() != (name == "it counts") {
					t.Errorf("paced: %t", s.Paced())
				}
				time.Sleep(time.Hour)
				if n != 3 {
					t.Errorf("it was asked %d times", n)
				}
			})
		})
	}
}
