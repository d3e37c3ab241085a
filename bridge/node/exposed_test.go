package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func TestAToolMayReachThePolicy(t *testing.T) {
	dir := t.TempDir()
	docs, other := filepath.Join(dir, "docs"), filepath.Join(dir, "other")
	for _, d := range []string{docs, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(docs, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	reads := true
	tools := []policy.Tool{{Name: "read_file", Hints: policy.Hints{ReadOnly: &reads}}, {Name: "write_file"}}
	real := whole(docs)
	for _, c := range []struct {
		name, rule, file, cwd string
		argv                  []string
		want                  string // "" for none
	}{
		{"a rule", "allow: [write_file], args: {path: {under: " + real + "}}", docs, "", nil, "rule r (line 4) lets calls work there"},
		{"a rule, through a link", "allow: [write_file], args: {path: {under: " + real + "}}", filepath.Join(dir, "link"), "", nil, "rule r (line 4)"},
		{"a question", "ask: [\"*\"], args: {path: {under: " + real + "}}", docs, "", nil, "rule r (line 4)"},
		{"a rule for reading", "allow: [read_file], args: {path: {under: " + real + "}}", docs, "", nil, ""},
		{"a deny", "deny: [write_file], args: {path: {under: " + real + "}}", docs, "", nil, ""},
		{"another folder", "allow: [write_file], args: {path: {under: " + real + "}}", other, "", nil, ""},
		{"an argument", "allow: [list]", docs, "", []string{"server", "-v", docs}, "the server works in " + real},
		{"another argument", "allow: [list]", docs, "", []string{docs, "-v", other}, ""},
		{"its directory", "allow: [list]", docs, docs, []string{"server"}, "the server works in " + real},
	} {
		now, err := policy.Load("p", []byte("version: 1\ndefault: deny\nrules:\n  - {name: r, "+c.rule+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(exposed(now, []Guarded{{What: "the policy file", Path: filepath.Join(c.file, "policy.yaml")}}, c.argv, c.cwd, tools), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
}

// The state directory is no file that somebody moves.
func TestWhatTakesTheStateDirectoryElsewhereIsNamed(t *testing.T) {
	now, err := policy.Load("p", []byte("version: 1\ndefault: deny\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := Options{State: localgateway.StateDir(filepath.Join(dir, "mcpx-bridge")), Dir: dir, Record: RecordOptions{Off: true}}
	said := o.Exposed(now, nil)
	if len(said) != 1 || !strings.HasSuffix(said[0], "; for all commands, set XDG_STATE_HOME to a directory that no rule and no argument of the server covers") {
		t.Errorf("%q", said)
	}
}
