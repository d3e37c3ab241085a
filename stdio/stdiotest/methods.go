package stdiotest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const (
	newest       = "2026-07-28"
	newestLegacy = "2025-11-25"
	abilities    = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{}}`
)

// request answers one request. done ends the process.
func (p *player) request(m *jsonrpc.Message) (done bool, status int) {
	id, method := m.Get(jsonrpc.ID), m.Text(jsonrpc.Method)
	switch method {
	case "initialize", "server/discover":
		return p.greet(m, method)
	case "tools/call":
		return p.call(m)
	}
	if p.Era == "modern" && !p.wellFormed(m) {
		p.refuse(id, -32602, "missing _meta field io.modelcontextprotocol/protocolVersion", "")
		return false, 0
	}
	switch method {
	case "ping":
		p.result(id, []byte("{}"))
	case "tools/list":
		p.result(id, p.toolList())
	case "resources/list":
		p.result(id, p.complete(`"resources":[{"uri":"mem://a","name":"a"}]`))
	case "resources/read":
		p.result(id, p.complete(fmt.Sprintf(`"contents":[{"uri":%s,"text":"what is there"}]`, m.Get(jsonrpc.URI))))
	case "prompts/list":
		p.result(id, p.complete(`"prompts":[{"name":"greet"}]`))
	case "prompts/get":
		p.result(id, p.complete(`"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]`))
	case "test/echo":
		p.result(id, m.Get(jsonrpc.Params))
	default:
		p.refuse(id, -32601, "Method not found: "+method, "")
	}
	return false, 0
}

func (p *player) greet(m *jsonrpc.Message, method string) (done bool, status int) {
	discover := method == "server/discover"
	how := p.Initialize
	if discover {
		how = p.Discover
	}
	if how == "" && (discover && (p.Era == "" || p.Era == "legacy") || !discover && p.Era == "modern") {
		how = "refuse"
	}
	if how != "ignore" && how != "die" {
		for _, line := range p.Early {
			p.write([]byte(line))
		}
	}
	id := m.Get(jsonrpc.ID)
	switch {
	case how == "die":
		return true, 1
	case how == "ignore":
	case how == "refuse" && discover:
		p.refuse(id, -32601, "Method not found: server/discover", "")
	case how == "refuse":
		p.refuse(id, -32022, "unsupported protocol version", `{"supported":["`+newest+`"],"requested":"`+newestLegacy+`"}`)
	case discover && !p.wellFormed(m):
		p.refuse(id, -32602, "missing _meta field", "")
	case discover:
		p.result(id, p.discovery())
	case p.Delay > 0:
		go func() {
			time.Sleep(time.Duration(p.Delay) * time.Millisecond)
			p.result(id, p.welcome(m))
		}()
	default:
		p.result(id, p.welcome(m))
	}
	return false, 0
}

func (p *player) discovery() []byte {
	return fmt.Appendf(nil, `{"resultType":"complete","supportedVersions":[%q],"capabilities":%s,"instructions":%q,"ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":%s}}`,
		newest, abilities, p.Instructions, p.info())
}

func (p *player) welcome(m *jsonrpc.Message) []byte {
	var params struct{ ProtocolVersion string }
	json.Unmarshal(m.Get(jsonrpc.Params), &params)
	more := ""
	if p.Instructions != "" {
		more = fmt.Sprintf(`,"instructions":%q`, p.Instructions)
	}
	return fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"serverInfo":%s%s}`, cmp.Or(p.Revision, params.ProtocolVersion), abilities, p.info(), more)
}

func (p *player) toolList() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := append([]string(nil), toolTexts...)
	if p.Tools != nil {
		list = append([]string(nil), p.Tools...)
	}
	if p.ToolsFile != "" {
		text, _ := os.ReadFile(p.ToolsFile)
		list = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	for _, name := range p.grown {
		list = append(list, fmt.Sprintf(`{"name":%q,"description":"Grown","inputSchema":{"type":"object"}}`, name))
	}
	return p.complete(`"tools":[` + strings.Join(list, ",") + "]")
}
