package gateway_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// link spells a correlation.
func link(protocol, id string) string {
	if strings.HasPrefix(protocol, "mcp") {
		return `"correlation_id":"` + id + `"`
	}
	return `"correlation_id":["` + id + `"]`
}

// answerKind is how a dialect calls a response to a call of echo.
func answerKind(protocol string) string {
	switch protocol {
	case "mcp-x/v0":
		return "mcp"
	case "mcpx/v0.1":
		return "mcp/response:tools/call:echo"
	}
	return "mcp/response"
}

func callKind(protocol string) string {
	if protocol == "mcpx/v0.1" {
		return "mcp/request:tools/call:echo"
	}
	return kindOf(protocol, "tools/call")
}

// hard are arguments that a relay which decodes and encodes does not return
// as they were.
const hard = `{"z":1,"a":9007199254740993,"m":1.0,"n":-0,"e":1E400,"html":"<b>&</b>","sep":"` + "\u2028" + `","esc":"\u00e9\/","deep":[[[{}]]] , "x":null}`

// A call and its answer cross between each pair of dialects, and what was
// called and answered stays byte for byte what it was.
func TestCallCrossesDialects(t *testing.T) {
	h := open(t, gateway.Options{})
	ids := []string{`7`, `"7"`, `0`, `-1`, `1.0`, `9007199254740993`, `"a b\u00e9"`}
	for _, from := range protocols {
		for _, to := range protocols {
			t.Run(from+" to "+to, func(t *testing.T) {
				asker, server := h.join(from, "asker"), h.join(to, "server")
				for i, id := range ids {
					callAndAnswer(t, asker, server, fmt.Sprint("c", i), id, hard)
				}
			})
		}
	}
}

// callAndAnswer makes one call and answers it, and checks both frames.
func callAndAnswer(t *testing.T, asker, server *guest, env, id, args string) {
	t.Helper()
	from, to := asker.d.Protocol, server.d.Protocol
	payload := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"echo","arguments":` + args + `,"_meta":{"unknown":1}},"later":true}`
	frame := say(from, env, asker.id, `["`+server.id+`"]`, callKind(from), payload, `"unknown":[1]`)
	asker.send(frame)
	call := server.kind(wire.Request)
	if call.From != asker.id || call.ID != env || call.Method != "tools/call" || call.Key != "echo" {
		t.Errorf("the server read %+v", call)
	}
	if string(call.Payload) != payload {
		t.Errorf("the server got\n%s want\n%s", call.Payload, payload)
	}
	if from == to && server.last() != frame {
		t.Errorf("between equals a frame passes unchanged, got\n%s want\n%s", server.last(), frame)
	}
	result := `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[],"structuredContent":` + args + `}}`
	server.send(say(to, "r-"+env, server.id, `["`+asker.id+`"]`, answerKind(to), result, link(to, env)))
	answer := asker.kind(wire.Response)
	if len(answer.Corr) != 1 || answer.Corr[0] != env || string(answer.Message.Get(jsonrpc.ID)) != id {
		t.Errorf("the asker read an answer to %v, id %s", answer.Corr, answer.Message.Get(jsonrpc.ID))
	}
	if string(answer.Payload) != result {
		t.Errorf("the asker got\n%s want\n%s", answer.Payload, result)
	}
	if from == "mcpx/v0.1" && answer.Spelled != "mcp/response:tools/call:echo" {
		t.Errorf("the answer is called %s", answer.Spelled)
	}
}

func (g *guest) last() string { return g.seen[len(g.seen)-1] }

// Mew callers leave out jsonrpc and id, and mew servers answer in kind; the
// others get both nonetheless, and the caller's own id comes back (WIRE 5.5).
func TestLooseMewMeetsStrictDialects(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, strict := range []string{"mcp-x/v0", "mcpx/v0.1"} {
		t.Run("mew asks "+strict, func(t *testing.T) {
			asker, server := h.join("mew/v0.4", "asker"), h.join(strict, "server")
			asker.send(say("mew/v0.4", "q1", "asker", `["server"]`, "mcp/request", `{"method":"tools/call","params":{"name":"echo","arguments":`+hard+`}}`))
			call := server.kind(wire.Request)
			id := string(call.Message.Get(jsonrpc.ID))
			if id == "" || call.Message.Text(jsonrpc.Version) != "2.0" {
				t.Errorf("the server got %s", call.Payload)
			}
			if !bytes.Contains(call.Payload, []byte(hard)) {
				t.Errorf("arguments changed: %s", call.Payload)
			}
			server.send(say(strict, "a1", "server", `["asker"]`, answerKind(strict), `{"jsonrpc":"2.0","id":`+id+`,"result":`+hard+`}`, link(strict, "q1")))
			answer := asker.kind(wire.Response)
			if answer.Corr[0] != "q1" || string(answer.Message.Get(jsonrpc.Result)) != hard {
				t.Errorf("the asker got %s", asker.last())
			}
		})
		t.Run(strict+" asks mew", func(t *testing.T) {
			asker, server := h.join(strict, "asker"), h.join("mew/v0.4", "server")
			asker.send(say(strict, "q2", "asker", `["server"]`, callKind(strict), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`))
			server.kind(wire.Request)
			server.send(say("mew/v0.4", "a2", "server", `["asker"]`, "mcp/response", `{"result":`+hard+`}`, link("mew/v0.4", "q2")))
			answer := asker.kind(wire.Response)
			if string(answer.Message.Get(jsonrpc.ID)) != "7" || string(answer.Message.Get(jsonrpc.Result)) != hard {
				t.Errorf("the asker got %s", asker.last())
			}
			if strict == "mcpx/v0.1" && answer.Spelled != "mcp/response:tools/call:echo" {
				t.Errorf("the answer is called %s", answer.Spelled)
			}
		})
	}
}

