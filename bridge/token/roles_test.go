package token_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What each role may send, and what it may not, in the gateway's own terms.
func TestRoles(t *testing.T) {
	frames := map[string]wire.Envelope{
		"propose":   {Kind: wire.Proposal, Method: "tools/call", Key: "echo"},
		"withdraw":  {Kind: wire.Withdraw},
		"reject":    {Kind: wire.Reject},
		"status":    {Kind: wire.Status, Spelled: "mcpx.status.proposal"},
		"respond":   {Kind: wire.ProposalResponse, Spelled: "proposal-response"},
		"answer":    {Kind: wire.Response, Method: "elicitation/create"},
		"chat":      {Kind: wire.Chat},
		"list":      {Kind: wire.Request, Method: "tools/list", To: []string{"fs"}},
		"ask":       {Kind: wire.Request, Method: "elicitation/create", To: []string{"alice"}},
		"call":      {Kind: wire.Request, Method: "tools/call", Key: "echo", To: []string{"fs"}},
		"call self": {Kind: wire.Request, Method: "tools/call", Key: "echo", To: []string{"me"}},
		"call all":  {Kind: wire.Request, Method: "tools/call", Key: "echo"},
		"notify":    {Kind: wire.Notification, Method: "notifications/tools/list_changed"},
		"order":     {Kind: wire.Control, Spelled: "participant/shutdown"},
		"grant":     {Kind: wire.Grant, Spelled: "capability/grant"},
		"ack":       {Kind: wire.Grant, Spelled: "capability/grant-ack"},
		"gateway":   {Kind: wire.Greeting, Spelled: "system/welcome"},
	}
	all := []string{"propose", "withdraw", "reject", "status", "respond", "answer", "chat", "list", "ask", "call", "call self", "call all", "notify"}
	for role, may := range map[string][]string{
		"full":     all,
		"admin":    append(all[:len(all):len(all)], "order", "grant", "ack"),
		"agent":    {"propose", "withdraw", "answer", "chat", "list"},
		"approver": {"reject", "answer", "chat"},
		"bridge":   {"reject", "status", "respond", "answer", "chat", "ask", "call self", "notify", "ack"},
		"observer": {"chat"},
	} {
		text, err := token.Capabilities("me", role, nil)
		if err != nil {
			t.Fatal(err)
		}
		caps, err := wire.ParseCaps(text)
		if err != nil {
			t.Fatal(err)
		}
		allowed := map[string]bool{}
		for _, name := range may {
			allowed[name] = true
		}
		for name, e := range frames {
			if got := caps.Permits(&e); got != allowed[name] {
				t.Errorf("role %q, %s: %v", role, name, got)
			}
		}
	}
}

// A token without a role states nothing, so that the gateway grants what is usual in the
// dialect its bearer speaks (FINDINGS D15).
func TestATokenWithoutARoleStatesNothing(t *testing.T) {
	if text, err := token.Capabilities("me", "", nil); text != nil || err != nil {
		t.Errorf("%s, %v", text, err)
	}
}

// What --can and --role ask for is what the gateway reads.
func FuzzKinds(f *testing.F) {
	for _, kind := range []string{"chat", "mcp/request:tools/*", "system/x", "a\x00", "\u202e", `"`, "**:", "é"} {
		f.Add(kind)
	}
	f.Fuzz(func(t *testing.T, kind string) {
		raw, err := token.Capabilities("me", "", []string{kind, "chat"})
		if err != nil {
			return
		}
		caps, err := wire.ParseCaps(raw)
		if err != nil || !json.Valid(raw) || !caps.Allows("chat", nil) {
			t.Errorf("%q becomes %s: %v", kind, raw, err)
		}
	})
}
