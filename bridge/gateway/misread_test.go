package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// taken returns the ids of those frames that a stock client which waits for an answer to the
// request id takes for it: whatever carries MCP and names the request (WIRE W-5).
func (g *guest) taken(id string) (ids []string) {
	for _, frame := range g.seen {
		var f struct {
			ID, Kind string
			Corr     json.RawMessage `json:"correlation_id"`
		}
		json.Unmarshal([]byte(frame), &f)
		if strings.HasPrefix(f.Kind, "mcp") && strings.Contains(string(f.Corr), `"`+id+`"`) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// What is no answer but names a request ended the wait of stock clients that had made it:
// progress of who was asked, as the specification of mcp-x/v0 shows it, and anything of
// anybody else. They get it without the name; others, who have not asked, as it came.
func TestProgressThatNamesARequestEndedTheWaitForItsAnswer(t *testing.T) {
	const (
		progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
		question = `{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"may it"}}`
	)
	for _, p := range protocols {
		for _, from := range protocols {
			t.Run(from+" to "+p, func(t *testing.T) {
				h := open(t, gateway.Options{})
				asker, server, busybody, watcher := h.join(p, "asker"), h.join(from, "server"), h.join(from, "busybody"), h.join(p, "watcher")
				asker.send(say(p, "q", "asker", `["server"]`, callKind(p), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`))
				server.kind(wire.Request)
				busybody.kind(wire.Request)
				passed := []string{}
				for _, g := range []*guest{server, busybody} {
					for i, to := range []string{`["asker"]`, "", `["watcher"]`} {
						id := fmt.Sprint("p-", g.id, i)
						g.send(say(from, id, g.id, to, kindOf(from, "notifications/progress"), progress, link(from, "q")))
						id2 := fmt.Sprint("e-", g.id, i)
						g.send(say(from, id2, g.id, to, kindOf(from, "elicitation/create"), question, link(from, "q")))
						passed = append(passed, id, id2)
					}
					g.mark(asker)
				}
				server.send(say(from, "right", "server", `["asker"]`, answerKind(from), `{"jsonrpc":"2.0","id":1,"result":"right"}`, link(from, "q")))
				asker.until(`"right"`)
				watcher.until(`"right"`)
				if got := asker.taken("q"); !slices.Equal(got, []string{"right"}) {
					t.Errorf("a stock asker takes %q for the answer", got)
				}
				for _, id := range passed {
					if frame := asker.find(`"id":"` + id + `"`); !strings.Contains(frame, `"progress":1`) && !strings.Contains(frame, `"may it"`) {
						t.Errorf("the asker got %s", frame)
					}
				}
				if got := watcher.taken("q"); !slices.Equal(got, append(passed, "right")) {
					t.Errorf("the watcher, who has not asked, got %q with the name of the request", got)
				}
			})
		}
	}
}

// So did what is said of proposals where it names a request.
func TestARejectThatNamesARequestEndedTheWaitForItsAnswer(t *testing.T) {
	for _, p := range protocols[1:] {
		for kind, payload := range map[string]string{
			"mcp/reject": `{"reason":"busy"}`, "mcp/withdraw": `{"reason":"no_longer_needed"}`,
			"mcp/proposal": `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`,
		} {
			h := open(t, gateway.Options{})
			asker, busybody := h.join(p, "asker"), h.join(p, "busybody")
			asker.send(say(p, "q", "asker", `["server"]`, callKind(p), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`))
			busybody.kind(wire.Request)
			spelled := kind
			if p == "mcpx/v0.1" && kind == "mcp/proposal" {
				spelled += ":tools/call:echo"
			}
			busybody.send(say(p, "no", "busybody", `["asker"]`, spelled, payload, link(p, "q")))
			busybody.mark(asker)
			if got := asker.taken("q"); len(got) > 0 {
				t.Errorf("%s, %s: a stock asker takes %q for the answer", p, kind, got)
			}
		}
	}
}

// A request that serves a proposal names it for whoever made the proposal, though somebody
// has made a request under the same id.
func TestWhatServesAProposalNamesItToTheProposer(t *testing.T) {
	for _, p := range protocols[1:] {
		h := open(t, gateway.Options{})
		proposer, other, fs := h.join(p, "proposer"), h.join(p, "other"), h.join(p, "fs")
		kind := "mcp/proposal"
		if p == "mcpx/v0.1" {
			kind += ":tools/call:echo"
		}
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`
		proposer.send(say(p, "same", "proposer", "", kind, `{"method":"tools/call","params":{"name":"echo"}}`))
		fs.kind(wire.Proposal)
		other.send(say(p, "same", "other", `["fs"]`, callKind(p), call))
		fs.kind(wire.Request)
		fs.send(say(p, "serves", "fs", `["fs"]`, callKind(p), call, link(p, "same")))
		fs.send(say(p, "no", "fs", `["proposer"]`, "mcp/reject", `{"reason":"busy"}`, link(p, "same")))
		fs.mark(proposer)
		fs.mark(other)
		if got := proposer.taken("same"); !slices.Equal(got, []string{"serves", "no"}) {
			t.Errorf("%s: the proposer got %q with the name of the proposal", p, got)
		}
		if got := other.taken("same"); len(got) > 0 {
			t.Errorf("%s: a stock client takes %q for the answer to its request", p, got)
		}
	}
}
