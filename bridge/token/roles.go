package token

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// roles are ready sets of capabilities (WIRE 3.3, seed 001). SELF stands for
// the one whom the token is for.
var roles = map[string][]string{
	"full":     {`"mcp/*"`, `"mcpx.*"`, `"mcp.*"`, `"proposal*"`, `"chat"`, `"chat/*"`, `"reasoning/*"`, `"participant/status"`},
	"admin":    {`"*"`},
	"agent":    {`"mcp/proposal:*"`, `"mcp.proposal.*"`, `"mcp/withdraw"`, `"mcpx.withdraw.proposal"`, `"mcp/response:*"`, `"chat"`, `"chat/*"`, `"reasoning/*"`, `"participant/status"`, `"mcp/request:initialize"`, `"mcp/request:notifications/initialized"`, `"mcp/request:ping"`, `"mcp/request:tools/list"`, `"mcp/request:mcpx/standing"`},
	"approver": {`"mcp/response:*"`, `"mcp/reject"`, `"mcpx.reject.proposal"`, `"chat"`},
	"bridge": {`"mcp/response:*"`, `"mcp/reject"`, `"mcpx.reject.proposal"`, `"mcpx.status.proposal"`, `"proposal-*"`, `"chat"`, `"mcp/request:elicitation/create"`, `"mcp/request:notifications/*"`,
		`{"kind":"mcp/request:*","to":["SELF"]}`, `"participant/status"`, `"capability/grant-ack"`},
	"observer": {`"chat"`},
}

// Roles are the names of the roles.
func Roles() []string { return slices.Sorted(maps.Keys(roles)) }

// Capabilities are those of a token for id: what --role or --can ask for,
// as the JSON list that claims and welcomes carry. Without either it is nil, so that the
// gateway grants what is usual in the dialect that the bearer turns out to speak: a list
// in the words of one dialect would mute whoever speaks another (FINDINGS D15).
func Capabilities(id, role string, can []string) ([]byte, error) {
	switch {
	case role != "" && len(can) > 0:
		return nil, fault.New(fault.Misused, "keep one of them", "--role and --can exclude each other")
	case len(can) > 0:
		return kindsJSON(can)
	case role == "":
		return nil, nil
	}
	kinds, ok := roles[role]
	if !ok {
		return nil, fault.New(fault.Misused, "it is one of "+strings.Join(Roles(), ", "), "--role: there is no role %q", role)
	}
	caps := []byte("[" + strings.ReplaceAll(strings.Join(kinds, ","), "SELF", id) + "]")
	_, err := wire.ParseCaps(caps)
	return caps, err
}

// kindsJSON is a list of kinds as given by hand.
func kindsJSON(can []string) ([]byte, error) {
	for _, kind := range can {
		if kind == "" || text.Line(kind) != kind || strings.Contains(kind, " ") {
			return nil, fault.New(fault.Misused, "kinds look like mcp/request:tools/* or chat", "--can: %q is no kind", kind)
		}
		if strings.HasPrefix(kind, "system") {
			return nil, fault.New(fault.Misused, "only gateways speak as system", "--can: %q cannot be granted", kind)
		}
	}
	raw, err := json.Marshal(can)
	if err != nil {
		return nil, fmt.Errorf("capabilities: %w", err)
	}
	return raw, nil
}
