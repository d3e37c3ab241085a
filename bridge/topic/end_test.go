package topic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// token is a token source that always has the same one.
func token(text string) func(context.Context, bool) (string, error) {
	return func(context.Context, bool) (string, error) { return text, nil }
}

// TestFates is the table of close codes (WIRE 2.4) and of refused upgrades.
func TestFates(t *testing.T) {
	for _, c := range []struct {
		code   int
		reason string
		want   outcome
	}{
		{1008, "Topic parameter required", misplaced},
		{1008, "Authorization required (header or query param)", refused},
		{1008, "Invalid token", refused},
		{1008, "Token not valid for this topic", refused},
		{1008, "Topic t1 is full", retry},
		{1008, "Topic token-shop is full", retry},
		{1008, "slow consumer", retry},
		{1011, "Internal server error", retry},
		{1000, "Duplicate connection - disconnecting old session", evicted},
		{1000, "", retry},
		{1001, "", retry},
		{1005, "", retry},
		{1006, "unexpected EOF", retry},
		{1009, "", retry},
		{4001, "somebody else joined under this id", evicted},
		{4401, "", refused},
		{4403, "", refused},
		{http.StatusUnauthorized, "", refused},
		{http.StatusForbidden, "", refused},
		{http.StatusBadRequest, "", misplaced},
		{http.StatusNotFound, "", misplaced},
		{http.StatusFound, "", misplaced},
		{http.StatusTooManyRequests, "", retry},
		{http.StatusBadGateway, "", retry},
		{http.StatusServiceUnavailable, "", retry},
	} {
		if got := outcomeOf(fmt.Errorf("x: %w", &wire.CloseError{Code: c.code, Reason: c.reason})); got != c.want {
			t.Errorf("%d %q: %d, want %d", c.code, c.reason, got, c.want)
		}
	}
	if got := outcomeOf(errors.New("connection refused")); got != retry {
		t.Errorf("no close at all: %d", got)
	}
}

// TestRefusedToken: O11, gwy-024 and ANCHORS 4. A fresh token is asked for
// once; there is no hot loop.
func TestRefusedToken(t *testing.T) {
	closing := func(_ int, p *player) { p.end(1008, "Invalid token") }
	unauthorized := func(*http.Request) int { return http.StatusUnauthorized }
	for _, c := range []struct {
		name string
		g    *script
	}{
		{"O11 by a close after the upgrade", &script{play: closing}},
		{"by close 4401", &script{play: func(_ int, p *player) { p.end(4401, "expired") }}},
		{"by a close that repeats it", &script{play: func(_ int, p *player) { p.end(1008, "Invalid token s3cret") }}},
		{"by the status of the upgrade", &script{door: unauthorized}},
		{"after a welcome, again and again", &script{play: func(_ int, p *player) { p.say(welcomeD1); p.end(1008, "Invalid token") }}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []bool
				s := sit(t, c.g.bubble(t, Options{Token: func(_ context.Context, again bool) (string, error) {
					calls = append(calls, again)
					return "s3cret", nil
				}}))
				f := s.fatal(4)
				if strings.Contains(f.Error(), "s3cret") {
					t.Errorf("the error shows the token: %q", f)
				}
				if len(calls) != 2 || calls[0] || !calls[1] {
					t.Errorf("asked for tokens %v, want [false true]", calls)
				}
			})
		})
	}
	t.Run("without a source there is no second try", func(t *testing.T) {
		g := &script{door: unauthorized}
		sit(t, Options{URL: g.real(t)}).fatal(4)
		if n := len(g.requests()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
	t.Run("a fresh token mends it, and a later expiry again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var made atomic.Int32
			g := &script{
				door: func(r *http.Request) int {
					if r.Header.Get("Authorization") != fmt.Sprint("Bearer ", made.Load()/2*2+1) {
						return http.StatusUnauthorized
					}
					return 0
				},
				play: func(_ int, p *player) { p.say(welcomeD1); p.listen(time.Hour); made.Add(1); p.end(4401, "expired") },
			}
			s := sit(t, g.bubble(t, Options{Token: func(_ context.Context, again bool) (string, error) {
				if again {
					return fmt.Sprint(made.Load()/2*2 + 1), nil
				}
				return "old", nil
			}}))
			s.want("taken", "lost", "taken")
		})
	})
}

