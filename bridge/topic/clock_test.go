package topic

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// TestWelcomeTimeout: gwy-022, a gateway that takes the upgrade and says
// nothing, whatever we say.
func TestWelcomeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends []time.Duration
		g := &script{play: func(n int, p *player) {
			if n == 3 {
				p.say(welcomeD1)
			}
			start := time.Now()
			p.stay()
			ends = append(ends, time.Since(start))
		}}
		s := sit(t, g.bubble(t, Options{}))
		s.want("taken")
		if want := firstFrameGrace + welcomeTimeout; ends[0] != want || ends[1] != want {
			t.Errorf("left after %v, want %v", ends, want)
		}
		if asked := g.requests(); asked[0] == asked[1] {
			t.Errorf("the same path was tried again: %q", asked)
		}
	})
}

// A gateway that has welcomed us is left alone, also if we hear only then that it waits for
// our join: its welcome was waited for anew, and 10 s later we left.
func TestTheWelcomeIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &script{play: func(_ int, p *player) {
			p.say(welcomeD1)
			p.stay()
		}}
		g.rest = map[string]http.HandlerFunc{"/health": func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(askTimeout / 2)
			answers(`{"status":"ok","features":[]}`)(w, r)
		}}
		s := sit(t, g.bubble(t, Options{}))
		s.want("taken")
		s.quiet(time.Hour)
	})
}

// TestHalfOpen: a gateway that has gone without a word. It is noticed 10 s
// after a ping, which goes out every 15 s.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &script{play: func(n int, p *player) {
			p.say(welcomeD1)
			if n == 1 {
				p.SetPingHandler(func(string) error { return nil })
			}
			p.stay()
		}}
		s := sit(t, g.bubble(t, Options{}))
		s.want("taken")
		if n := s.want("lost the gateway does not answer pings"); n.at != pingEvery+pongWithin {
			t.Errorf("noticed at %v, want %v", n.at, pingEvery+pongWithin)
		}
		s.want("taken")
		s.quiet(time.Hour)
	})
}

// TestFramesAreLife: a gateway that answers no ping but goes on talking is not
// dead.
func TestFramesAreLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &script{play: func(_ int, p *player) {
			p.SetPingHandler(func(string) error { return nil })
			p.say(welcomeD1)
			go p.stay()
			for range 60 {
				time.Sleep(9 * time.Second)
				p.say(joinD1)
			}
		}}
		s := sit(t, g.bubble(t, Options{}))
		s.want("taken")
		for range 60 {
			s.want("got system/presence")
		}
	})
}

// TestPings: one every 15 s.
func TestPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pings atomic.Int32
		g := &script{play: func(_ int, p *player) {
			pong := p.PingHandler()
			p.SetPingHandler(func(data string) error { pings.Add(1); return pong(data) })
			p.say(welcomeD1)
			p.stay()
		}}
		s := sit(t, g.bubble(t, Options{}))
		s.want("taken")
		s.quiet(10*time.Minute + time.Second)
		if n := pings.Load(); n != 40 {
			t.Errorf("%d pings in ten minutes, want 40", n)
		}
	})
}

