package engine

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/meta"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func TestAnOwnerSaysWhatTheServerIsFor(t *testing.T) {
	for _, result := range []string{`{}`, ` { "protocolVersion":"x"}`, `{"_meta":{},"a":1}`, `{"a":1,"_meta":{"b":[2]}}`} {
		var said struct {
			Meta map[string]json.RawMessage `json:"_meta"`
			A    int
		}
		got := meta.PutProvides([]byte(result), []string{"filesystem", "git"})
		var words []string
		if err := json.Unmarshal(got, &said); err != nil || json.Unmarshal(said.Meta[meta.ProvidesKey], &words) != nil || !slices.Equal(words, []string{"filesystem", "git"}) {
			t.Errorf("%s becomes %s", result, got)
		}
		if string(meta.PutProvides([]byte(result), nil)) != result {
			t.Errorf("%s is changed though nothing is provided", result)
		}
	}
	d, _ := wire.Lookup("mcpx/v0.1")
	for _, c := range []struct {
		policy string
		flags  []string
		needs  string
		lacks  string
	}{
		{"", nil, "filesystem", `"filesystem"`},
		{"provides: [filesystem, git]\n", nil, "filesystem", ""},
		{"provides: filesystem\n", []string{"git"}, "git", ""},
		{"provides: filesystem\n", []string{"git"}, "deploys", `"deploys"`},
	} {
		s := stageWith(t, d, Config{Policy: rules(t, allowsSome+c.policy), Provides: c.flags})
		s.seat()
		s.startServer()
		if got := s.engine.lacks([]string{"read_file", c.needs}); got != c.lacks {
			t.Errorf("%q and %q lack %s", c.policy, c.flags, got)
		}
	}
}