// TestTriesAgain lists what ends a session without ending Run.
func TestTriesAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(p *player)
	}{
		{"O11 the topic is full", func(p *player) { p.end(1008, "Topic t1 is full") }},
		{"O11 an internal error", func(p *player) { p.end(1011, "Internal server error") }},
		{"O11 cut off", func(*player) {}},
		{"going away", func(p *player) { p.end(1001, "") }},
		{"no status", func(p *player) { p.end(1005, "") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &script{play: func(n int, p *player) {
				p.say(welcomeD1)
				if n == 1 {
					c.end(p)
				} else {
					p.stay()
				}
			}}
			sit(t, Options{URL: g.real(t)}).want("taken", "lost", "taken")
		})
	}
}

// TestGatewayAwayForLong: ANCHORS 3, a gateway that is down for longer than
// one retry. It must be joined again whenever it comes back.
func TestGatewayAwayForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var dials atomic.Int32
		g := &script{play: func(n int, p *player) {
			p.say(welcomeD1)
			if n > 1 {
				p.stay()
			}
			down.Store(true)
		}}
		o := g.bubble(t, Options{})
		dial := o.NetDial
		o.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if down.Load() {
				dials.Add(1)
				return nil, errors.New("connection refused")
			}
			return dial(ctx, network, addr)
		}
		s := sit(t, o)
		s.want("taken", "lost")
		s.quiet(10 * time.Minute)
		if n := dials.Load(); n < 20 || n > 200 {
			t.Errorf("%d tries in ten minutes", n)
		}
		down.Store(false)
		s.want("taken")
	})
}

// TestNoHotLoop: ANCHORS 4. A gateway that takes us and drops us at once must
// not be hammered: that a socket opened is no success.
func TestNoHotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var visits atomic.Int32
		g := &script{play: func(_ int, p *player) { visits.Add(1); p.say(welcomeD1) }}
		sit(t, g.bubble(t, Options{}))
		time.Sleep(10 * time.Minute)
		if n := visits.Load(); n < 20 || n > 200 {
			t.Errorf("%d sessions in ten minutes", n)
		}
	})
}

func TestMaxWaitFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") }
		s := sit(t, Options{URL: "ws://localhost", NetDial: refuse, MaxWaitFirst: 5 * time.Second})
		f := s.fatal(4)
		if d := time.Since(s.start); d != 5*time.Second {
			t.Errorf("gave up after %v", d)
		}
		if !strings.Contains(f.Error(), "connection refused") {
			t.Errorf("the error is %q", f)
		}
	})
	synctest.Test(t, func(t *testing.T) { // and no longer holds after the first welcome
		g := &script{play: func(_ int, p *player) { p.say(welcomeD1); p.stay() }}
		s := sit(t, g.bubble(t, Options{MaxWaitFirst: 5 * time.Second}))
		s.want("taken")
		s.quiet(time.Hour)
	})
}

// TestDuplicate: O12. Somebody else joined under our id: one more try after
// 30 s, then it is theirs (DESIGN section 14).
func TestDuplicate(t *testing.T) {
	for _, c := range []struct {
		name   string
		code   int
		reason string
	}{
		{"O12 as the reference gateways say it", 1000, "Duplicate connection - disconnecting old session"},
		{"as ours says it", 4001, "replaced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &script{play: func(_ int, p *player) { p.say(welcomeD1); time.Sleep(time.Second); p.end(c.code, c.reason) }}
				s := sit(t, g.bubble(t, Options{}))
				s.want("taken")
				lost := s.want("lost").at
				back := s.want("taken").at
				if d := back - lost; d < 30*time.Second || d > 40*time.Second {
					t.Errorf("came back after %v", d)
				}
				s.fatal(7)
			})
		})
	}
}

