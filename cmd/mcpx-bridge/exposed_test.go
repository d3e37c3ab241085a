package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// It is not the policy alone that decides what runs and says what ran.
func TestAToolMayReachWhatDecidesAndWhatIsKept(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now, err := policy.Load("p", []byte("version: 1\ndefault: deny\nrules:\n  - {name: r, allow: [write_file], args: {path: {under: "+dir+"}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	tools := []policy.Tool{{Name: "write_file", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
	for want, c := range map[string]struct {
		s     settings
		state string
	}{
		"the file of --config":  {s: settings{Config: filepath.Join(dir, "config.yaml")}},
		"the record of --audit": {s: settings{Audit: filepath.Join(dir, "audit.jsonl")}},
		"the state directory":   {state: dir},
	} {
		p := &program{s: c.s, env: env{getenv: func(key string) string { return map[string]string{"XDG_STATE_HOME": c.state}[key] }}}
		if got := strings.Join(p.exposed(now, "", nil, tools), "\n"); !strings.HasPrefix(got, want+" ") || !strings.Contains(got, "rule r") {
			t.Errorf("%s: got %q", want, got)
		}
	}
	p := &program{s: settings{Audit: "off"}, env: env{getenv: func(string) string { return "" }}}
	if got := p.exposed(now, "", nil, tools); len(got) > 0 {
		t.Errorf("without a record: %q", got)
	}
}
