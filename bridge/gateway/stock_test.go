package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
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

// An approver that answers as seed 003 writes it, lines 83 to 102: in mcp-x/v0, without a
// correlation. The bridge speaks whatever it likes (FINDINGS S1).
func TestSeed003sOwnAnswerIsHeardInEveryDialect(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			h := open(t, gateway.Options{})
			bridge, user, other := h.join(p, "agent-b"), h.join("mcp-x/v0", "user-1"), h.join(p, "agent-c")
			kind, payload := kindOf(p, "elicitation/create"), `{"jsonrpc":"2.0","id":"elicit-123","method":"elicitation/create","params":{"message":"?"}}`
			bridge.send(say(p, "msg-456", "agent-b", `["user-1"]`, kind, payload))
			user.until("msg-456")
			other.send(say(p, "msg-9", "agent-c", `["user-1"]`, kind, payload)) // the same id, from somebody else
			user.until("msg-9")
			user.mustRejoin(h) // what was asked outlives a session
			user.send(`{"protocol":"mcp-x/v0","id":"msg-457","ts":"2024-01-01T12:00:30Z","from":"user-1","to":["agent-b"],"kind":"mcp",` +
				`"payload":{"jsonrpc":"2.0","id":"elicit-123","result":{"action":"accept","content":{"approve":true,"reason":"Approved for scheduled maintenance"}}}}`)
			e := bridge.kind(wire.Response)
			if e.From != "user-1" || p != "mcp-x/v0" && (len(e.Corr) != 1 || e.Corr[0] != "msg-456") || string(e.Message.Get(jsonrpc.ID)) != `"elicit-123"` {
				t.Errorf("the bridge got %s", bridge.last())
			}
			if p == "mcpx/v0.1" && e.Spelled != "mcp/response:elicitation/create" {
				t.Errorf("the answer is called %s", e.Spelled)
			}
			if p == "mcp-x/v0" {
				return // any id may mean something there
			}
			user.send(say("mcp-x/v0", "msg-458", "user-1", `["agent-b"]`, "mcp", `{"jsonrpc":"2.0","id":"elicit-124","result":{}}`))
			if f, _ := user.kind(wire.Failure).Fault(); f.Code != "not_expressible" || !strings.Contains(f.Message, "correlation_id") {
				t.Errorf("who answers what nobody asked is told %s", user.last())
			}
		})
	}
}

// mustRejoin takes the same seat again, after having left it.
func (g *guest) mustRejoin(h *house) {
	g.t.Helper()
	g.ws.Close()
	again := h.join(g.d.Protocol, g.id)
	g.ws = again.ws
}

// A participant that asks a thousand things makes nobody else's question forgotten.
func TestAFloodOfQuestionsPushesOutItsOwnFirst(t *testing.T) {
	h := open(t, gateway.Options{})
	bridge, flood, user := h.join("mcpx/v0.1", "fs"), h.join("mcpx/v0.1", "flood"), h.join("mcp-x/v0", "user")
	ask := func(g *guest, id string) {
		g.send(say("mcpx/v0.1", id, g.id, `["user"]`, "mcp/request:ping", `{"jsonrpc":"2.0","id":"`+id+`","method":"ping"}`))
		user.until(`"` + id + `"`)
	}
	ask(bridge, "mine")
	for i := range 300 {
		ask(flood, fmt.Sprint("f", i))
	}
	user.send(say("mcp-x/v0", "a", "user", `["fs"]`, "mcp", `{"jsonrpc":"2.0","id":"mine","result":{}}`))
	if e := bridge.kind(wire.Response); e.Corr[0] != "mine" {
		t.Errorf("%s", bridge.last())
	}
	user.send(say("mcp-x/v0", "b", "user", `["flood"]`, "mcp", `{"jsonrpc":"2.0","id":"f299","result":{}}`))
	if frame := flood.until(`"b"`); !strings.Contains(frame, `"correlation_id":"f299"`) {
		t.Errorf("%s", frame)
	}
}

