package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
)

func someTool(peer, name, more string) client.Tool {
	raw := fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, name, more)
	return client.Tool{Peer: peer, Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Raw: json.RawMessage(raw)}
}

// A tool for its app alone is no function of a model's (FINDINGS P17), and 150 functions
// came out without a word where the API takes 128 (S10).
func TestWhatIsLeftOutOfAListIsTold(t *testing.T) {
	var all []client.Tool
	for i := range 150 {
		all = append(all, someTool(fmt.Sprintf("p%d", i%3), fmt.Sprintf("t%03d", i), ""))
	}
	all = append(all, someTool("p0", "refresh", `,"_meta":{"ui":{"visibility":["app"]}}`))
	for _, c := range []struct {
		s    settings
		n    int
		told string
	}{
		{settings{Format: "table"}, 151, ""},
		{settings{Format: "json"}, 151, ""},
		{settings{Format: "openai"}, 150, "mcpx-bridge: left out: 1 tool for apps and not for models\nmcpx-bridge: warning: these are 150 functions, and OpenAI's API takes 128\nmcpx-bridge: hint: --limit 128, --include and --exclude choose\n"},
		{settings{Format: "anthropic", Include: []string{"p0/*"}, Exclude: []string{"*/t00*"}}, 46, "mcpx-bridge: left out: 104 tools that --include and --exclude do not show\nmcpx-bridge: left out: 1 tool for apps and not for models\n"},
		{settings{Format: "openai", Limit: 128}, 128, "mcpx-bridge: left out: 1 tool for apps and not for models\nmcpx-bridge: left out: 22 tools over --limit: p2/t128, p0/t129, "},
		{settings{Format: "json", Limit: 2, Exclude: []string{"p2/*"}}, 2, "mcpx-bridge: left out: 50 tools that --include and --exclude do not show\nmcpx-bridge: left out: 99 tools over --limit: p0/t000"},
	} {
		var errs bytes.Buffer
		p := &program{s: c.s}
		p.log, _ = newLog(&errs, "info", "text")
		shown := p.chosen(all)
		if len(shown) != c.n || !strings.HasPrefix(errs.String(), c.told) || c.told == "" && errs.Len() > 0 {
			t.Errorf("%+v: %d are listed, and told %s", c.s, len(shown), &errs)
		}
	}
}
