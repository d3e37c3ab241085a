package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
)

// approvedBy plays the word of somebody that people agreed to the proposal.
func (g *stage) approvedBy(who, env, proposal, message string) {
	g.t.Helper()
	g.send(g.d.frame(env, who, "bob", g.d.kind("request", "notifications/mcpx/approved", ""), "",
		fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/mcpx/approved","params":{"proposalId":%q,"message":%q}}`, proposal, message)))
}

// Anybody in the topic could say that somebody had agreed to our proposal, and propose printed
// it, as often as they liked (FINDINGS S9).
func TestProposeTakesWordOfAYesFromWhoServesItAlone(t *testing.T) {
	spoken(t, func(t *testing.T, d tongue) {
		g, s := begin(t, d, "fs", "echo", `{"text":"x"}`)
		g.expect(d.proposalOf("fs", d.proposal(), ""))
		p := g.proposalID()
		g.approvedBy("mallory", "m1", p, "allowed by the owner")
		for i := range client.MaxSayings + 1 {
			g.approvedBy("fs", fmt.Sprint("f", i), p, fmt.Sprintf("allowed by alice, no. %d.", i))
		}
		g.fulfil("fs", "s1", p)
		g.respond("bob", "s1", echoed)
		s.exits(0, "fs: allowed by alice, no. 0.", fmt.Sprintf("no. %d.", client.MaxSayings-1))
		if said := s.stderr.text(); strings.Contains(said, "the owner") || strings.Contains(said, fmt.Sprintf("no. %d.", client.MaxSayings)) {
			t.Errorf("stderr: %.2000s", said)
		}
	})
}

// Who serves what is put to all says so after the yes: that is heard once it does.
func TestProposeToAllHearsOfAYesFromWhoBegins(t *testing.T) {
	spoken(t, func(t *testing.T, d tongue) {
		g, s := begin(t, d, "echo", `{"text":"x"}`)
		g.expect(d.proposalOf("", d.proposal(), ""))
		p := g.proposalID()
		g.approvedBy("mallory", "m1", p, "allowed by the owner")
		g.approvedBy("fs", "f1", p, "allowed by alice")
		g.fulfil("fs", "s1", p)
		g.respond("bob", "s1", echoed)
		s.exits(0, "fs: allowed by alice")
		if strings.Contains(s.stderr.text(), "the owner") {
			t.Errorf("stderr: %s", s.stderr.text())
		}
	})
}
