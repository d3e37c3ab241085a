package gateway_test

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// These tests play what the public reference clients do with what we send, as far as it
// was found out by running them (FINDINGS, "With the stock gateways and clients").

// strict reads the next frame as stock clients do: they give up at one that has no kind
// or no protocol of theirs.
func (g *guest) strict() (kind string, payload map[string]json.RawMessage) {
	g.t.Helper()
	var f struct {
		Protocol, Kind string
		Payload        map[string]json.RawMessage
	}
	frame := g.read()
	if err := json.Unmarshal([]byte(frame), &f); err != nil || f.Kind == "" || f.Protocol != g.d.Protocol {
		g.t.Fatalf("a stock client of %s ends itself at %s (%v)", g.d.Protocol, frame, err)
	}
	return f.Kind, f.Payload
}

// text is a member of a payload that is a string.
func text(payload map[string]json.RawMessage, name string) string {
	var s string
	json.Unmarshal(payload[name], &s)
	return s
}

// Whatever a participant says that is wrong, the answer has a kind (FINDINGS D1). The
// stock bridge of mcpx/v0.1 broadcasts a frame of kind mcp after its welcome.
func TestAWrongFrameEndsNoStockClient(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			g := h.join(p, "ann")
			kind, code := "system/error", "error"
			if p == "mcp-x/v0" {
				kind, code = "system", "code"
			}
			for _, frame := range []string{
				`{`, `[]`, `7`, `{} {}`, `{"kind":"mcp"}`, `{"protocol":"smtp","id":"1","from":"ann","kind":"chat","payload":{}}`,
				say(p, "1", "ann", "", kindOf(p, "tools/call"), `[]`), say(p, "2", "ann", "", "", `{}`),
				say(p, "3", "bob", "", "chat", `{"text":"x"}`), say(p, "4", "ann", "", "system/join", `{}`),
			} {
				g.send(frame)
				if k, payload := g.strict(); k != kind || text(payload, code) == "" || text(payload, "message") == "" {
					t.Errorf("%s is answered with %s", frame, g.last())
				}
			}
			g.mark(h.join(p, "bob")) // still there
		})
	}
	g := h.join("mcpx/v0.1", "bridge")
	g.send(say("mcpx/v0.1", "tools", "bridge", "", "mcp", `{"jsonrpc":"2.0","method":"notifications/tools/available","params":{"tools":[]}}`))
	if _, payload := g.strict(); text(payload, "error") != "capability_violation" || text(payload, "attempted_kind") != "mcp" {
		t.Errorf("the stock bridge's own broadcast is answered with %s", g.last())
	}
	if !strings.Contains(g.last(), `"your_capabilities"`) {
		t.Errorf("it does not hear what it may say: %s", g.last())
	}
}

// offers reports whether a stock participant of mew takes a kind for granted: it looks for
// exactly that kind in what was announced, or for a pattern whose stars do not cross a
// slash (WIRE 5.6).
func offers(announced json.RawMessage, kind string) bool {
	var caps []struct{ Kind string }
	if json.Unmarshal(announced, &caps) != nil {
		return false
	}
	return slices.ContainsFunc(caps, func(c struct{ Kind string }) bool {
		ok, _ := path.Match(c.Kind, kind)
		return ok && (c.Kind == kind || strings.Count(c.Kind, "*") > 0 && !strings.HasPrefix(kind, "mcp/"))
	})
}

// announced is what a welcome says that its reader may send.
func (g *guest) announced() json.RawMessage {
	g.t.Helper()
	var you struct{ Capabilities json.RawMessage }
	kind, payload := g.strict()
	if err := json.Unmarshal(payload["you"], &you); kind != "system/welcome" || err != nil {
		g.t.Fatalf("%s, %v", g.last(), err)
	}
	return you.Capabilities
}

