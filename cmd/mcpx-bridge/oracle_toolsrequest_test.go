package main

import (
	"fmt"
	"testing"
)

// toolsRequest is what comes nearest to a proposal in mcp-x/v0 (WIRE 6.2).
func toolsRequest(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/request","params":{"name":%s,"arguments":%s}}`, id, quoted(tool), arguments)
}

// A dialect without proposals has a request for a tool, if the owner takes it for
// one: then people are asked though the call itself is allowed.
func TestToolsRequest(t *testing.T) {
	reject := func(code int, reason string) string {
		return fmt.Sprintf(`{"to":["bob"],"kind":"mcp","correlation_id":"$e","payload":{"id":9,"!result":0,"error":{"code":%d,"data":{"reason":%q}}}}`, code, reason)
	}
	for _, c := range []struct {
		name, proposals string
		flags           []string
	}{
		{"unless asked for", "fulfil: ask", nil},
		{"where proposals are not served", "fulfil: never", []string{"--tools-request"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, s := perform(t, d0, ruled(t, proposalRules(c.proposals), c.flags...))
			p := play{g, s}
			p.oracle(t, "O90 a request for a tool is a method nobody knows", func(*testing.T) {
				p.request("e1", "bob", toolsRequest("9", "read_file", readArguments))
				delete(g.names, "$e")
				p.expect(reject(-32601, "unknown_method"))
				p.runs(0, 0)
			})
		})
	}
	g, s := perform(t, d0, ruled(t, proposalRules("fulfil: ask"), "--tools-request"))
	p := play{g, s}
	p.oracle(t, "O90 where the owner takes it, somebody is asked", func(*testing.T) {
		before := s.ran()
		p.request("e2", "bob", toolsRequest("9", "read_file", readArguments))
		q := p.poses("alice", `{"metadata":{"originalRequest":{"envelopeId":"e2"}}}`)
		p.decides("alice", q, `{"action":"accept","content":{"approve":true}}`)
		p.expect(`{"to":["bob"],"kind":"mcp","correlation_id":"e2","payload":{"id":9,"result":"*"}}`)
		p.runs(before, 1)
		if line := s.given("tools/call")[before]; g.names.mismatch(`{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"}}}`, line) != "" {
			t.Errorf("the server was given %s", line)
		}
		s.await(`{"event":"ended","via":"proposal","tool":"read_file","outcome":"ok"}`)
	})
	p.oracle(t, "O90 and the rules hold for it", func(*testing.T) {
		before := s.ran()
		for i, c := range []struct {
			tool, arguments, reason string
			code                    int
		}{{"delete_file", `{"path":"/a"}`, "policy_denied", -31004}, {"nope", `{}`, "unknown_tool", -32602}, {"read_file", `{}`, "invalid_arguments", -32602}} {
			p.request(fmt.Sprint("e3-", i), "bob", toolsRequest("9", c.tool, c.arguments))
			delete(g.names, "$e")
			p.expect(reject(c.code, c.reason))
		}
		p.runs(before, 0)
	})
	p.oracle(t, "O90 a no and a cancellation end it", func(*testing.T) {
		before := s.ran()
		p.request("e4", "bob", toolsRequest("9", "read_file", readArguments))
		p.decides("alice", p.poses("alice", `{}`), `{"action":"decline"}`)
		delete(g.names, "$e")
		p.expect(reject(-31001, "declined"))
		p.request("e5", "bob", toolsRequest("9", "read_file", readArguments))
		q := p.poses("alice", `{}`)
		p.request("e6", "bob", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
		p.expect(p.withdrawn(q))
		p.quiet()
		p.runs(before, 0)
	})
}

// A bridge that speaks a dialect with proposals sits beside callers who speak the
// one without, and has only their request to tell that they propose (FINDINGS D10).
func TestToolsRequestOfThoseWhoHaveNoOtherWord(t *testing.T) {
	t.Parallel()
	for _, d := range []tongue{d1, mew4} {
		g, s := perform(t, d, ruled(t, proposalRules(fulfils), "--tools-request"))
		p := play{g, s}
		p.request("e1", "bob", toolsRequest("9", "read_file", readArguments))
		p.expect(`{"to":["bob"],"payload":{"id":9,"!error":0}}`)
		p.runs(0, 1)

		for _, off := range []launch{ruled(t, proposalRules(fulfils)), ruled(t, proposalRules(observes), "--tools-request")} {
			g, s = perform(t, d, off)
			p = play{g, s}
			p.request("e1", "bob", toolsRequest("9", "read_file", readArguments))
			p.expect(`{"to":["bob"],"payload":{"id":9,"error":{"code":-32601}}}`)
			p.runs(0, 0)
		}
	}
}

// The samples of seed 000 call the tool tool. That is malformed unless the owner
// reads it otherwise (WIRE 4.3).
func TestLenientParams(t *testing.T) {
	sloppy := `{"method":"tools/call","params":{"tool":"read_file","arguments":{"path":"/a"}}}`
	g, s := perform(t, d1, ruled(t, proposalRules(fulfils)))
	p := play{g, s}
	g.send(d1.frame("p1", "bob", "fs", "proposal", "", sloppy))
	p.expect(p.rejected("p1", "invalid"))
	p.runs(0, 0)

	g, s = perform(t, d1, ruled(t, proposalRules(fulfils), "--lenient-params"))
	p = play{g, s}
	g.send(d1.frame("p1", "bob", "fs", "proposal", "", sloppy))
	p.takes("p1", "read_file", readArguments, anyResult)
	p.runs(0, 1)
}

// The owner may choose how rejects are spelled, whatever the proposal looks like;
// off says nothing at all (WIRE 4.3).
func TestProposalStyle(t *testing.T) {
	t.Parallel()
	for style, want := range map[string]string{
		"auto":    `{"kind":"proposal-reject","payload":{"proposal_id":"p1","reason":"incapable","detail":"incapable"}}`,
		"v2":      `{"kind":"mcp/reject","payload":{"reason":"incapable"}}`,
		"seed001": `{"kind":"mcpx.reject.proposal","correlationId":"p1","payload":{"proposal_id":"p1","reason":"incapable"}}`,
		"chat":    `{"kind":"chat","correlation_id":"p1","payload":{"text":"*","format":"plain"}}`,
		"off":     "",
	} {
		t.Run(style, func(t *testing.T) {
			g := openStage(t, d1)
			s := ruled(t, proposalRules(observes), "--proposal-style", style).start(t, g.url)
			g.side = s
			g.accept()
			g.send(d1.presence("join-of-me", "join", "fs"))
			g.send(d1.welcome("fs", `["mcp/*","mcpx.*","proposal*","chat"]`, "bob", "alice"))
			s.ready()
			g.settle()
			g.send(d1.frame("p1", "bob", "fs", "proposal", "", proposing("nope", `{}`, "")))
			state := "told"
			if want != "" {
				g.expect(want)
			} else {
				state = "untold"
			}
			g.quiet()
			s.await(fmt.Sprintf(`{"event":"rejected","proposal":"p1","reason":"incapable","state":%q}`, state))
		})
	}
	out := newDiary()
	if code := run(t.Context(), []string{"run", "--proposal-style", "loud", "--", "true"}, env{stdout: newDiary(), stderr: out, getenv: launch{}.getenv(t), environ: func() []string { return nil }}); code != 2 {
		t.Errorf("exit %d: %s", code, out.text())
	}
}
