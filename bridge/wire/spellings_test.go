package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// says is an answer in a dialect, with members of its envelope and of its payload.
func says(d wire.Dialect, envelope, payload string) (wire.Envelope, string) {
	kind := map[string]string{"mcp-x/v0": "mcp", "mcpx/v0.1": "mcp/response:tools/call"}[d.Protocol]
	if kind == "" {
		kind = "mcp/response"
	}
	e, err := d.Decode([]byte(`{"protocol":"` + d.Protocol + `","id":"r1","ts":"2026-01-01T00:00:00Z","from":"fs",` + envelope + `"kind":"` + kind + `","payload":{"jsonrpc":"2.0",` + payload + `}}`))
	if refused, ok := errors.AsType[*wire.Refused](err); ok {
		return e, refused.Reason
	}
	return e, fmt.Sprint(e.Corr, e.To)
}

// A link is one string or a list of them, and recipients are a list; every other form is refused, in
// each dialect for the same reason (FINDINGS T3).
func TestEverySpellingOfALink(t *testing.T) {
	for members, want := range map[string]string{
		``: "[] []", `"correlation_id":"e1",`: "[e1] []", `"correlation_id":["e1"],`: "[e1] []", `"correlation_id":["e1","e2"],`: "[e1 e2] []", `"correlation_id":[ "e\u0031" ],`: "[e1] []",
		`"correlation_id":[],`: "[] []", `"correlation_id":null,`: "[] []",
		`"correlation_id":"",`: "id_charset", `"correlation_id":[""],`: "id_charset", `"correlation_id":["e1",""],`: "id_charset",
		`"correlation_id":[null],`: "envelope_invalid", `"correlation_id":["e1",null],`: "envelope_invalid", `"correlation_id":7,`: "envelope_invalid", `"correlation_id":true,`: "envelope_invalid",
		`"correlation_id":{},`: "envelope_invalid", `"correlation_id":["e1",7],`: "envelope_invalid", `"correlation_id":[["e1"]],`: "envelope_invalid", `"correlation_id":{"id":"e1"},`: "envelope_invalid",
		`"to":["fs"],`: "[] [fs]", `"to":["fs","bob"],`: "[] [fs bob]", `"to":[],`: "[] []", `"to":null,`: "[] []",
		`"to":"fs",`: "envelope_invalid", `"to":[null],`: "envelope_invalid", `"to":["fs",null],`: "envelope_invalid", `"to":7,`: "envelope_invalid", `"to":{},`: "envelope_invalid", `"to":[""],`: "id_charset",
	} {
		for _, d := range wire.Dialects {
			if _, got := says(d, members, `"id":1,"result":{}`); got != want {
				t.Errorf("%s in %s: %s, want %s", members, d.Protocol, got, want)
			}
		}
	}
}

// Whatever an answer says of its outcome, with whatever id, each dialect takes it or refuses it alike.
func TestEverySpellingOfAnAnswer(t *testing.T) {
	failed := []string{`"error":{"code":1,"message":"m"}`, `"error":{"code":"1"}`, `"error":{}`, `"error":"text"`, `"error":7`, `"error":null`, `"error":[]`, `"error":true`, `"result":{},"error":null`}
	worked := []string{`"result":{}`, `"result":null`, `"result":[]`, `"result":"text"`, `"result":7`}
	for id, reason := range map[string]string{`"id":1,`: "", `"id":-1,`: "", `"id":1.5,`: "", `"id":1e0,`: "", `"id":"1",`: "", `"id":"",`: "", ``: "", `"id":true,`: "rpc_invalid_id", `"id":false,`: "rpc_invalid_id", `"id":[1],`: "rpc_invalid_id", `"id":{},`: "rpc_invalid_id", `"id":null,`: "null"} {
		for _, d := range wire.Dialects {
			for i, outcome := range append(failed, worked...) {
				want := reason
				if reason == "null" { // an error may be about what could not be read
					want = map[bool]string{false: "rpc_invalid_id"}[i < len(failed)]
				}
				e, got := says(d, `"correlation_id":["e1"],`, id+outcome)
				if want == "" && (e.Kind != wire.Response || got != "[e1] []") || want != "" && got != want {
					t.Errorf("%s%s in %s: %s, %s, want %q", id, outcome, d.Protocol, e.Kind, got, want)
				}
			}
			if e, _ := says(d, `"correlation_id":["e1"],`, id+`"error":null,"result":{}`); e.Message.Has(jsonrpc.Err) || e.Kind == wire.Response && !strings.Contains(string(e.Payload), `"error":null`) {
				t.Errorf("%s in %s: a null error beside a result is one, or is left out: %s", id, d.Protocol, e.Payload)
			}
			if e, got := says(d, "", id+`"result":{},"error":{"code":1,"message":"m"}`); e.Kind == wire.Response && got == "[] []" {
				t.Errorf("%s in %s: an answer that worked and failed is a %s", id, d.Protocol, e.Kind)
			}
		}
	}
}
