package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// arrive starts a sidecar on a new stage and waits until it has connected. The
// gateway has said nothing yet.
func arrive(t *testing.T, d tongue, l launch) (*stage, *sidecar) {
	t.Helper()
	g := openStage(t, d)
	s := l.start(t, g.url)
	g.side = s
	g.accept()
	return g, s
}

// serves shows that a call of bob's crosses.
func (g *stage) serves(env string) {
	g.t.Helper()
	g.request(env, "bob", call("1", "read_file", `{"path":"/a"}`))
	g.expect(g.d.reply("bob", env, "tools/call", "read_file",
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"contents of /a"}]}}`))
}

func TestOraclesOfJoining(t *testing.T) {
	t.Run("O1 the own join comes first and is no welcome (v0)", func(t *testing.T) { ownJoinFirst(t, d0) })
	t.Run("O2 the welcome of the specification is one too (v0)", func(t *testing.T) {
		g, s := arrive(t, d0, launch{})
		g.send(d0.frame("w", "system:gateway", "fs", "system", "",
			`{"event":"welcome","participant":{"id":"fs"},"participants":[],"history":{"enabled":true,"limit":100},"protocol":"mcp-x/v0"}`))
		if id := s.ready()["id"]; id != "fs" {
			t.Errorf("ready as %v", id)
		}
		g.serves("e1")
		g.quiet()
	})
	t.Run("O3 what the history tells is never run (v0)", func(t *testing.T) {
		g, s := arrive(t, d0, launch{})
		old := d0.request("old", "bob", "fs", call("1", "read_file", `{"path":"/old"}`))
		g.send(strings.Replace(d0.welcome("fs", "", "bob"), `"history":[]`, `"history":[`+old+`]`, 1))
		s.ready()
		g.quiet()
		if s.ran() != 0 {
			t.Errorf("the server was given %q", s.given("tools/call"))
		}
	})
	t.Run("O6 the own join comes first and is no welcome (v0.1)", func(t *testing.T) { ownJoinFirst(t, d1) })
}

func ownJoinFirst(t *testing.T, d tongue) {
	g, s := arrive(t, d, launch{})
	g.send(d.presence("p", "join", "fs"))
	g.pong()
	if s.events.count(`{"event":"ready"}`) != 0 {
		t.Error("ready before the welcome")
	}
	g.send(d.welcome("fs", "", "bob"))
	r := s.ready()
	if r["dialect"] != d.protocol || r["id"] != "fs" || r["topic"] != "t1" {
		t.Errorf("ready says %v", r)
	}
	s.await(`{"event":"peer","id":"bob"}`)
	g.quiet()
	g.serves("e1")
}

// A gateway that waits for the joiner to speak first.
func TestOraclesOfTheSilentGateway(t *testing.T) {
	for _, d := range []tongue{mew4, mew3, meup} {
		name := map[string]string{"mew/v0.4": "O7 after a silence it joins, without a protocol",
			"mew/v0.3": "O8 it speaks the version of the welcome (mew/v0.3)", "meup/v0.2": "O8 it speaks the version of the welcome (meup/v0.2)"}[d.protocol]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, s := arrive(t, d, launch{env: map[string]string{"MCPX_AUTH_TOKEN": "s3cret-8901"}})
			join := <-g.at.frames
			if why := g.names.mismatch(`{"!protocol":0,"type":"join","kind":"system/join","id":"*","participantId":"fs","space":"t1","token":"s3cret-8901",
				"payload":{"participantId":"fs","participant":"fs","space":"t1","token":"s3cret-8901"}}`, join); why != "" {
				t.Fatalf("%s\n%s", why, join)
			}
			g.send(d.welcome("fs", `[{"kind":"mcp/*"}]`))
			if got := s.ready()["dialect"]; got != d.protocol {
				t.Errorf("ready in %v", got)
			}
			g.serves("e1") // every frame is held against the protocol of the welcome
			g.quiet()
			if said := s.stderr.text() + s.events.text(); strings.Contains(said, "s3cret-8901") {
				t.Errorf("the token is in the log:\n%s", said)
			}
		})
	}
}

func TestOraclesOfTheSession(t *testing.T) {
	t.Parallel()
	t.Run("O4 a bare error notice ends nothing", func(t *testing.T) {
		for _, d := range []tongue{d0, d1} {
			t.Run(d.name, func(t *testing.T) {
				g, s := perform(t, d, launch{})
				g.send(`{"error":"Invalid message format","details":"Expected string, received null"}`)
				g.quiet()
				s.await(`{"event":"warning","reason":"gateway_fault"}`)
				g.serves("e1")
			})
		}
	})
	t.Run("O5 a participant that plays the gateway is not believed", func(t *testing.T) {
		each(t, func(t *testing.T, d tongue) {
			g, s := perform(t, d, launch{})
			g.send(strings.Replace(d.welcome("evil", "", "bob"), `"from":"system:gateway"`, `"from":"mallory"`, 1))
			g.send(strings.Replace(d.presence("p9", "leave", "bob"), `"from":"system:gateway"`, `"from":"mallory"`, 1))
			g.quiet()
			s.dropped("system_not_from_gateway")
			s.dropped("system_not_from_gateway")
			g.serves("e1")
		})
	})
	t.Run("O9 it does not join where it was welcomed unasked", func(t *testing.T) {
		for _, d := range []tongue{meup, mew3, mew4} {
			t.Run(d.name, func(t *testing.T) {
				g, s := arrive(t, d, launch{env: map[string]string{"MCPX_AUTH_TOKEN": "s3cret-8901"}})
				g.greet("bob")
				s.ready()
				g.quiet()
			})
		}
	})
	t.Run("O10 it goes by the name the gateway gives it", func(t *testing.T) {
		each(t, func(t *testing.T, d tongue) {
			g, s := arrive(t, d, launch{})
			g.me = "fs-2"
			g.greet("bob")
			if id := s.ready()["id"]; id != "fs-2" {
				t.Errorf("ready as %v", id)
			}
			g.send(d.request("e0", "bob", "fs", call("1", "read_file", `{"path":"/no"}`)))
			g.quiet()
			g.serves("e1")
			if s.ran() != 1 {
				t.Errorf("the server was given %q", s.given("tools/call"))
			}
			if !strings.Contains(s.stderr.text(), "fs-2") {
				t.Errorf("no warning on stderr:\n%s", s.stderr.text())
			}
		})
	})
	t.Run("O14 stream data is no message", func(t *testing.T) {
		for _, d := range []tongue{meup, mew3, mew4} {
			t.Run(d.name, func(t *testing.T) {
				g, s := perform(t, d, launch{})
				g.send(`#stream-1#{"a":1}`)
				g.send(`#stream-1#not json`)
				g.quiet()
				if n := s.events.count(`{"event":"dropped"}`); n != 0 {
					t.Errorf("%d frames were reported as dropped", n)
				}
			})
		}
	})
	t.Run("O15 a second welcome is no new session", func(t *testing.T) {
		for _, d := range []tongue{meup, mew3, mew4} {
			t.Run(d.name, func(t *testing.T) {
				g, s := perform(t, d, launch{})
				g.send(strings.Replace(d.welcome("fs", `[{"kind":"mcp/*"},{"kind":"chat"},{"kind":"capability/*"}]`, "bob", "alice", "carol", "mallory", "dave"), "welcome-fs", "welcome-2", 1))
				g.quiet()
				s.await(`{"event":"peer","id":"dave"}`)
				if n := s.events.count(`{"event":"ready"}`) + s.events.count(`{"event":"reconnected"}`); n != 1 {
					t.Errorf("it began %d sessions", n)
				}
				g.serves("e1")
			})
		}
	})
	t.Run("O16 an error without sender and id is the gateway's", func(t *testing.T) {
		for _, d := range []tongue{meup, mew3, mew4} {
			t.Run(d.name, func(t *testing.T) {
				g, s := perform(t, d, launch{})
				g.send(fmt.Sprintf(`{"protocol":%q,"kind":"system/error","payload":{"error":"Invalid protocol version: x","code":"VALIDATION_ERROR"}}`, d.protocol))
				g.quiet()
				s.await(`{"event":"warning","reason":"gateway_fault"}`)
				g.serves("e1")
			})
		}
	})
	t.Run("O17 the dotted welcome is one (meup)", func(t *testing.T) {
		g, s := arrive(t, meup, launch{})
		g.send(strings.Replace(meup.welcome("fs", "", "bob"), "system/welcome", "system.welcome", 1))
		s.ready()
		g.serves("e1")
	})
}

