package channel

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What a policy may name has somebody who opens it.
func TestEachKindOfChannelCanBeOpened(t *testing.T) {
	here := []policy.Value{{Text: "http://127.0.0.1:1/x"}}
	for _, kind := range policy.ChannelKinds() {
		_, err := Open(policy.Channel{Name: "ops", Kind: kind, To: here}, Options{Getenv: func(string) (string, bool) { return "", false }})
		if err != nil && strings.Contains(err.Error(), "there is no channel") {
			t.Error(err)
		}
	}
	if _, err := Open(policy.Channel{Name: "ops", Kind: "smoke", To: here}, Options{}); err == nil || !strings.Contains(err.Error(), `notify.ops: there is no channel "smoke"`) {
		t.Errorf("smoke: %v", err)
	}
}
