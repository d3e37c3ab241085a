package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A stock agent answers every request in the room, and stock callers take anybody's answer:
// what was put to somebody else is answered by him alone, and the other is told.
func TestAnAnswerOfWhoWasNotAskedGoesToNobody(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			h := open(t, gateway.Options{})
			asker, server, busybody := h.join("mcpx/v0.1", "asker"), h.join(p, "server"), h.join(p, "busybody")
			asker.send(say("mcpx/v0.1", "q", "asker", `["server"]`, callKind("mcpx/v0.1"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`))
			server.kind(wire.Request)
			busybody.kind(wire.Request) // the topic is public
			busybody.send(say(p, "wrong", "busybody", `["asker"]`, answerKind(p), `{"jsonrpc":"2.0","id":1,"result":"wrong"}`, link(p, "q")))
			if f, _ := busybody.kind(wire.Failure).Fault(); f.Code != "not_asked" || f.Trigger[0] != "wrong" {
				t.Errorf("the busybody is told %s", busybody.last())
			}
			server.send(say(p, "right", "server", `["asker"]`, answerKind(p), `{"jsonrpc":"2.0","id":1,"result":"right"}`, link(p, "q")))
			if e := asker.kind(wire.Response); e.ID != "right" || e.From != "server" {
				t.Errorf("the asker got %s", asker.last())
			}
			asker.send(say("mcpx/v0.1", "all", "asker", "", callKind("mcpx/v0.1"), `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`))
			busybody.until(`"all"`) // put to nobody, so anybody may
			busybody.send(say(p, "may", "busybody", `["asker"]`, answerKind(p), `{"jsonrpc":"2.0","id":2,"result":"may"}`, link(p, "all")))
			if e := asker.kind(wire.Response); e.ID != "may" {
				t.Errorf("the asker got %s", asker.last())
			}
		})
	}
}

// Stock callers of mcp-x/v0 and mcpx/v0.1 take an answer for theirs whoever it is addressed to
// (WIRE W-5): so who was not asked gets past us neither by addressing nobody nor by
// addressing somebody else. Who was asked may tell the whole room, under an id that
// somebody else has used too.
func TestAnAnswerOfWhoWasNotAskedGoesToNobodyWhoeverItIsFor(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			h := open(t, gateway.Options{})
			asker, server, busybody := h.join("mcpx/v0.1", "asker"), h.join(p, "server"), h.join(p, "busybody")
			asker.send(say("mcpx/v0.1", "q", "asker", `["server"]`, callKind("mcpx/v0.1"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`))
			server.kind(wire.Request)
			for i, to := range []string{"", `["server"]`, `["busybody"]`, `["nobody"]`, `["asker","server"]`} {
				id := fmt.Sprint("wrong", i)
				busybody.send(say(p, id, "busybody", to, answerKind(p), `{"jsonrpc":"2.0","id":1,"result":"wrong"}`, link(p, "q")))
				if f, _ := busybody.kind(wire.Failure).Fault(); f.Code != "not_asked" || f.Trigger[0] != id {
					t.Errorf("to %s: the busybody is told %s", to, busybody.last())
				}
			}
			other := h.join("mcpx/v0.1", "other")
			other.send(say("mcpx/v0.1", "q", "other", `["busybody"]`, callKind("mcpx/v0.1"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`))
			busybody.until(`"from":"other"`)
			server.send(say(p, "right", "server", "", answerKind(p), `{"jsonrpc":"2.0","id":1,"result":"right"}`, link(p, "q")))
			if e := asker.kind(wire.Response); e.ID != "right" || e.From != "server" {
				t.Errorf("the asker got %s", asker.last())
			}
			busybody.send(say(p, "mine", "busybody", `["other"]`, answerKind(p), `{"jsonrpc":"2.0","id":1,"result":"mine"}`, link(p, "q")))
			if e := other.kind(wire.Response); e.ID != "mine" || e.From != "busybody" {
				t.Errorf("the other got %s", other.last())
			}
			other.mark(asker)
			if all := strings.Join(append(asker.seen, other.seen...), "\n"); strings.Contains(all, "wrong") || strings.Count(all, `"right"`) != 2 || strings.Count(all, `"mine"`) != 2 {
				t.Errorf("what each takes for an answer to his own is, all together,\n%s", all)
			}
		})
	}
}

// An answer that names, beside a request that was put to who answers, one that was put to
// somebody else, is none: stock callers of mew look at the first name alone.
func TestNoRequestOfOnesOwnHelpsAnAnswerAlong(t *testing.T) {
	for _, p := range protocols[2:] {
		h := open(t, gateway.Options{})
		asker, server, busybody := h.join(p, "asker"), h.join(p, "server"), h.join(p, "busybody")
		asker.send(say(p, "q", "asker", `["server"]`, "mcp/request", `{"method":"tools/call","params":{"name":"echo"}}`))
		server.kind(wire.Request)
		busybody.send(say(p, "mine", "busybody", `["busybody"]`, "mcp/request", `{"method":"tools/call","params":{"name":"echo"}}`))
		busybody.until(`"mine"`)
		for i, links := range []string{`["q","mine"]`, `["mine","q"]`} {
			id := fmt.Sprint("wrong", i)
			busybody.send(say(p, id, "busybody", `["asker"]`, "mcp/response", `{"result":{}}`, `"correlation_id":`+links))
			if f, _ := busybody.kind(wire.Failure).Fault(); f.Code != "not_asked" || f.Trigger[0] != id {
				t.Errorf("%s: the busybody is told %s", links, busybody.last())
			}
		}
	}
}
