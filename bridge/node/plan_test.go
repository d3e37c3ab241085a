package node

import (
	"slices"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A policy that was loaded later named another variable, and the commands of its channels got that.
func TestCommandsGetNoSecretOfALaterPolicy(t *testing.T) {
	rules := func(secret string) *policy.Policy {
		p, err := policy.Load("p.yaml", []byte("version: 1\ndefault: ask\nnotify:\n  ops: {webhook: 'https://ops.example/', secret: '${"+secret+"}'}\n  desk: {command: cat}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := &plan{o: Options{Env: Environment{Ours: []string{"OLD=1", "NEW=2", "PATH=/bin"}}.Hiding(rules("OLD"))}}
	o := p.notifyOptions(rules("NEW"))
	if !slices.Equal(o.Env, []string{"PATH=/bin"}) {
		t.Errorf("commands get %q", o.Env)
	}
	if secret, _ := o.Getenv("NEW"); secret != "2" {
		t.Errorf("the channel gets %q", secret)
	}
}
