package bridge

import (
	"fmt"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const (
	allowsSome    = "version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*', 'write_*']}\n"
	fulfilsByRule = "version: 1\ndefault: allow\nproposals: {fulfil: policy}\n"
)

const mewHead = `{"protocol":"mew/v0.4","ts":"2026-01-01T00:00:00Z","to":["fs"],`

const tools = `{"tools":[
 {"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},
 {"name":"write_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]}`

// A ground is what a Sidecar is made for: a dialect and a policy.
type ground struct {
	t       *testing.T
	dialect wire.Dialect
	policy  *policy.Policy
	ids     int
}

func newGround(t *testing.T, protocol, text string) *ground {
	t.Helper()
	d, ok := wire.Lookup(protocol)
	if !ok {
		t.Fatalf("no dialect %s", protocol)
	}
	return &ground{t: t, dialect: d, policy: rules(t, text)}
}

func (g *ground) newID() string {
	g.ids++
	return fmt.Sprintf("out-%d", g.ids)
}

func (g *ground) parse(line string) *jsonrpc.Message { return parse(g.t, line) }

func parse(t *testing.T, line string) *jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Parse([]byte(line), jsonrpc.Passed)
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

func rules(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