// TestGhost: O13, WIRE 1.5. After a re-connect the gateway has to list us, at
// 2 s and at 40 s; no list is no verdict.
func TestGhost(t *testing.T) {
	const listed, unlisted = `{"participants":[{"id":"fs"}]}`, `{"participants":[{"id":"bob"}]}`
	for _, c := range []struct {
		name    string
		welcome string
		path    string
		list    func(since time.Duration) string // "" answers 404
		lost    time.Duration                    // after the re-connect; 0: never
	}{
		{"O13 mcp-x/v0", welcomeD0, "/v0/topics/t1/participants", func(time.Duration) string { return unlisted }, 2 * time.Second},
		{"O13 mcpx/v0.1", welcomeD1, "/v0.1/topics/t1/participants", func(time.Duration) string { return unlisted }, 2 * time.Second},
		{"O13 mew/v0.4", welcomeD2("mew/v0.4"), "/participants", func(time.Duration) string { return unlisted }, 2 * time.Second},
		{"O13 forgotten later, when the old socket closes", welcomeD1, "/v0.1/topics/t1/participants", func(d time.Duration) string {
			if d < 30*time.Second {
				return listed
			}
			return unlisted
		}, 40 * time.Second},
		{"listed", welcomeD1, "/v0.1/topics/t1/participants", func(time.Duration) string { return listed }, 0},
		{"listed by id alone", welcomeD1, "/v0.1/topics/t1/participants", func(time.Duration) string { return `{"participants":["fs"]}` }, 0},
		{"no endpoint", welcomeD1, "/v0.1/topics/t1/participants", func(time.Duration) string { return "" }, 0},
		{"an answer that is no list", welcomeD1, "/v0.1/topics/t1/participants", func(time.Duration) string { return `{"error":"x"}` }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var back time.Time
				var asked atomic.Int32
				g := &script{play: func(n int, p *player) {
					mu.Lock()
					back = time.Now()
					mu.Unlock()
					p.say(c.welcome)
					if n == 1 {
						p.listen(time.Minute)
						return
					}
					p.stay()
				}}
				g.rest = map[string]http.HandlerFunc{c.path: func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					asked.Add(1)
					if r.Header.Get("Authorization") != "Bearer s3cret" || c.path == "/participants" && r.URL.Query().Get("space") != "t1" {
						t.Errorf("asked with %v for %v", r.Header, r.URL)
					}
					if list := c.list(time.Since(back)); list != "" {
						reply(w, list)
					} else {
						http.NotFound(w, r)
					}
				}}
				s := sit(t, g.bubble(t, Options{Token: token("s3cret")}))
				s.want("taken")
				if n := s.want("lost"); strings.Contains(n.what, "does not list us") != (c.lost == 40*time.Second) {
					t.Error("a list that never had us is taken for one of those who are here")
				}
				if n := asked.Swap(0); n != 2 {
					t.Errorf("asked %d times in the first minute, want 2", n)
				}
				again := s.want("taken").at
				if c.lost == 0 {
					s.quiet(time.Hour)
					if n := asked.Load(); n < 55 || n > 65 {
						t.Errorf("asked %d times in an hour, want one a minute", n)
					}
					return
				}
				if n := s.want("lost the gateway does not list us"); n.at-again != c.lost {
					t.Errorf("lost after %v, want %v", n.at-again, c.lost)
				}
				s.want("taken")
			})
		})
	}
}

// A counter notes when frames arrive.
type counter struct {
	mu     sync.Mutex
	frames []string
	at     []time.Time
}

func (c *counter) hear(p *player) {
	for f := p.hear(); f != ""; f = p.hear() {
		c.mu.Lock()
		c.frames, c.at = append(c.frames, f), append(c.at, time.Now())
		c.mu.Unlock()
	}
}

func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.frames
	c.frames = nil
	return f
}