// Participants of mew offer tools only when exactly mcp/response is in their grant, and
// make requests only when mcp/request is (FINDINGS D2, D16); what is announced in the
// welcome, to the others and over REST is each kind that the token covers, and no other.
func TestAMewParticipantFindsTheKindsItLooksFor(t *testing.T) {
	h := open(t, gateway.Options{})
	watch := h.join("mew/v0.4", "watch")
	mcp := []string{"mcp/request", "mcp/response", "mcp/proposal", "mcp/withdraw", "mcp/reject"}
	mine := append(mcp, "chat", "chat/acknowledge", "chat/cancel", "reasoning/start", "reasoning/thought", "reasoning/conclusion", "participant/status")
	power := []string{"participant/shutdown", "participant/pause", "capability/grant", "capability/revoke", "space/kick"}
	for i, c := range []struct {
		caps    string
		may     []string
		mayNot  []string
		stateIt bool
	}{
		{"", mine, power, false},
		{`["mcp/*","chat"]`, append(mcp, "chat"), append(power, "chat/cancel", "reasoning/start"), true},
		{`["*"]`, append(mine, power...), nil, true},
		{`[{"kind":"*"}]`, append(mine, power...), nil, true},
		{`["mcp/re*"]`, []string{"mcp/request", "mcp/response", "mcp/reject"}, append(power, "mcp/proposal", "mcp/withdraw", "chat"), true},
		{`["mcp/response:*","mcpx.*"]`, []string{"mcp/response", "mcp/reject", "mcp/withdraw"}, append(power, "mcp/request", "mcp/proposal"), true},
		{`["mcp/request:*/list"]`, []string{"mcp/request"}, append(power, "mcp/response"), true},
		{`["chat"]`, []string{"chat"}, append(power, "mcp/response", "mcp/request"), true},
		{`[]`, nil, append(power, mine...), true},
	} {
		id := fmt.Sprint("agent", i)
		token := h.mint(id, "t")
		if c.stateIt {
			token = h.mint(id, "t", c.caps)
		}
		agent := h.knock("mew/v0.4", id, token)
		var join struct {
			Payload struct {
				Participant struct{ Capabilities json.RawMessage }
			}
		}
		told := agent.announced()
		json.Unmarshal([]byte(watch.until(`"`+id+`"`)), &join)
		var list struct {
			Participants []struct {
				ID           string
				Capabilities json.RawMessage
			}
		}
		_, body := h.get("GET", "/participants?space=t", h.mint("x", "t"), nil, "")
		json.Unmarshal([]byte(body), &list)
		last := list.Participants[len(list.Participants)-1]
		for where, caps := range map[string]json.RawMessage{"welcome": told, "presence": join.Payload.Participant.Capabilities, "REST": last.Capabilities} {
			for _, kind := range c.may {
				if !offers(caps, kind) {
					t.Errorf("%s: the %s does not show a stock participant that it may send %s: %s", c.caps, where, kind, caps)
				}
			}
			for _, kind := range c.mayNot {
				if offers(caps, kind) {
					t.Errorf("%s: the %s says that it may send %s: %s", c.caps, where, kind, caps)
				}
			}
		}
	}
}

// A token that states nothing mutes nobody: what a stock gateway of the dialect grants may
// be said, and what has power over others may not (FINDINGS D15).
func TestADefaultTokenMutesNoMewAgent(t *testing.T) {
	h := open(t, gateway.Options{})
	agent, watch := h.join("mew/v0.4", "agent"), h.join("mew/v0.4", "watch")
	for i, kind := range []string{"chat/acknowledge", "chat/cancel", "reasoning/start", "reasoning/thought", "reasoning/conclusion", "reasoning/cancel", "participant/status", "participant/compact-done", "capability/grant-ack"} {
		agent.send(say("mew/v0.4", fmt.Sprint("k", i), "agent", "", kind, `{"message":"x","status":"read"}`, link("mew/v0.4", "x")))
		watch.until(`"` + kind + `"`)
	}
	for _, kind := range []string{"participant/shutdown", "capability/grant", "space/kick"} {
		agent.send(say("mew/v0.4", kind, "agent", `["watch"]`, kind, `{}`))
		if f, _ := agent.kind(wire.Failure).Fault(); f.Code != "capability_violation" || f.AttemptedKind != kind {
			t.Errorf("%s: %s", kind, agent.last())
		}
	}
}

// Two words for one thing are announced once (FINDINGS D22).
func TestAGrantIsAnnouncedOnce(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, p := range []string{"mcpx/v0.1", "mew/v0.4"} {
		agent := h.knock(p, "agent", h.mint("agent", "t", `["mcp/withdraw","mcpx.withdraw.proposal","chat","chat","mcp/*","mcp/re*"]`))
		var all []json.RawMessage
		json.Unmarshal(agent.announced(), &all)
		for i, c := range all {
			if slices.ContainsFunc(all[:i], func(o json.RawMessage) bool { return string(o) == string(c) }) {
				t.Errorf("%s: %s stands twice in %s", p, c, agent.last())
			}
		}
	}
}

// What is let through by default in the words of the seeds is in the welcome, for who goes
// by that (FINDINGS S7).
func TestTheWelcomeListsTheWordsOfTheSeeds(t *testing.T) {
	h := open(t, gateway.Options{})
	g := h.knock("mcpx/v0.1", "ann", h.mint("ann", "t"))
	w := g.kind(wire.Greeting)
	told, err := w.Welcome()
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range []string{"v2", "seed001", "seed000", "seed002"} {
		how, _ := wire.ParseStyle(style)
		want, _ := g.d.Spelling(&wire.Envelope{Kind: wire.Proposal, Method: "tools/call", Key: "echo", Style: how}, wire.Caps{})
		got, err := g.d.Spelling(&wire.Envelope{Kind: wire.Proposal, Method: "tools/call", Key: "echo", Style: how}, told.You.Caps)
		if err != nil || got != want {
			t.Errorf("as %s a proposal is called %q, %v; want %q", style, got, err, want)
		}
	}
}
