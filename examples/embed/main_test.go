package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// A Go program bridges a server, is asked as the person at this machine would be, and what it
// decides is what happens.
func TestAProgramThatBridgesAServerAndDecides(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	bob, ended := beside(ctx, t, func(o node.Options) error { return run(ctx, o) })
	for _, c := range []struct{ tool, args, want string }{
		{"list_notes", `{}`, "content"},
		{"add_note", `{"text":"buy milk"}`, "kept as note 1"},
		{"add_note", `{"text":"` + strings.Repeat("x", 81) + `"}`, "notes are short here"},
		{"delete_note", `{"id":1}`, "policy_denied"},
	} {
		a, err := bob.Call(ctx, "notes", c.tool, []byte(c.args), nil)
		if said := string(a.Result) + string(a.Err); err != nil || !strings.Contains(said, c.want) {
			t.Errorf("%s %s: %s, %v", c.tool, c.args, said, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// beside is somebody in the topic of a bridge that runs until ended.
func beside(ctx context.Context, t *testing.T, run func(node.Options) error) (bob *client.Client, ended <-chan error) {
	t.Helper()
	server := filepath.Join(t.TempDir(), "notes-server")
	if out, err := exec.Command("go", "build", "-o", server, "../notes-server").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	state := localgateway.StateDir(filepath.Join(t.TempDir(), "mcpx-bridge"))
	if err := state.Open(); err != nil {
		t.Fatal(err)
	}
	ready, over := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		over <- run(node.Options{Server: node.Target{Args: []string{server}}, ID: "notes", State: state, Ready: func(node.Ready) { ready <- struct{}{} }})
	}()
	select {
	case <-ready:
	case err := <-over:
		t.Fatalf("it ended at once: %v", err)
	}
	bob = client.New(&localgateway.Connector{Local: localgateway.New(localgateway.Options{State: state}), Join: topic.Options{Topic: "lobby", ID: "bob"}}, client.Options{})
	t.Cleanup(bob.Close)
	if err := bob.Dial(ctx); err != nil {
		t.Fatal(err)
	}
	return bob, over
}