// TestRedirect: the token must not follow a gateway's word to another host.
func TestRedirect(t *testing.T) {
	var followed atomic.Bool
	elsewhere := &script{door: func(*http.Request) int { followed.Store(true); return 0 }, play: func(int, *player) {}}
	there := elsewhere.real(t)
	g := &script{rest: map[string]http.HandlerFunc{"/ws": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http"+there[2:]+"/ws?token=s3cret", http.StatusTemporaryRedirect)
	}}}
	s := sit(t, Options{URL: g.real(t), Token: token("s3cret")})
	f := s.fatal(4)
	if followed.Load() || !strings.Contains(f.Error(), "redirect") || strings.Contains(f.Error(), "s3cret") {
		t.Errorf("followed: %v, error %q", followed.Load(), f)
	}
}

// TestOneSocketAtATime: W-2. The new socket is opened after the old one has
// gone, or after 2 s, and never within 250 ms.
func TestOneSocketAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone time.Time
		g := &script{rest: map[string]http.HandlerFunc{"/v0.1/topics/t1/participants": answers(`{"participants":[]}`)}}
		g.play = func(n int, p *player) {
			if n > 1 && time.Since(gone) < minWait {
				t.Errorf("back after %v", time.Since(gone))
			}
			p.say(welcomeD1)
			if n%2 == 0 {
				p.stay() // until the ghost check drops it
			}
			gone = time.Now()
		}
		s := sit(t, g.bubble(t, Options{}))
		for range 20 {
			s.want("taken", "lost")
		}
		if g.most != 1 {
			t.Errorf("%d sockets at a time", g.most)
		}
	})
}

// TestGoodbye: what was sent before the end arrives, and then a close.
func TestGoodbye(t *testing.T) {
	heard := make(chan string, 10)
	g := &script{play: func(_ int, p *player) {
		p.say(welcomeD1)
		_, f, _ := p.ReadMessage()
		heard <- string(f)
		_, _, err := p.ReadMessage()
		heard <- fmt.Sprint(err)
	}}
	s := sit(t, Options{URL: g.real(t)})
	s.want("taken")
	if err := s.Send(wire.Reply, []byte("last words")); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := <-s.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	s.ended <- nil
	if n := <-s.notes; n.what != "lost "+ErrLeft.Error() {
		t.Errorf("the handler heard %q", n.what)
	}
	if f := <-heard; f != "last words" {
		t.Errorf("heard %q", f)
	}
	if f := <-heard; f != "websocket: close 1000 (normal): leaving" {
		t.Errorf("heard %q", f)
	}
	if err := s.Send(wire.Reply, []byte("x")); err != ErrNoSeat {
		t.Errorf("Send after the end: %v", err)
	}
}

// TestPatience: what an ending means depends on what came before.
func TestPatience(t *testing.T) {
	cut := &wire.CloseError{Code: 1006}
	unauthorized := &wire.CloseError{Code: http.StatusUnauthorized}
	duplicate := &wire.CloseError{Code: 4001}
	nowhere := &wire.CloseError{Code: http.StatusNotFound}
	for _, c := range []struct {
		name string
		ends []ending
		exit int // after the last; 0: go on
	}{
		{"two refusals in a row", []ending{{err: unauthorized}, {err: unauthorized}}, 4},
		{"a short session between forgives nothing", []ending{{err: unauthorized}, {cut, settled - 1}, {err: unauthorized}}, 4},
		{"a session that settled does", []ending{{err: unauthorized}, {cut, settled}, {err: unauthorized}}, 0},
		{"evicted twice, minutes between", []ending{{duplicate, time.Hour}, {duplicate, forgotten - 1}}, 7},
		{"evicted again much later", []ending{{duplicate, time.Hour}, {cut, forgotten}, {duplicate, time.Second}}, 0},
		{"no such place, never welcomed", []ending{{err: nowhere}}, 4},
		{"no such place for now", []ending{{cut, time.Second}, {err: nowhere}}, 0},
	} {
		var p retryState
		var f *FatalError
		for i, e := range c.ends {
			if f != nil {
				t.Errorf("%s: fatal at %d", c.name, i)
			}
			p.welcomed = p.welcomed || e.lived > 0
			_, f = p.next(e, true)
		}
		if f == nil && c.exit != 0 || f != nil && f.Exit != c.exit {
			t.Errorf("%s: %v, want exit %d", c.name, f, c.exit)
		}
	}
}

