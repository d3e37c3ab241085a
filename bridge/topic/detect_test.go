package topic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// TestDialects joins a gateway of each dialect over loopback, told nothing.
func TestDialects(t *testing.T) {
	mew := func(protocol string) func(int, *player) {
		return func(_ int, p *player) {
			checkJoin(p.t, p.hear())
			p.say(welcomeD2(protocol), fmt.Sprintf(listD2, "e1"))
			p.stay()
		}
	}
	for _, c := range []struct {
		name, protocol string
		paths          []string
		play           func(int, *player)
		notes          []string
	}{
		{
			"O1 mcp-x/v0: our own presence comes before the welcome", "mcp-x/v0", []string{"/v0/ws"},
			func(_ int, p *player) { p.say(joinD0, welcomeD0, fmt.Sprintf(listD0, "e1")); p.stay() },
			[]string{"got presence p", "got mcp e1"},
		},
		{
			"O2 mcp-x/v0: a welcome as the specification has it", "mcp-x/v0", []string{"/v0/ws"},
			func(_ int, p *player) {
				p.say(`{"protocol":"mcp-x/v0","id":"w","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system","payload":{"event":"welcome","participant":{"id":"fs"},"participants":[],"history":{"enabled":true,"limit":100},"protocol":"mcp-x/v0"}}`)
				p.stay()
			},
			nil,
		},
		{
			"O3 mcp-x/v0: a request in the history is not received", "mcp-x/v0", []string{"/v0/ws"},
			func(_ int, p *player) {
				p.say(strings.Replace(welcomeD0, `"history":[]`, `"history":[`+fmt.Sprintf(listD0, "old")+`]`, 1), fmt.Sprintf(listD0, "e1"))
				p.stay()
			},
			[]string{"got mcp e1"},
		},
		{
			"O6 mcpx/v0.1", "mcpx/v0.1", []string{"/ws"},
			func(_ int, p *player) { p.say(joinD1, welcomeD1); p.stay() },
			[]string{"got system/presence p"},
		},
		{"O7 mew/v0.4: a silent gateway gets our join", "mew/v0.4", nil, mew("mew/v0.4"), []string{"got mcp/request e1"}},
		{"O8 mew/v0.3: its string is ours", "mew/v0.3", nil, func(_ int, p *player) { p.hear(); p.say(welcomeD2("mew/v0.3")); p.stay() }, nil},
		{"O8 meup/v0.2: its string is ours", "meup/v0.2", nil, func(_ int, p *player) { p.hear(); p.say(welcomeD2("meup/v0.2")); p.stay() }, nil},
		{
			"O17 meup/v0.2: a welcome spelled with a dot", "meup/v0.2", nil,
			func(_ int, p *player) {
				p.say(strings.Replace(welcomeD2("meup/v0.2"), "system/welcome", "system.welcome", 1))
				p.stay()
			},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := &script{paths: c.paths, play: c.play}
			s := sit(t, Options{URL: g.real(t)})
			s.want("taken " + c.protocol + " fs")
			s.want(c.notes...)
		})
	}
}

// checkJoin expects the universal join of WIRE 5.3: everything twice, and no
// protocol, so that no version check fires.
func checkJoin(t *testing.T, frame string) {
	t.Helper()
	var join struct {
		Kind, Type, ParticipantID, Space, Protocol string
		Payload                                    struct{ ParticipantID, Space string }
	}
	if err := json.Unmarshal([]byte(frame), &join); err != nil {
		t.Errorf("join %q: %v", frame, err)
	}
	if join.Kind != "system/join" || join.Type != "join" || join.ParticipantID != "fs" || join.Payload.ParticipantID != "fs" ||
		join.Space != "t1" || join.Payload.Space != "t1" || join.Protocol != "" {
		t.Errorf("join is %s", frame)
	}
}

// TestJoinIsForTheSilent is the other half of O7.
func TestJoinIsForTheSilent(t *testing.T) {
	for _, c := range []struct {
		name  string
		first string // what the gateway says at once
		after time.Duration
	}{
		{"O9 a spontaneous welcome means no join is ever sent", welcomeD2("mew/v0.4"), 0},
		{"O9 any first frame means no join, however late the welcome", `{"protocol":"mew/v0.4","id":"h","from":"system:gateway","kind":"system/heartbeat","payload":{}}`, 9 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard := make(chan string, 10)
				g := &script{play: func(_ int, p *player) {
					time.Sleep(700 * time.Millisecond)
					p.say(c.first)
					time.Sleep(c.after)
					p.say(welcomeD2("mew/v0.4"))
					for f := p.hear(); f != ""; f = p.hear() {
						heard <- f
					}
				}}
				s := sit(t, g.bubble(t, Options{}))
				s.want("taken mew/v0.4")
				time.Sleep(time.Minute)
				s.Send(wire.Own, []byte(`{"mine":1}`))
				s.Flush()
				if f := <-heard; f != `{"mine":1}` {
					t.Errorf("the gateway heard %s", f)
				}
			})
		})
	}
}

func TestJoinComesAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		g := &script{play: func(_ int, p *player) {
			p.hear()
			if d := time.Since(start); d != firstFrameGrace {
				t.Errorf("joined after %v, want %v", d, firstFrameGrace)
			}
			p.say(welcomeD2("mew/v0.4"))
			p.stay()
		}}
		sit(t, g.bubble(t, Options{})).want("taken mew/v0.4 fs")
	})
}

// TestOddFrames sends what is no ordinary envelope to a seat that is taken.
func TestOddFrames(t *testing.T) {
	d0 := func(frames ...string) []string { return append([]string{welcomeD0}, frames...) }
	d2 := func(frames ...string) []string { return append([]string{welcomeD2("mew/v0.4")}, frames...) }
	for _, c := range []struct {
		name  string
		say   []string
		notes []string
	}{
		{"O4 a bare error notice", d0(`{"error":"Invalid message format","details":"…"}`), []string{"taken", "got"}},
		{
			"O5 a participant's welcome changes nothing",
			d0(`{"protocol":"mcp-x/v0","id":"x","ts":"2026-01-01T00:00:00Z","from":"mallory","kind":"system","payload":{"type":"welcome","participant_id":"evil"}}`),
			[]string{"taken mcp-x/v0 fs", "refused " + wire.SystemNotFromGateway},
		},
		{"O14 raw stream data", d2(`#stream-1#{"a":1}`), []string{"taken", "got"}},
		{"O14 raw stream data before the welcome", append([]string{`#stream-1#{"a":1}`}, d2()...), []string{"taken mew/v0.4", "got"}},
		{
			"O15 a second welcome is the same session with more in it",
			d2(`{"protocol":"mew/v0.4","id":"w2","from":"system:gateway","to":["fs"],"kind":"system/welcome","payload":{"you":{"id":"fs","capabilities":[{"kind":"*"}]},"participants":[{"id":"bob"}]}}`),
			[]string{"taken mew/v0.4 fs", "taken mew/v0.4 fs"},
		},
		{
			"a later welcome for somebody else is not ours",
			d2(`{"protocol":"mew/v0.4","id":"w2","from":"system:gateway","to":["bob"],"kind":"system/welcome","payload":{"you":{"id":"bob"},"participants":[]}}`),
			[]string{"taken mew/v0.4 fs", "refused welcome_for_another"},
		},
		{
			"nor is one that says to nobody that we are somebody else",
			d2(`{"protocol":"mew/v0.4","id":"w2","from":"system:gateway","kind":"system/welcome","payload":{"you":{"id":"bob"},"participants":[]}}`),
			[]string{"taken mew/v0.4 fs", "refused welcome_for_another"},
		},
		{
			"nor is ours one that was sent to somebody else",
			d2(`{"protocol":"mew/v0.4","id":"w2","from":"system:gateway","to":["bob"],"kind":"system/welcome","payload":{"you":{"id":"fs"},"participants":[]}}`),
			[]string{"taken mew/v0.4 fs", "refused welcome_for_another"},
		},
		{
			"O16 an error without id and from",
			d2(`{"protocol":"mew/v0.4","kind":"system/error","payload":{"error":"Invalid protocol version: x","code":"VALIDATION_ERROR"}}`),
			[]string{"taken", "got system/error"},
		},
		{"no JSON at all", d0(`{"protocol":`), []string{"taken", "refused json_syntax"}},
		{"an empty frame", d0(``), []string{"taken", "refused"}},
		{"nothing one could know it by, before the welcome", append([]string{`{"a":1}`}, d0()...), []string{"refused dialect_mismatch", "taken"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &script{play: func(_ int, p *player) { p.say(c.say...); p.say(fmt.Sprintf(listD0, "last")); p.stay() }}
			if strings.Contains(strings.Join(c.say, ""), "mew/") {
				g.play = func(_ int, p *player) { p.say(c.say...); p.say(fmt.Sprintf(listD2, "last")); p.stay() }
			}
			s := sit(t, Options{URL: g.real(t)})
			s.want(c.notes...)
			if n := s.next(); !strings.HasSuffix(n.what, " last") {
				t.Errorf("then %q: the link should have been kept", n.what)
			}
		})
	}
}

// TestOtherID: the gateway has the last word on who we are.
func TestOtherID(t *testing.T) {
	welcome := strings.ReplaceAll(welcomeD1, `"fs"`, `"fs-2"`)
	g := &script{play: func(_ int, p *player) { p.say(welcome); p.stay() }}
	t.Run("O10 we go on under the id we are given", func(t *testing.T) {
		sit(t, Options{URL: g.real(t)}).want("taken mcpx/v0.1 fs-2")
	})
	t.Run("O10 unless the id is pinned", func(t *testing.T) {
		s := sit(t, Options{URL: g.real(t), PinID: true})
		if f := s.fatal(4); !strings.Contains(f.Error(), `"fs-2"`) {
			t.Errorf("the error is %q", f)
		}
	})
	t.Run("an id that cannot be one is no welcome", func(t *testing.T) {
		g := &script{play: func(_ int, p *player) { p.say(strings.ReplaceAll(welcomeD1, `"fs"`, `"system:gateway"`)); p.stay() }}
		sit(t, Options{URL: g.real(t)}).want("refused")
	})
}