// Who fulfils a proposal asks itself and answers the proposer, in mew with two links. The
// proposer hears what ran in each pair of dialects (FINDINGS S2, seed 001 line 14).
func TestWhatRanIsToldToWhoeverProposed(t *testing.T) {
	for _, runs := range protocols[1:] {
		for _, proposes := range protocols[1:] {
			t.Run(runs+" for "+proposes, func(t *testing.T) {
				h := open(t, gateway.Options{})
				fs, bob := h.join(runs, "fs"), h.join(proposes, "bob")
				kind := "mcp/proposal"
				if proposes == "mcpx/v0.1" {
					kind += ":tools/call:echo"
				}
				bob.send(say(proposes, "p", "bob", `["fs"]`, kind, `{"method":"tools/call","params":{"name":"echo"}}`))
				fs.kind(wire.Proposal)
				fs.send(say(runs, "self", "fs", `["fs"]`, callKind(runs), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, link(runs, "p")))
				links := link(runs, "self")
				if runs != "mcpx/v0.1" {
					links = `"correlation_id":["self","p"]`
				}
				result := `{"jsonrpc":"2.0","id":1,"result":` + hard + `}`
				fs.send(say(runs, "done", "fs", `["bob"]`, answerKind(runs), result, links))
				e := bob.kind(wire.Response)
				if e.Corr[0] != "self" || string(e.Payload) != result {
					t.Errorf("bob got %s", bob.last())
				}
				if runs == "mcpx/v0.1" {
					return
				}
				fs.send(say(runs, "direct", "fs", `["bob"]`, "mcp/response", result, link(runs, "p"))) // some answer the proposal itself
				if e := bob.kind(wire.Response); e.Corr[0] != "p" || string(e.Payload) != result || proposes == "mcpx/v0.1" && e.Spelled != "mcp/response:tools/call:echo" {
					t.Errorf("bob got %s", bob.last())
				}
			})
		}
	}
}