// worst is the most frames that came in any one minute.
func (c *counter) worst() (most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.at {
		n := 0
		for _, at := range c.at[i:] {
			if at.Sub(c.at[i]) < time.Minute {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

const limitPath = "/v0/topics/t1/rate-limit"

// TestPacing: O38, ANCHORS 19. A gateway drops what is over 60 frames a
// minute without a word.
func TestPacing(t *testing.T) {
	foreign := map[string]http.HandlerFunc{limitPath: answers(`{"messages":3,"chatMessages":0,"resetTime":1}`)}
	t.Run("O38 a burst of 80 replies arrives whole, never over 60 a minute", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var c counter
			g := &script{rest: foreign, play: func(_ int, p *player) { p.say(welcomeD0); c.hear(p) }}
			s := sit(t, g.bubble(t, Options{}))
			s.want("taken")
			time.Sleep(time.Hour) // saves up no more than the burst
			for i := range 80 {
				if s.Send(wire.Reply, fmt.Append(nil, i)) != nil || s.Send(wire.Progress, []byte("progress")) != nil {
					t.Fatal("refused")
				}
				s.Flush()
				time.Sleep(time.Second / 80)
			}
			time.Sleep(time.Hour)
			if n := c.worst(); n > 60 {
				t.Errorf("%d frames in a minute", n)
			}
			got := slices.DeleteFunc(c.take(), func(f string) bool { return f == "progress" })
			for i := range 80 {
				if len(got) != 80 || got[i] != fmt.Sprint(i) {
					t.Fatalf("%d replies arrived: %q", len(got), got)
				}
			}
		})
	})
	// A cancellation of which nobody can say what it is about overtakes nothing that it may be about.
	t.Run("O38 the urgent overtake, progress never waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var c counter
			g := &script{play: func(_ int, p *player) { p.say(welcomeD2("mew/v0.4")); c.hear(p) }}
			s := sit(t, g.bubble(t, Options{Pace: 5})) // a burst of one
			s.want("taken")
			s.Send(wire.Own, []byte("first"))
			for _, class := range []wire.Class{wire.Progress, wire.Notice, wire.Own, wire.Question, wire.Cancellation, wire.Reply} {
				s.Send(class, fmt.Append(nil, class))
			}
			time.Sleep(time.Hour)
			if got := strings.Join(c.take(), " "); got != "first 0 2 3 1 4" {
				t.Errorf("the order was %s", got)
			}
		})
	})
	for class, what := range map[wire.Class]string{wire.Own: "a request", wire.Question: "a question"} {
		t.Run("O38 "+what+" is not overtaken by what takes it back", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c counter
				g := &script{play: func(_ int, p *player) { p.say(welcomeD2("mew/v0.4")); c.hear(p) }}
				s := sit(t, g.bubble(t, Options{Pace: 5})) // a burst of one
				s.want("taken")
				s.Send(wire.Reply, []byte("x"))
				s.Send(class, []byte("asked"))
				s.Send(wire.Cancellation, []byte("cancel"))
				s.Send(wire.Notice, []byte("notice"))
				time.Sleep(time.Hour)
				if got := strings.Join(c.take(), " "); got != "x asked cancel notice" {
					t.Errorf("the order was %s", got)
				}
				s.Send(wire.Reply, []byte("x"))
				s.Send(wire.Notice, []byte("notice"))
				s.Send(wire.Cancellation, []byte("cancel"))
				time.Sleep(time.Hour)
				if got := strings.Join(c.take(), " "); got != "x cancel notice" {
					t.Errorf("with nothing to take back that waits, the order was %s", got)
				}
			})
		})
	}
	t.Run("O38 what takes back something that has left overtakes what waits", func(t *testing.T) {
		for cancel, want := range map[string]string{
			`{"payload":{"method":"notifications/cancelled","params":{"requestId":"gone"}}}`:    "cancel question own",
			`{"payload":{"method":"notifications/cancelled","params":{"requestId":"own"}}}`:     "question own cancel",
			`{"payload":{"params":{"requestId":"question"}},"correlation_id":["gone"]}`:         "question cancel own",
			`{"kind":"mcp/withdraw:proposal","correlation_id":["own"],"payload":{"reason":""}}`: "question own cancel",
			`{"kind":"mcp/withdraw","correlation_id":"gone","payload":{"reason":""}}`:           "cancel question own",
			`{"kind":"mcp/withdraw"}`: "question own cancel",
		} {
			synctest.Test(t, func(t *testing.T) {
				var c counter
				g := &script{play: func(_ int, p *player) { p.say(welcomeD2("mew/v0.4")); c.hear(p) }}
				s := sit(t, g.bubble(t, Options{Pace: 5})) // a burst of one
				s.want("taken")
				s.Send(wire.Reply, []byte("x"))
				s.Send(wire.Own, []byte(`{"own":"own"}`))
				s.Send(wire.Question, []byte(`{"question":"question"}`))
				s.Send(wire.Cancellation, []byte(cancel))
				time.Sleep(time.Hour)
				got := strings.Join(c.take(), " ")
				if got = strings.NewReplacer(cancel, "cancel", `{"own":"own"}`, "own", `{"question":"question"}`, "question").Replace(got); got != "x "+want {
					t.Errorf("%s: the order was %s", cancel, got)
				}
			})
		}
	})
	t.Run("half of the burst is kept for answers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var c counter
			g := &script{play: func(_ int, p *player) { p.say(welcomeD1); c.hear(p) }}
			s := sit(t, g.bubble(t, Options{Pace: 50})) // a burst of ten
			s.want("taken")
			for range 20 {
				s.Send(wire.Progress, []byte("progress"))
			}
			for i := range 5 {
				s.Send(wire.Reply, fmt.Append(nil, i))
			}
			s.Flush()
			synctest.Wait()
			if got := strings.Join(c.take(), " "); got != "progress progress progress progress progress 0 1 2 3 4" {
				t.Errorf("at once arrived %s", got)
			}
		})
	})
	t.Run("what waits is said before we leave", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var c counter
			g := &script{play: func(_ int, p *player) { p.say(welcomeD1); c.hear(p) }}
			s := sit(t, g.bubble(t, Options{Pace: 5}))
			s.want("taken")
			for i := range 20 {
				s.Send(wire.Reply, fmt.Append(nil, i))
			}
			s.stop()
			synctest.Wait()
			if got := c.take(); len(got) != 20 {
				t.Errorf("%d frames arrived: %q", len(got), got)
			}
		})
	})
	for name, rest := range map[string]map[string]http.HandlerFunc{
		"our own gateway is not paced":                   {"/health": answers(`{"server":"mcpx-bridge"}`), limitPath: foreign[limitPath]},
		"nor one that does not answer for a rate limit":  nil,
		"nor one whose answer says nothing of the sort ": {limitPath: answers(`<html>`)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c counter
				g := &script{rest: rest, play: func(_ int, p *player) { p.say(welcomeD0); c.hear(p) }}
				s := sit(t, g.bubble(t, Options{}))
				s.want("taken")
				for i := range 200 {
					s.Send(wire.Reply, fmt.Append(nil, i))
				}
				s.Flush()
				start := time.Now()
				synctest.Wait()
				if got := c.take(); len(got) != 200 || time.Since(start) > 0 {
					t.Errorf("%d frames arrived in %v", len(got), time.Since(start))
				}
			})
		})
	}
}