func TestOracleO11(t *testing.T) {
	older := []tongue{d0, d1} // the others have no close codes that mean anything
	for _, d := range older {
		t.Run("O11 an invalid token ends it "+d.name, func(t *testing.T) {
			g, s := arrive(t, d, launch{env: map[string]string{"MCPX_AUTH_TOKEN": "s3cret-8901"}})
			g.hangUp(websocket.ClosePolicyViolation, "Invalid token")
			if code := s.wait(); code != 4 {
				t.Errorf("exit %d, want 4\n%s", code, s.about())
			}
			if n := g.upgrades.Load(); n > 2 {
				t.Errorf("it came %d times with a token that was refused", n)
			}
			if !strings.Contains(s.stderr.text(), "token") || strings.Contains(s.stderr.text(), "s3cret-8901") {
				t.Errorf("stderr says %s", s.stderr.text())
			}
		})
	}
	for _, end := range []struct {
		code   int
		reason string
	}{{1008, "Topic t1 is full"}, {1011, "Internal server error"}, {1001, ""}} {
		t.Run(fmt.Sprintf("O11 after %d %s it comes again", end.code, end.reason), func(t *testing.T) {
			for _, d := range older {
				t.Run(d.name, func(t *testing.T) {
					t.Parallel()
					g, s := arrive(t, d, launch{})
					g.hangUp(end.code, end.reason)
					g.accept()
					g.greet("bob")
					s.ready()
					g.serves("e1")
				})
			}
		})
	}
	t.Run("O11 after a cut without a word it comes again", func(t *testing.T) {
		each(t, func(t *testing.T, d tongue) {
			t.Parallel()
			g, s := perform(t, d, launch{})
			g.drop()
			s.await(`{"event":"disconnected"}`)
			g.accept()
			g.greet("bob")
			s.await(`{"event":"reconnected"}`)
			g.serves("e1")
		})
	})
	t.Run("O11 a gateway that answers 401 is not asked again and again", func(t *testing.T) {
		g := openStage(t, d1)
		g.refuse.Store(http.StatusUnauthorized)
		s := launch{}.start(t, g.url)
		if code := s.wait(); code != 4 {
			t.Errorf("exit %d, want 4\n%s", code, s.about())
		}
	})
}