// TestBackoff: full jitter below a ceiling that doubles from 0.5 s to 30 s and
// starts anew after a session that settled.
func TestBackoff(t *testing.T) {
	most := make([]time.Duration, 9)
	for range 2000 {
		var p retryState
		for i := range most {
			wait, _ := p.next(ending{err: errSilent}, true)
			if most[i] = max(most[i], wait); wait < minWait || wait > maxWait {
				t.Fatalf("waits %v", wait)
			}
		}
		if wait, _ := p.next(ending{err: errSilent, lived: settled}, true); wait > firstWait {
			t.Fatalf("waits %v after a session that settled", wait)
		}
	}
	for i, wait := range most {
		if ceiling := min(maxWait, firstWait<<i); wait > ceiling || wait < ceiling*8/10 {
			t.Errorf("wait %d goes up to %v, want about %v", i, wait, ceiling)
		}
	}
}

// TestRefreshOnce: only the dial after a refusal asks for a fresh token.
func TestRefreshOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []bool
		g := &script{play: func(n int, p *player) {
			p.say(welcomeD1)
			p.listen(time.Hour)
			if n == 1 {
				p.end(4401, "expired")
			}
		}}
		s := sit(t, g.bubble(t, Options{Token: func(_ context.Context, again bool) (string, error) {
			calls = append(calls, again)
			return "x", nil
		}}))
		s.want("taken", "lost", "taken", "lost", "taken")
		if len(calls) != 3 || calls[0] || !calls[1] || calls[2] {
			t.Errorf("asked for tokens %v, want [false true false]", calls)
		}
	})
}

// TestTokenSource: one that fails is asked again, and may give up itself.
func TestTokenSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := 3
		g := &script{play: func(_ int, p *player) { p.say(welcomeD1); p.stay() }}
		s := sit(t, g.bubble(t, Options{Token: func(context.Context, bool) (string, error) {
			if fails--; fails >= 0 {
				return "", errors.New("the command failed")
			}
			return "x", nil
		}}))
		s.want("taken")
	})
	s := sit(t, Options{URL: "ws://localhost:1", Token: func(context.Context, bool) (string, error) {
		return "", &FatalError{Exit: 2, Err: errors.New("no such file")}
	}})
	s.fatal(2)
}

// A gateway that takes the connection and says nothing holds up nobody who
// wants to leave.
func TestNobodyWaitsForASilentGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan net.Conn)
		s := sit(t, Options{URL: "ws://localhost", NetDial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				theirs.Read(make([]byte, 4096))
				asked <- theirs
			}()
			return ours, nil
		}})
		silent := <-asked
		defer silent.Close()
		s.stop()
		s.ended <- <-s.ended
		if d := time.Since(s.start); d != 0 {
			t.Errorf("Run ends %v later", d)
		}
	})
}

// Who only waits for something has nothing to win back from whoever took its seat.
func TestASeatThatYieldsIsGivenUpTheFirstTime(t *testing.T) {
	p := retryState{welcomed: true, yields: true}
	if _, f := p.next(ending{&wire.CloseError{Code: 4001}, time.Hour}, true); f == nil || f.Exit != 7 {
		t.Errorf("%v", f)
	}
}
