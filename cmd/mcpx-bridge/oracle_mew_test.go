package main

import (
	"fmt"
	"strings"
	"testing"
)

// Cases of the mew dialects alone (WIRE 11.5).
func TestOraclesOfMew(t *testing.T) {
	t.Parallel()
	for _, d := range []tongue{meup, mew3, mew4} {
		t.Run(d.name, func(t *testing.T) {
			g, s := perform(t, d, launch{rules: openRules})
			p := play{g, s}
			p.oracle(t, "O92 a request without id is answered by its envelope", p.o92)
			p.oracle(t, "O93 a notification is not answered", p.o93)
			p.oracle(t, "O94 a context changes nothing", func(*testing.T) {
				for i, context := range []string{`"x/y"`, `{"operation":"push","topic":"x"}`} {
					env := fmt.Sprintf("e94-%d", i)
					g.send(strings.Replace(d.request(env, "bob", "fs", call("1", "read_file", `{"path":"/a"}`)), `"kind"`, `"context":`+context+`,"kind"`, 1))
					g.expect(d.reply("bob", env, "tools/call", "read_file", `{"id":1,"result":"*"}`))
				}
			})
			p.oracle(t, "O95 a link may be a string, ours are lists", func(*testing.T) {
				g.send(strings.Replace(d.request("e95", "bob", "fs", call("1", "read_file", `{"path":"/a"}`)), `"kind"`, `"correlation_id":"c1","kind"`, 1))
				g.expect(d.reply("bob", "e95", "tools/call", "read_file", `{"id":1,"result":"*"}`))
			})
			p.oracle(t, "O97 who is paused keeps quiet, and answers afterwards", p.o97)
			p.oracle(t, "O97 nobody may shut us down", func(*testing.T) {
				for _, what := range []string{"shutdown", "restart", "clear", "forget", "compact"} {
					g.send(d.frame("e97-"+what, "bob", "fs", "participant/"+what, "", `{"reason":"because"}`))
					g.quiet()
					s.dropped("control_not_allowed")
				}
			})
			p.oracle(t, "O96 a grant is acknowledged where we may", p.o96)
		})
	}
}

func (p play) o92(t *testing.T) {
	p.send(p.d.frame("c1", "bob", "fs", "mcp/request", "", `{"method":"tools/list"}`))
	p.expect(`{"kind":"mcp/response","to":["bob"],"correlation_id":["c1"],"payload":{"jsonrpc":"2.0","!id":0,"result":{"tools":"*"}}}`)
	p.send(p.d.frame("c2", "bob", "fs", "mcp/request", "", `{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"}}}`))
	p.expect(`{"kind":"mcp/response","to":["bob"],"correlation_id":["c2"],"payload":{"jsonrpc":"2.0","!id":0,"result":{"content":"*"}}}`)
	if line := p.lastGiven(); (names{}).mismatch(`{"jsonrpc":"2.0","id":"*","method":"tools/call"}`, line) != "" {
		t.Errorf("the server was given %s", line)
	}
	p.send(p.d.frame("c3", "bob", "fs", "mcp/request", "", `{"method":"tools/call","params":{"name":"nope","arguments":{}}}`))
	p.expect(`{"kind":"mcp/response","to":["bob"],"correlation_id":["c3"],"payload":{"jsonrpc":"2.0","!id":0,"error":{"code":-32602}}}`)
}

func (p play) o93(t *testing.T) {
	p.send(p.d.frame("c4", "bob", "fs", "mcp/request", "", `{"method":"notifications/cancelled","params":{"requestId":7}}`))
	p.send(p.d.frame("c5", "bob", "fs", "mcp/request", "", `{"method":"notifications/initialized"}`))
	p.quiet()
	if n := len(p.s.given("notifications/cancelled")); n != 0 {
		t.Errorf("the server was told of a cancellation of nothing, %d times", n)
	}
}

func (p play) o96(*testing.T) {
	// Without leave nothing is said.
	grant := func(env, recipient string) string {
		return p.d.frame(env, "alice", recipient, "capability/grant", "", fmt.Sprintf(`{"recipient":%q,"capabilities":[{"kind":"mcp/reject"}]}`, recipient))
	}
	p.send(grant("g0", "fs"))
	p.quiet()
	p.send(strings.Replace(p.d.welcome("fs", `[{"kind":"mcp/*"},{"kind":"chat"},{"kind":"capability/*"}]`, "bob", "alice", "carol", "mallory"), "welcome-fs", "welcome-3", 1))
	p.send(grant("g1", "fs"))
	p.expect(`{"kind":"capability/grant-ack","to":["alice"],"correlation_id":["g1"],"payload":{"status":"accepted"}}`)
	p.send(grant("g2", "carol")) // somebody else's
}

func (p play) o97(t *testing.T) {
	pause := func(env, length string) {
		p.send(p.d.frame(env, "alice", "fs", "participant/pause", "", length))
		p.s.await(`{"event":"warning","reason":"paused"}`)
	}
	answer := p.d.reply("bob", "e97", "tools/call", "read_file", `{"id":1,"result":"*"}`)
	pause("p1", `{"reason":"wait","timeout_seconds":60}`)
	p.request("e97", "bob", call("1", "read_file", `{"path":"/a"}`))
	p.s.await(`{"event":"ended","env":"e97"}`)
	p.pong()
	if frames := p.waiting(); len(frames) != 0 {
		t.Errorf("it said %q while it was paused", frames)
	}
	p.send(p.d.frame("p2", "alice", "fs", "participant/resume", "", `{}`))
	p.expect(answer)

	pause("p3", `{"timeout_seconds":0.2}`)
	p.request("e97-b", "bob", call("1", "read_file", `{"path":"/a"}`))
	p.expect(p.d.reply("bob", "e97-b", "tools/call", "read_file", `{"id":1,"result":"*"}`)) // nobody resumed us
}