// A gateway of mew forgets us, and leaves our socket open, when somebody joins under our
// id and leaves: that is noticed within a minute, and at once where it says so (FINDINGS
// D5).
func TestASeatThatIsLostWithAnOpenSocketIsNoticed(t *testing.T) {
	const us, nobody = `{"participants":[{"id":"bob"},{"id":"fs"}]}`, `{"participants":[{"id":"bob"}]}`
	for protocol, welcome := range map[string]string{"mcp-x/v0": welcomeD0, "mcpx/v0.1": welcomeD1, "mew/v0.4": welcomeD2("mew/v0.4")} {
		for _, tells := range []bool{false, true} {
			t.Run(fmt.Sprint(protocol, tells), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var list atomic.Pointer[string]
					here, gone := us, nobody
					list.Store(&here)
					path := restPrefixes[protocol] + "/topics/t1/participants"
					if restPrefixes[protocol] == "" {
						path = "/participants"
					}
					g := &script{rest: map[string]http.HandlerFunc{path: func(w http.ResponseWriter, _ *http.Request) { reply(w, *list.Load()) }}, play: func(n int, p *player) {
						p.say(welcome)
						if n > 1 {
							list.Store(&here)
							p.stay()
							return
						}
						d, _ := wire.Lookup(protocol)
						time.AfterFunc(10*time.Minute+time.Second, func() {
							list.Store(&gone)
							if tells {
								p.say(string(d.AppendPresence(nil, "x", "", "leave", wire.Participant{ID: "fs"})))
							}
						})
						p.stay()
					}}
					s := sit(t, g.bubble(t, Options{}))
					s.want("taken")
					if tells {
						s.want("got")
					}
					n := s.want("lost the gateway does not list us")
					if after := n.at - 10*time.Minute - time.Second; after > listedEvery || tells && after != presenceDelay {
						t.Errorf("noticed after %v", after)
					}
					s.want("taken")
					s.quiet(time.Hour)
				})
			})
		}
	}
}

// Nobody waits for the first word of a gateway that waits for ours, where that is known:
// by the dialect that we were told, by what it says of itself, by what it did the last time
// (FINDINGS D14).
func TestNobodyWaitsForAGatewayThatWaitsForUs(t *testing.T) {
	for _, c := range []struct {
		name, dialect, path, health string
		first, again                time.Duration
	}{
		{"told", "mew/v0.4", "", "", 0, 0},
		{"it says so", "", "", `{"status":"ok","spaces":1,"clients":0,"features":["mcp-proposals"]}`, 0, 0},
		{"nobody says so", "", "", "", firstFrameGrace, 0},
		{"it says something else", "", "", `{"status":"healthy","protocol":"mcpx/v0.1","features":[]}`, firstFrameGrace, 0},
		{"one that speaks first", "mew/v0.4", "/spaces/t1", "", firstFrameGrace, firstFrameGrace},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := []time.Duration{c.first, c.again}
				g := &script{play: func(n int, p *player) {
					start := time.Now()
					p.hear()
					if d := time.Since(start); n <= 2 && d != want[n-1] {
						t.Errorf("connection %d: joined after %v, want %v", n, d, want[n-1])
					}
					p.say(welcomeD2("mew/v0.4"))
					if n == 1 {
						p.end(1001, "")
						return
					}
					p.stay()
				}}
				if c.health != "" {
					g.rest = map[string]http.HandlerFunc{"/health": answers(c.health)}
				}
				o := g.bubble(t, Options{Dialect: c.dialect})
				o.URL += c.path
				s := sit(t, o)
				s.want("taken", "lost", "taken")
			})
		})
	}
}