// An answer that cannot be spelled for who asked, here because it grows beyond what a frame
// may hold, leaves nobody waiting: both are told (FINDINGS S2).
func TestAnAnswerThatCannotBeSpelledIsToldToWhoAsked(t *testing.T) {
	h := open(t, gateway.Options{})
	now, mew := h.join("mcpx/v0.1", "now"), h.join("mew/v0.4", "mew")
	now.send(say("mcpx/v0.1", "q", "now", `["mew"]`, callKind("mcpx/v0.1"), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`))
	mew.kind(wire.Request)
	frame := func(text string) string {
		return say("mew/v0.4", "huge", "mew", `["now"]`, "mcp/response", `{"result":"`+text+`"}`, link("mew/v0.4", "q"))
	}
	mew.send(frame(strings.Repeat("x", 16<<20-len(frame("")))))
	for _, g := range []*guest{mew, now} {
		want := map[*guest]string{mew: "huge", now: "q"}[g]
		if f, _ := g.kind(wire.Failure).Fault(); f.Code != "not_expressible" || len(f.Trigger) != 1 || f.Trigger[0] != want {
			t.Errorf("%s is told %.300s", g.id, g.last())
		}
	}
}

// Who answers in a way that counts for nobody hears it (FINDINGS D6, S1).
func TestWhoAnswersWronglyIsTold(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, p := range protocols[1:] {
		asker, alice := h.join("mcpx/v0.1", "asker"), h.join(p, "alice")
		asker.send(say("mcpx/v0.1", "q", "asker", `["alice"]`, "mcp/request:elicitation/create", `{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{}}`))
		alice.kind(wire.Request)
		kind := "mcp/response"
		if p == "mcpx/v0.1" {
			kind += ":elicitation/create"
		}
		alice.send(say(p, "a1", "alice", `["asker"]`, kind, `{"jsonrpc":"2.0","id":"e1","result":{}}`))
		if f, _ := alice.kind(wire.Failure).Fault(); !strings.Contains(f.Message, "correlation_id") || f.Trigger[0] != "a1" {
			t.Errorf("%s without a link: %s", p, alice.last())
		}
		if p != "mcpx/v0.1" {
			continue
		}
		alice.send(say(p, "a2", "alice", `["asker"]`, answerKind(p), `{"jsonrpc":"2.0","id":"e1","result":{}}`, link(p, "q")))
		if f, _ := alice.kind(wire.Failure).Fault(); !strings.Contains(f.Message, "elicitation/create") || f.Trigger[0] != "a2" {
			t.Errorf("%s of another kind: %s", p, alice.last())
		}
		alice.send(say(p, "a3", "alice", `["asker"]`, kind, `{"jsonrpc":"2.0","id":0,"result":{}}`, link(p, "q"))) // as stock clients do
		alice.mark(asker)
		if strings.Contains(strings.Join(alice.seen, "\n"), `"a3"`) {
			t.Errorf("what counts is complained of: %s", alice.seen)
		}
	}
}

// Stock clients of mew count on hearing what they said themselves; those of the others
// do not.
func TestAMewSpeakerHearsItself(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, p := range protocols {
		g, other := h.join(p, "ann"), h.join("mcpx/v0.1", "bob")
		frame := say(p, "own", "ann", `["bob"]`, kindOf(p, "notifications/x"), `{"jsonrpc":"2.0","method":"notifications/x"}`)
		g.send(frame)
		other.until(`"own"`)
		if g.d.Echoes() {
			if got := g.until(`"own"`); got != frame {
				t.Errorf("%s: got %s, want %s", p, got, frame)
			}
		}
	}
}

// Participants of mew leave out what their gateway fills in, and one that answers writes
// its correlation as a string: stock receivers, who read the first letter of that, get a
// list (FINDINGS D4, D8, D18).
func TestOurGatewayFillsInWhatOnlyItCanVouchFor(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, p := range protocols[2:] {
		agent, twin, now := h.join(p, "agent"), h.join(p, "twin"), h.join("mcpx/v0.1", "now")
		agent.send(`{"kind":"mcp/response","to":["twin"],"correlation_id":"quest","payload":{}}`)
		var f struct {
			Protocol, ID, TS, From string
			Corr                   []string `json:"correlation_id"`
			Payload                json.RawMessage
		}
		frame := twin.until(`"quest"`)
		if err := json.Unmarshal([]byte(frame), &f); err != nil || f.Protocol != p || f.ID == "" || f.From != "agent" || len(f.Corr) != 1 || f.Corr[0] != "quest" || string(f.Payload) != `{}` {
			t.Errorf("%v: a stock receiver gets %s", err, frame)
		}
		if _, err := time.Parse(time.RFC3339, f.TS); err != nil {
			t.Errorf("the time is %q", f.TS)
		}
		if got := now.until(`"quest"`); !strings.Contains(got, `"result":{}`) || !strings.Contains(got, `"correlation_id":"quest"`) {
			t.Errorf("in another dialect it is %s", got)
		}
		agent.send(`{"from":"twin","kind":"chat","payload":{"text":"x"}}`)
		if fault, _ := agent.kind(wire.Failure).Fault(); fault.Code != "auth_violation" {
			t.Errorf("in the name of another: %s", agent.last())
		}
	}
	for _, p := range protocols[:2] {
		ann, twin := h.join(p, "ann"), h.join(p, "twin")
		ann.send(`{"id":"bare","from":"ann","kind":"` + kindOf(p, "notifications/x") + `","payload":{"jsonrpc":"2.0","method":"notifications/x"}}`)
		if got := twin.until(`"bare"`); !strings.Contains(got, `"protocol":"`+p+`"`) {
			t.Errorf("a stock client of %s rejects %s", p, got)
		}
	}
}

// Rooms are called at our gateway as they are at stock ones (FINDINGS D12), in addresses,
// tokens, joins and over REST; what could be read as something else is no name.
func TestRoomsAreCalledAsAtStockGateways(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, topic := range []string{"room:general", "#general", "a@b+c~d=e,f", "T.1_-"} {
		in := url.QueryEscape(topic)
		token := h.mint("ann", topic)
		for path, d := range map[string]string{"/v0/ws?topic=": "mcp-x/v0", "/ws?topic=": "mcpx/v0.1", "/?space=": "mew/v0.4"} {
			g := h.dial(path+in, http.Header{"Authorization": {"Bearer " + token}})
			g.id, g.d = "ann", dialect(t, d)
			if d == "mew/v0.4" {
				frame, _ := json.Marshal(map[string]any{"kind": "system/join", "participantId": "ann", "space": topic, "token": token})
				g.send(string(frame))
			}
			g.kind(wire.Greeting)
			if status, body := h.get("GET", "/v0.1/topics/"+url.PathEscape(topic)+"/participants", token, nil, ""); status != 200 || !strings.Contains(body, `"ann"`) {
				t.Errorf("%s, %s: %d %s", topic, d, status, body)
			}
			if status, body := h.get("GET", "/participants?space="+in, token, nil, ""); status != 200 || !strings.Contains(body, `"ann"`) {
				t.Errorf("%s, %s: %d %s", topic, d, status, body)
			}
			g.ws.Close()
		}
	}
	for _, topic := range []string{"", ".", "..", "*", "a b", "a\nb", "a\x00", `a"b`, `a\b`, "a/b", "a%b", "a?b", "a&b", "<b>", "räum", "a\u202eb", strings.Repeat("x", 129)} {
		if wire.ValidTopic(topic) {
			t.Errorf("%q is taken for a topic", topic)
		}
	}
}
