package node

import (
	"path/filepath"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Where no bridge has kept a record yet, there is nothing that limits could count, and no
// reason not to start: run makes the directory. A trial leaves it unmade.
func TestATrialOfLimitsOnANewMachineFindsNothingWrong(t *testing.T) {
	state := localgateway.StateDir(filepath.Join(t.TempDir(), "mcpx-bridge"))
	rules, err := policy.Load("p", []byte("version: 1\ndefault: deny\nrules: [{allow: [pay], limit: {count: 10/day}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	trial, err := Try(Options{Server: Target{Args: []string{"notes-server"}}, ID: "notes", State: state, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Way().Close()
	if path, doubt, err := trial.Audit("notes"); err != nil || doubt != "" {
		t.Errorf("%s: %q, %v", path, doubt, err)
	}
	if left, _ := filepath.Glob(filepath.Join(string(state), "audit")); len(left) > 0 {
		t.Errorf("the trial has made %q", left)
	}
}