// Everybody in the room sees what is said, whoever it is said to; the sender
// gets a copy only where it is an addressee, or speaks mew, whose stock clients count on it.
func TestTopicIsPublic(t *testing.T) {
	h := open(t, gateway.Options{})
	var room []*guest
	for i, p := range protocols {
		room = append(room, h.join(p, fmt.Sprint("p", i)))
	}
	for _, speaker := range room {
		p := speaker.d.Protocol
		t.Run(p, func(t *testing.T) {
			id := "note-" + speaker.id
			note := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"<t>","progress":0.50}}`
			speaker.send(say(p, id, speaker.id, `["p0","absent"]`, kindOf(p, "notifications/progress"), note))
			speaker.send(say(p, id+"-own", speaker.id, `["`+speaker.id+`"]`, kindOf(p, "notifications/progress"), note))
			for _, g := range room {
				if g == speaker && g.id != "p0" {
					continue
				}
				e, _ := g.d.Decode([]byte(g.until(`"` + id + `"`)))
				if e.Kind != wire.Notification || string(e.Payload) != note || len(e.To) != 2 {
					t.Errorf("%s got %s", g.d.Protocol, g.last())
				}
			}
			speaker.until(id + "-own")
			want := 0
			if speaker.id == "p0" || speaker.d.Echoes() {
				want = 1
			}
			if n := strings.Count(strings.Join(speaker.seen, "\n"), `"`+id+`"`); n != want {
				t.Errorf("the speaker got its own frame %d times, want %d", n, want)
			}
			for _, frame := range speaker.seen {
				if strings.Contains(frame, "recipient_absent") {
					t.Errorf("a notification to nobody is no fault: %s", frame)
				}
			}
		})
	}
}

// Chat is a word in all dialects.
func TestChatCrosses(t *testing.T) {
	h := open(t, gateway.Options{})
	old, now, mew := h.join("mcp-x/v0", "old"), h.join("mcpx/v0.1", "now"), h.join("mew/v0.3", "mew")
	words := `{"text":"a <b> \u00e9 ` + "\u2028" + `","format":"plain"}`
	now.send(say("mcpx/v0.1", "c1", "now", "", "chat", words))
	mew.send(say("mew/v0.3", "c2", "mew", "", "chat", words))
	old.send(say("mcp-x/v0", "c3", "old", "", "mcp", `{"jsonrpc":"2.0","method":"notifications/chat/message","params":`+words+`}`))
	for _, c := range []struct {
		to *guest
		id string
	}{{old, "c1"}, {old, "c2"}, {now, "c2"}, {now, "c3"}, {mew, "c1"}, {mew, "c3"}} {
		frame := c.to.find(`"` + c.id + `"`)
		e, err := c.to.d.Decode([]byte(frame))
		if err != nil || e.Kind != wire.Chat || string(e.Payload) != words {
			t.Errorf("%s got %s as %s (%v)", c.to.id, c.id, frame, err)
		}
	}
}

// A proposal has no word in mcp-x/v0: the others get it, and the proposer is
// told where somebody it was meant for does not.
func TestWhatADialectCannotSay(t *testing.T) {
	h := open(t, gateway.Options{})
	old, now, mew := h.join("mcp-x/v0", "old"), h.join("mcpx/v0.1", "now"), h.join("mew/v0.4", "mew")
	mew.send(say("mew/v0.4", "prop", "mew", `["old","now"]`, "mcp/proposal", `{"method":"tools/call","params":{"name":"echo"}}`))
	if e := now.kind(wire.Proposal); e.Spelled != "mcp/proposal:tools/call:echo" {
		t.Errorf("now got %s", now.last())
	}
	f, _ := mew.kind(wire.Failure).Fault()
	if f.Code != "not_expressible" || len(f.Trigger) != 1 || f.Trigger[0] != "prop" || !strings.Contains(f.Message, "old") {
		t.Errorf("the proposer was told %s", mew.last())
	}
	mew.mark(old)
	if strings.Contains(strings.Join(old.seen, ""), `"prop"`) {
		t.Error("old got a proposal")
	}
}

// What concerns a proposal crosses from the words of any seed into mew and
// back, and between equals stays as it is (WIRE 4.1).
func TestProposalsCross(t *testing.T) {
	h := open(t, gateway.Options{})
	draft, twin, mew := h.join("mcpx/v0.1", "draft"), h.join("mcpx/v0.1", "twin"), h.join("mew/v0.4", "mew")
	for i, c := range []struct{ kind, link, payload, mewKind, mewPayload string }{
		{"mcp.proposal.tools/call", ``, `{"method":"tools/call","params":{"name":"echo"},"ttl":5}`, "mcp/proposal", `{"method":"tools/call","params":{"name":"echo"},"ttl":5}`},
		{"proposal", ``, `{"method":"tools/call","params":{"name":"echo"},"targeting":{"preferred":"mew"}}`, "mcp/proposal", `{"method":"tools/call","params":{"name":"echo"},"targeting":{"preferred":"mew"}}`},
		{"mcpx.withdraw.proposal", `,"correlationId":"p1"`, `{"reason":"No longer needed"}`, "mcp/withdraw", `{"reason":"No longer needed"}`},
		{"proposal/withdraw", ``, `{"proposalId":"p1","reason":"x"}`, "mcp/withdraw", `{"reason":"x"}`},
		{"mcpx.reject.proposal", `,"correlationId":"p1"`, `{"reason":"busy","proposal_id":"p1"}`, "mcp/reject", `{"reason":"busy"}`},
		{"proposal-reject", ``, `{"proposal_id":"p1","reason":"incapable","detail":"policy"}`, "mcp/reject", `{"reason":"policy"}`},
		{"mcp/reject", `,"correlation_id":"p1"`, `{"reason":"busy","later":1}`, "mcp/reject", `{"reason":"busy","later":1}`},
	} {
		id := fmt.Sprint("x", i)
		frame := say("mcpx/v0.1", id, "draft", "", c.kind, c.payload)
		frame = strings.Replace(frame, `"payload"`, strings.TrimPrefix(c.link+`,"payload"`, ","), 1)
		draft.send(frame)
		if got := twin.find(`"` + id + `"`); got != frame {
			t.Errorf("%s: its equal got %s, want %s", c.kind, got, frame)
		}
		e, err := mew.d.Decode([]byte(mew.find(`"` + id + `"`)))
		if err != nil || e.Spelled != c.mewKind || string(e.Payload) != c.mewPayload || (len(e.Corr) == 1) == (e.Kind == wire.Proposal) {
			t.Errorf("%s: mew got %s about %q with %s, %v", c.kind, e.Spelled, e.Corr, e.Payload, err)
		}
	}
	draft.send(say("mcpx/v0.1", "late", "draft", `["mew"]`, "mcpx.status.proposal", `{"proposal_id":"p1","status":"queued"}`))
	if f, _ := draft.kind(wire.Failure).Fault(); f.Code != "not_expressible" || f.Trigger[0] != "late" {
		t.Errorf("a status for mew: %s", draft.last())
	}
}

// A capability in the words of a seed holds for what it means, and for nothing
// beside it; its bearer reads it in its welcome as it was given.
func TestLifecycleCapabilities(t *testing.T) {
	h := open(t, gateway.Options{})
	agent := h.join("mcpx/v0.1", "agent", `["mcp/proposal:*","mcpx.withdraw.proposal"]`)
	fs := h.join("mcpx/v0.1", "fs", `["mcpx.reject.proposal"]`)
	now := h.knock("mew/v0.4", "now", h.mint("now", "t", `["mcpx.reject.proposal","mcpx.status.proposal"]`))
	if w, err := now.kind(wire.Greeting).Welcome(); err != nil || string(w.You.Caps.Raw()) != `[{"kind":"mcp/reject"},{"kind":"mcpx.status.proposal"}]` {
		t.Errorf("in mew they are said as %s, %v", w.You.Caps.Raw(), err)
	}
	propose := `{"method":"tools/call","params":{"name":"echo"}}`
	for i, c := range []struct {
		from    *guest
		kind    string
		allowed bool
	}{
		{agent, "mcp/proposal:tools/call:echo", true},
		{agent, "mcp.proposal.tools/call", true},
		{agent, "mcpx.withdraw.proposal", true},
		{agent, "mcp/withdraw", true},
		{agent, "proposal/withdraw", true},
		{agent, "mcpx.reject.proposal", false},
		{agent, "mcp/request:tools/call:echo", false},
		{fs, "mcpx.reject.proposal", true},
		{fs, "proposal-reject", true},
		{fs, "mcpx.withdraw.proposal", false},
		{fs, "mcpx.status.proposal", false},
		{fs, "mcp.proposal.tools/call", false},
	} {
		id, payload, other := fmt.Sprint("y", i), `{"proposal_id":"p1","reason":"busy"}`, fs
		if c.from == fs {
			other = agent
		}
		if strings.Contains(c.kind, "tools/call") {
			payload = propose
		}
		if strings.HasPrefix(c.kind, "mcp/request") {
			payload = `{"jsonrpc":"2.0","id":1,` + payload[1:]
		}
		frame := say("mcpx/v0.1", id, c.from.id, "", c.kind, payload)
		c.from.send(frame)
		if c.allowed {
			if got := other.find(`"` + id + `"`); got != frame {
				t.Errorf("%s of %s: %s", c.kind, c.from.id, got)
			}
			continue
		}
		if f, _ := c.from.kind(wire.Failure).Fault(); f.Code != "capability_violation" || f.AttemptedKind != c.kind {
			t.Errorf("%s of %s: %s", c.kind, c.from.id, c.from.last())
		}
	}
}

// Eight MiB cross both ways between the strictest and the loosest dialect, and
// within one.
func TestLargePayload(t *testing.T) {
	h := open(t, gateway.Options{})
	var b strings.Builder
	b.WriteString(`{"blob":"`)
	for b.Len() < 8<<20 {
		b.WriteString(`<&>\u2028 é` + "\u2029" + `9007199254740993 `)
	}
	b.WriteString(`"}`)
	for _, to := range []string{"mcpx/v0.1", "mew/v0.4"} {
		asker, server := h.join("mcpx/v0.1", "asker"), h.join(to, "server")
		callAndAnswer(t, asker, server, "big-"+to[:3], `7`, b.String())
		asker.seen, server.seen = nil, nil
	}
}

// A frame of the largest size that grows when it is spelled anew would cost its
// reader the connection: it is not delivered, and that is said.
func TestLargestFrameThatGrows(t *testing.T) {
	h := open(t, gateway.Options{})
	mew, now := h.join("mew/v0.4", "mew"), h.join("mcpx/v0.1", "now")
	empty := len(say("mew/v0.4", "huge", "mew", `["now"]`, "chat", `{"text":""}`))
	mew.send(say("mew/v0.4", "huge", "mew", `["now"]`, "chat", `{"text":"`+strings.Repeat("x", 16<<20-empty)+`"}`))
	if f, _ := mew.kind(wire.Failure).Fault(); f.Code != "not_expressible" || f.Trigger[0] != "huge" {
		t.Errorf("the sender was told %s", mew.last())
	}
	mew.mark(now)
	if strings.Contains(strings.Join(now.seen, ""), `"id":"huge"`) {
		t.Error("it was delivered")
	}
}

// A response is told apart from another one with the same envelope id in
// somebody else's request: nobody can change what it is called.
func TestOneCannotRenameAnothersCall(t *testing.T) {
	h := open(t, gateway.Options{})
	asker, server, mallory := h.join("mcpx/v0.1", "asker"), h.join("mew/v0.4", "server"), h.join("mcpx/v0.1", "mallory")
	asker.send(say("mcpx/v0.1", "same", "asker", `["server"]`, callKind("mcpx/v0.1"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`))
	server.until(`"same"`)
	mallory.send(say("mcpx/v0.1", "same", "mallory", `["server"]`, "mcp/request:tools/list", `{"jsonrpc":"2.0","id":99,"method":"tools/list"}`))
	server.until(`"same"`)
	server.send(say("mew/v0.4", "r", "server", `["asker"]`, "mcp/response", `{"result":{}}`, link("mew/v0.4", "same")))
	e := asker.kind(wire.Response)
	if e.Spelled != "mcp/response:tools/call:echo" || string(e.Message.Get(jsonrpc.ID)) != "1" {
		t.Errorf("the asker got %s", asker.last())
	}
}

// More requests than are remembered: the latest are answered in full, and one that was
// forgotten is answered too, as a call, by the envelope it was (FINDINGS S2).
func TestForgottenRequest(t *testing.T) {
	h := open(t, gateway.Options{})
	asker, server := h.join("mcpx/v0.1", "asker"), h.join("mew/v0.4", "server")
	for i := range 4097 {
		asker.send(say("mcpx/v0.1", fmt.Sprint("q", i), "asker", `["server"]`, "mcp/request:tools/list", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)))
		server.read()
	}
	for env, kind := range map[string]string{"q0": "mcp/response:tools/call", "q1": "mcp/response:tools/list"} {
		server.send(say("mew/v0.4", "r-"+env, "server", `["asker"]`, "mcp/response", `{"result":{"x":1}}`, link("mew/v0.4", env)))
		e := asker.kind(wire.Response)
		if e.Corr[0] != env || e.Spelled != kind || string(e.Message.Get(jsonrpc.Result)) != `{"x":1}` {
			t.Errorf("the asker got %s, want %s about %s", asker.last(), kind, env)
		}
	}
}

// What the gateway says when it cannot read a frame: a fault, in each dialect.
func TestMalformedFrames(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			g := h.join(p, "ann")
			for _, frame := range []string{
				`{`, `[]`, `"x"`, `{} {}`, `{"protocol":"smtp","id":"1","from":"ann","kind":"chat","payload":{}}`,
				say(p, "1", "ann", "", kindOf(p, "tools/call"), `[]`),
				say(p, "2", "ann", `["bob"]`, kindOf(p, "tools/list"), `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`),
				strings.Replace(say(p, "3", "ann", "", "chat", `{"text":"x"}`), `"from"`, `"From":"bob","from"`, 1),
				say(p, "4", "ann", "", "chat", `{"text":"x","text":"y"}`),
			} {
				g.send(frame)
				got := g.read()
				var shape struct {
					Kind    string
					Payload struct{ Error, Code string }
				}
				if err := json.Unmarshal([]byte(got), &shape); err != nil {
					t.Fatalf("%s: %s", got, err)
				}
				if cmp.Or(shape.Payload.Code, shape.Payload.Error) != "VALIDATION_ERROR" || !strings.HasPrefix(shape.Kind, "system") {
					t.Errorf("%s is answered with %s", frame, got)
				}
			}
			g.mark(h.join(p, "bob")) // still there
		})
	}
}
