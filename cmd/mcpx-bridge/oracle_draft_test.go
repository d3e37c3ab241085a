package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The oracles of proposals as the drafts of mcpx/v0.1 spell them (WIRE 4, 11.4).

// permitted is a stage on which the gateway lets the bridge send these kinds.
func permitted(t *testing.T, d tongue, rules, caps string, flags ...string) play {
	t.Helper()
	g := openStage(t, d)
	s := ruled(t, rules, flags...).start(t, g.url)
	g.side = s
	g.accept()
	g.send(d.welcome(g.me, caps, "bob", "alice", "carol", "mallory"))
	s.ready()
	g.waiting()
	return play{g, s}
}

// frameOfDraft is a frame in a spelling of the drafts: members are those between from
// and payload.
func frameOfDraft(env, from, members, payload string) string {
	return fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":%q,"ts":"2026-01-01T00:00:00Z","from":%q,%s,"payload":%s}`, env, from, members, payload)
}

// named puts the id of a proposal where a frame has ID.
func named(frame, id string) string { return strings.ReplaceAll(frame, `"ID"`, quoted(id)) }

func mustRead(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

const (
	dotted = `"to":["fs"],"kind":"mcp.proposal.tools/call"`
	noTool = `{"method":"tools/call","params":{"name":"nope"}}`
)

func TestOraclesOfDrafts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, caps, members, payload, want string
	}{
		{"O79 a dotted proposal is rejected in its words", `["mcp/*","chat","mcpx.reject.proposal"]`, dotted, noTool,
			`{"kind":"mcpx.reject.proposal","to":["bob"],"correlationId":"p1","correlation_id":"p1","payload":{"reason":"incapable","proposal_id":"p1"}}`},
		{"O80 in the later words where those alone may be said", `["mcp/*","chat"]`, dotted, noTool,
			`{"kind":"mcp/reject","to":["bob"],"correlation_id":"p1","payload":{"reason":"incapable"}}`},
		{"O80 in words to people where no others may be said", `["mcp/response:*","chat"]`, dotted, noTool,
			`{"kind":"chat","to":["bob"],"correlation_id":"p1","payload":{"text":"I will not serve the proposal p1: incapable (unknown_tool: unknown tool \"nope\"; tools/list names those there are)"}}`},
		{"O80 not at all where nothing may be said", `["mcp/response:*"]`, dotted, noTool, ""},
		{"O83 a plain proposal is rejected in its words", `["mcp/*","proposal-reject"]`, `"kind":"proposal"`,
			`{"method":"tools/call","preferred":"fs","params":{"name":"nope"}}`,
			`{"kind":"proposal-reject","to":["bob"],"correlation_id":"p1","payload":{"proposal_id":"p1","reason":"incapable","detail":"incapable"}}`},
		{"O83 they are few, and the exact one stands beside", `["mcp/*","proposal-reject"]`, `"kind":"proposal"`,
			`{"method":"tools/call","targeting":{"preferred":["fs"]},"params":{"name":"delete_file","arguments":{"path":"/a"}}}`,
			`{"kind":"proposal-reject","to":["bob"],"correlation_id":"p1","payload":{"proposal_id":"p1","reason":"incapable","detail":"policy"}}`},
	} {
		p := permitted(t, d1, proposalRules(observes), c.caps)
		t.Run(c.name, func(*testing.T) {
			p.send(frameOfDraft("p1", "bob", c.members, c.payload))
			if c.want != "" {
				p.expect(c.want)
			}
			p.s.await(`{"event":"rejected","proposal":"p1","state":"told"}`)
			if c.want == "" {
				p.s.await(`{"event":"dropped","reason":"not_permitted"}`)
			}
			p.pong()
			if more := p.waiting(); len(more) > 0 {
				p.fail("it said %q", more)
			}
		})
	}
}