// TestBeforeTheWelcome: what comes early is kept, in order, and bounded.
func TestBeforeTheWelcome(t *testing.T) {
	g := &script{play: func(_ int, p *player) {
		p.say(joinD0)
		for i := range earlyFrames {
			p.say(fmt.Sprintf(listD0, fmt.Sprint("e", i)))
		}
		p.say(welcomeD0, fmt.Sprintf(listD0, "late"))
		p.stay()
	}}
	s := sit(t, Options{URL: g.real(t)})
	s.want("refused too_early", "taken", "got presence p")
	for i := range earlyFrames - 1 {
		s.want(fmt.Sprint("got mcp e", i))
	}
	s.want("got mcp late")
}

func TestPaths(t *testing.T) {
	any := func(_ int, p *player) { p.say(welcomeD1); p.stay() }
	for _, c := range []struct {
		name    string
		path    string // of the configured URL
		dialect string
		want    []string
	}{
		{"each usual place is tried in turn", "", "auto", []string{"/ws?space=t1&topic=t1", "/v0/ws?topic=t1", "/?space=t1"}},
		{"a slash is no path", "/", "", []string{"/ws?space=t1&topic=t1", "/v0/ws?topic=t1", "/?space=t1"}},
		{"a path is taken as it is", "/spaces/t1", "auto", []string{"/spaces/t1?space=t1&topic=t1"}},
		{"and so is its query", "/x?topic=t1&a=b", "auto", []string{"/x?a=b&space=t1&topic=t1"}},
		{"told mcp-x/v0", "", "mcp-x/v0", []string{"/v0/ws?topic=t1"}},
		{"told mcpx/v0.1", "", "mcpx/v0.1", []string{"/ws?space=t1&topic=t1"}},
		{"told mew/v0.4", "", "mew/v0.4", []string{"/?space=t1", "/ws?space=t1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &script{paths: []string{"/nowhere"}, play: any}
			s := sit(t, Options{URL: g.real(t) + c.path, Dialect: c.dialect})
			if f := s.fatal(4); !strings.Contains(f.Error(), "400") {
				t.Errorf("the error is %q", f)
			}
			if got := g.requests(); !slices.Equal(got, c.want) {
				t.Errorf("asked for %q, want %q", got, c.want)
			}
		})
	}
}

// TestPathIsRemembered: after the first welcome only the place that worked is
// asked again.
func TestPathIsRemembered(t *testing.T) {
	g := &script{paths: []string{"/v0/ws"}, play: func(n int, p *player) {
		p.say(welcomeD0)
		if n > 1 {
			p.stay()
		}
	}}
	s := sit(t, Options{URL: g.real(t)})
	s.want("taken", "lost", "taken")
	asked := slices.DeleteFunc(g.requests(), func(r string) bool { return !strings.Contains(r, "ws") })
	if want := []string{"/ws?space=t1&topic=t1", "/v0/ws?topic=t1", "/v0/ws?topic=t1"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// TestAnotherDialectThanTold must not wait for ever for a welcome that was
// there.
func TestAnotherDialectThanTold(t *testing.T) {
	g := &script{play: func(_ int, p *player) { p.say(welcomeD0); p.stay() }}
	s := sit(t, Options{URL: g.real(t), Dialect: "mcpx/v0.1"})
	if f := s.fatal(4); !strings.Contains(f.Error(), "mcp-x/v0") || !strings.Contains(f.Hint, "mcp-x/v0") {
		t.Errorf("the error is %q, hint %q", f, f.Hint)
	}
	g = &script{play: func(_ int, p *player) { p.say(welcomeD2("mew/v0.3")); p.stay() }}
	sit(t, Options{URL: g.real(t), Dialect: "mew/v0.4"}).want("taken mew/v0.3") // W-1: the welcome's string
}

// TestTokenTravels: in a header, and in the URL only when told so.
func TestTokenTravels(t *testing.T) {
	for _, inQuery := range []bool{false, true} {
		header := make(chan http.Header, 1)
		g := &script{play: func(_ int, p *player) { header <- p.r.Header; p.say(welcomeD1); p.stay() }}
		s := sit(t, Options{URL: g.real(t), Token: token("s3cret"), TokenInQuery: inQuery})
		if got := (<-header).Get("Authorization"); got != "Bearer s3cret" {
			t.Errorf("Authorization is %q", got)
		}
		s.want("taken")
		if got := strings.Contains(g.requests()[0], "token=s3cret"); got != inQuery {
			t.Errorf("TokenInQuery %v: asked for %s", inQuery, g.requests()[0])
		}
	}
}
