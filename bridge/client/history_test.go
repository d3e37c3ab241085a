package client_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// A server cuts a text in the midst of an emoji. Its caller gets that, and whoever comes after it
// and is told what was said gets in.
func TestAnAnswerOfBeforeKeepsNobodyOut(t *testing.T) {
	r := newRoom(t)
	r.serve("fs", says(`cut \ud83d`))
	ann := r.join("ann", client.Options{})
	if a, err := ann.Call(t.Context(), "fs", "read", []byte(`{}`), nil); err != nil || a.Result == nil {
		t.Fatalf("%+v, %v", a, err)
	}
	bob := client.New(&localgateway.Connector{Local: r.local, Hosts: true, OverNetwork: true,
		Join: topic.Options{Topic: "lobby", ID: "bob", Dialect: "mcp-x/v0"}}, client.Options{})
	if err := bob.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer bob.Close()
	if !bob.Present("fs") || bob.Dialect().Protocol != "mcp-x/v0" {
		t.Errorf("bob sees %v in %s", bob.OtherIDs(), bob.Dialect().Protocol)
	}
}
