package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// writeFile is the payload of the proposals of the seeds, less their hints.
const writeFile = `{"method":"tools/call","params":{"name":"write_file"}`

// seedForms are the forms that the drafts of mcpx/v0.1 gave to what concerns a
// proposal, as they stand in seeds 000, 001 and 002, and how each is read (WIRE
// 4.1). Where a seed shows a payload alone the rest is added. members are those
// of the envelope.
var seedForms = []struct {
	seed, what       string
	members, payload string
	want             string // see read
}{
	{"000", "option 1", `"kind":"proposal"`, writeFile + `,"fulfiller":["agent-1","agent-2"]}`, "proposal tools/call write_file for agent-1 agent-2 as seed000"},
	{"000", "option 2", `"kind":"proposal"`, writeFile + `,"request_response":true,"response_timeout":5000,"preferred_fulfillers":["agent-1"]}`, "proposal tools/call write_file for agent-1 as seed000, answered"},
	{"000", "option 2", `"kind":"proposal-response"`, `{"proposal_id":"p1","status":"defer","reason":"Optional rejection reason"}`, "proposal-response of p1: defer, Optional rejection reason"},
	{"000", "option 3", `"kind":"proposal"`, writeFile + `,"required_capabilities":["filesystem","git"],"preferred_participant":"agent-1"}`, "proposal tools/call write_file for agent-1 as seed000, needs filesystem git"},
	{"000", "option 4", `"kind":"proposal"`, writeFile + `,"request_bids":true,"bid_timeout":3000}`, "proposal tools/call write_file as seed000"},
	{"000", "option 4", `"kind":"bid"`, `{"proposal_id":"p1","confidence":0.95,"estimated_time":500,"capabilities":["filesystem"]}`, "unknown"},
	{"000", "option 5", `"kind":"proposal"`, writeFile + `,"targeting":{"preferred":["agent-1","agent-2"],"exclusive":false,"quick_reject":true,"fallback_timeout":5000}}`, "proposal tools/call write_file for agent-1 agent-2, others after 5s as seed000"},
	{"000", "option 5", `"kind":"proposal-reject"`, `{"proposal_id":"p1","reason":"busy"}`, "reject of p1: busy"},
	{"000", "option 5", `"kind":"proposal-reject"`, `{"proposal_id":"p1","reason":"incapable"}`, "reject of p1: incapable"},
	{"000", "option 5", `"kind":"proposal-reject"`, `{"proposal_id":"p1","reason":"error"}`, "reject of p1: error"},
	{"000", "example 1", `"kind":"proposal"`, `{"method":"tools/call","preferred":"filesystem-agent","params":{"name":"write_file"}}`, "proposal tools/call write_file for filesystem-agent as seed000"},
	{"000", "example 1 to the letter", `"kind":"proposal"`, `{"method":"tools/call","preferred":"filesystem-agent","params":{"tool":"write_file"}}`, "proposal: params name the tool as tool, where MCP says name"},
	{"000", "example 2", `"kind":"proposal"`, writeFile + `,"targeting":{"preferred":["trusted-agent"],"exclusive":true,"exclusive_timeout":3000,"fallback_to_broadcast":true}}`, "proposal tools/call write_file for trusted-agent, alone for 3s as seed000"},

	{"001", "what there was", `"kind":"mcp/proposal:tools/call:write_file"`, writeFile + `}`, "proposal tools/call write_file as v2"},
	{"001", "what there was", `"kind":"mcp/proposal:tools/call"`, writeFile + `}`, "proposal tools/call write_file as v2"},
	{"001", "what there was", `"to":["fs"],"kind":"mcp/request:tools/call","correlation_id":"p1"`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file"}}`, "request of p1"},
	{"001", "option 5", `"to":["filesystem-agent"],"kind":"mcp.proposal.tools/call"`, writeFile + `}`, "proposal tools/call write_file as seed001"},
	{"001", "option 5", `"correlationId":"p1","kind":"mcpx.withdraw.proposal"`, `{"reason":"No longer needed"}`, "withdraw of p1: No longer needed"},
	{"001", "option 5", `"to":["untrusted-agent"],"correlationId":"p1","kind":"mcpx.reject.proposal"`, `{"reason":"busy"}`, "reject of p1: busy"},
	{"001", "namespace option B", `"correlationId":"p1","kind":"mcp.withdraw.proposal"`, `{"reason":"No longer needed"}`, "withdraw of p1: No longer needed"},
	{"001", "namespace option B", `"correlationId":"p1","kind":"mcp.reject.proposal"`, `{"reason":"policy"}`, "reject of p1: policy"},
	{"001", "option 7", `"kind":"mcp.proposal"`, writeFile + `,"ttl":60000}`, "proposal tools/call write_file within 1m0s as seed001"},
	{"001", "option 8", `"kind":"mcpx.status.proposal","correlationId":"p1"`, `{"status":"considering"}`, "status of p1: considering, "},

	{"002", "option 1", `"kind":"proposal/withdraw"`, `{"proposalId":"p1","reason":"No longer needed"}`, "withdraw of p1: No longer needed"},
	{"002", "option 2", `"kind":"proposal"`, writeFile + `,"ttl":30000}`, "proposal tools/call write_file within 30s as seed000"},
	{"002", "option 3", `"kind":"proposal/status"`, `{"proposalId":"p1","status":"withdrawn","reason":"Context changed"}`, "withdraw of p1: Context changed"},
	{"002", "option 3", `"kind":"proposal/status"`, `{"proposalId":"p1","status":"pending","reason":"Context changed"}`, "status of p1: pending, Context changed"},
	{"002", "option 4", `"kind":"mcp"`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"p1","reason":"Proposal withdrawn"}}`, "withdraw of p1: Proposal withdrawn"},
}

// read is what a frame says about a proposal, in short; for a Refused its reason.
func read(members, payload string) string {
	d, _ := wire.Lookup("mcpx/v0.1")
	e, err := d.Decode([]byte(`{"protocol":"mcpx/v0.1","id":"x1","from":"untrusted-agent",` + members + `,"payload":` + payload + `}`))
	if refused, is := errors.AsType[*wire.Refused](err); is {
		return "refused: " + refused.Reason
	}
	text := e.Kind.String()
	if len(e.Corr) > 0 {
		text += " of " + strings.Join(e.Corr, " ")
	}
	if n, err := e.Ending(); err == nil {
		return text + ": " + n.Reason
	}
	if s, err := e.Standing(); err == nil {
		return text + ": " + s.State + ", " + s.Reason
	}
	if e.Kind != wire.Proposal {
		return text
	}
	o, err := e.Offer()
	if err != nil {
		return text + ": " + err.Error()
	}
	return text + " " + o.Method + " " + o.Key + hints(o, payload)
}

// hints are those of the hints of an offer that its payload has.
func hints(o wire.Offer, payload string) (text string) {
	if len(o.Preferred) > 0 {
		text = " for " + strings.Join(o.Preferred, " ")
	}
	if strings.Contains(payload, "fallback_timeout") {
		text += fmt.Sprint(", others after ", o.FallbackAfter)
	}
	if o.Exclusive && o.FallbackToBroadcast {
		text += fmt.Sprint(", alone for ", o.ExclusiveFor)
	}
	if o.TTL > 0 {
		text += fmt.Sprint(" within ", o.TTL)
	}
	text += " as " + o.Style.String()
	if o.WantsResponse {
		text += ", answered"
	}
	if len(o.Needs) > 0 {
		text += ", needs " + strings.Join(o.Needs, " ")
	}
	return text
}

func TestEveryFormOfTheSeedsIsRead(t *testing.T) {
	for _, f := range seedForms {
		if got := read(f.members, f.payload); got != f.want {
			t.Errorf("seed %s, %s, %s: read as\n%s, want\n%s", f.seed, f.what, f.members, got, f.want)
		}
	}
	for _, status := range []string{"considering", "queued", "processing", "unable"} {
		if got := read(`"kind":"mcpx.status.proposal","correlationId":"p1"`, `{"status":"`+status+`"}`); got != "status of p1: "+status+", " {
			t.Errorf("%s is read as %s", status, got)
		}
	}
}

// The options of seed 001 that were not chosen mean nothing to anybody.
func TestGivenUpFormsAreRefused(t *testing.T) {
	for _, suffix := range []string{"ack", "decline", "claim", "release", "bid", "award", "prepare", "commit", "abort"} {
		kind := `"correlation_id":"p1","kind":"mcp/proposal:` + suffix + `"`
		for _, payload := range []string{`{}`, `{"method":"` + suffix + `"}`, writeFile + `}`} {
			if got := read(kind, payload); !strings.HasPrefix(got, "refused: ") {
				t.Errorf("%s with %s is read as %s", suffix, payload, got)
			}
		}
	}
}