func TestOraclesOfDraftsThatAreAsked(t *testing.T) {
	g, s := perform(t, d1, ruled(t, proposalRules("")))
	p := play{g, s}
	p.oracle(t, "O81 it is withdrawn in any spelling", func(*testing.T) {
		for i, c := range []struct{ members, payload string }{
			{`"kind":"mcpx.withdraw.proposal","correlationId":"ID"`, `{"reason":"No longer needed"}`},
			{`"kind":"mcpx.withdraw.proposal","correlation_id":"ID"`, `{"reason":"No longer needed"}`},
			{`"kind":"proposal/withdraw"`, `{"proposalId":"ID","reason":"No longer needed"}`},
			{`"kind":"mcp/withdraw","correlation_id":"ID"`, `{"reason":"no_longer_needed"}`},
			{`"kind":"mcp.withdraw","correlationId":["ID"]`, `{}`},
			{`"kind":"proposal/status"`, `{"proposalId":"ID","status":"withdrawn","reason":"Context changed"}`},
			{`"to":["fs"],"kind":"mcp/request:notifications/cancelled"`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ID","reason":"withdrawn"}}`},
		} {
			id := fmt.Sprint("p81-", i)
			q := p.asked(id, "")
			p.send(named(frameOfDraft("w-"+id, "bob", c.members, c.payload), id))
			p.expect(p.withdrawn(q))
			p.s.await(fmt.Sprintf(`{"event":"withdrawn","proposal":%q,"state":"withdrawn"}`, id))
		}
	})
	p.oracle(t, "O82 what names two proposals names none", func(*testing.T) {
		q := p.asked("p82", "")
		p.send(frameOfDraft("w82", "bob", `"kind":"proposal/withdraw","correlation_id":"other"`, `{"proposalId":"p82"}`))
		p.quiet()
		p.s.dropped("ambiguous_reference")
		p.agrees(q, "p82")
		p.takes("p82", "write_file", writeArguments, anyResult)
	})
	p.oracle(t, "O88 a proposal answers nothing", func(*testing.T) {
		p.send(p.d.frame("p88", "bob", "fs", "mcp/proposal:tools/call:nope", "something", noTool))
		p.expect(p.rejected("p88", "incapable"))
		p.s.await(`{"event":"warning","reason":"proposal_with_correlation"}`)
	})
	p.oracle(t, "O89 a kind must say what the payload says", func(*testing.T) {
		p.send(p.d.frame("p89", "bob", "fs", "mcp/proposal:tools/call:read_file", "", proposing("delete_file", readArguments, "")))
		p.quiet()
		p.s.dropped("kind_payload_mismatch")
	})
}

// Where the gateway takes back a word that it seemed to give (WIRE W-4).
func TestOraclesOfTheGatewaysNo(t *testing.T) {
	withProposals(t, observes, func(t *testing.T, p play) {
		fault := func(env, kind, link string) {
			p.send(p.d.frame(env, "system:gateway", "fs", "system/error", link,
				fmt.Sprintf(`{"error":"capability_violation","message":"no","attempted_kind":%q}`, kind)))
		}
		p.oracle(t, "O98 a reject that may not be said is said in other words, once", func(*testing.T) {
			p.proposes("p98", "nope", `{}`, "")
			p.stage.names = names{}
			reject := p.expect(`{"id":"$reject","kind":"mcp/reject"}`)
			var m struct{ ID string }
			mustRead(t, reject, &m)
			link := m.ID
			if !p.d.list {
				link = "" // those gateways never say
			}
			fault("f98", "mcp/reject", link)
			p.expect(fmt.Sprintf(`{"kind":"chat","to":["bob"],"correlation_id":%s}`, p.d.link("p98")))
			fault("f98-b", "chat", "")
			p.quiet()
			p.proposes("p98-b", "nope", `{}`, "") // it is not tried again
			p.expect(fmt.Sprintf(`{"kind":"chat","to":["bob"],"correlation_id":%s}`, p.d.link("p98-b")))
		})
	})
}
