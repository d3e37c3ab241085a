package policy_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A hint counts by its own name and as a boolean. Where two keys are one to some reader, who
// knows what the server says.
func TestHintsAreReadInOneWayOnly(t *testing.T) {
	for annotations, want := range map[string][4]string{
		`{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"title":"T"}`: {"true", "false", "true", "false"},
		`{"readOnlyHint":"true","destructiveHint":0,"idempotentHint":null,"openWorldHint":[false]}`:             {},
		`{"ReadOnlyHint":true,"readonlyhint":true}`:                                                             {},
		`{"readOnlyHint":true,"ReadOnlyHint":false,"openWorldHint":false}`:                                      {},
		`{"readOnlyHint":true,"readOnlyHint":true}`:                                                             {},
		`{"readOnlyHint":true}`: {"true"},
		`[true]`:                {},
		`{`:                     {},
		``:                      {},
	} {
		h := policy.HintsOf([]byte(annotations))
		for i, said := range []*bool{h.ReadOnly, h.Destructive, h.Idempotent, h.OpenWorld} {
			got := ""
			if said != nil {
				got = map[bool]string{true: "true", false: "false"}[*said]
			}
			if got != want[i] {
				t.Errorf("%s: hint %d is %q, want %q", annotations, i, got, want[i])
			}
		}
	}
}
