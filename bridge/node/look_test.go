package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	plans "github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
)

// The next was read after it had been taken out, so that nobody was told where links lead.
func TestLooksComeInTurn(t *testing.T) {
	l := looker{busy: true}
	for ticket := range uint64(3) {
		l.todo = append(l.todo, engine.Look{Ticket: ticket + 1})
	}
	for want := range uint64(3) {
		if next, ok := l.next(); !ok || next.Ticket != want+1 || !l.busy {
			t.Errorf("%d is %+v", want+1, next)
		}
	}
	if _, ok := l.next(); ok || l.busy {
		t.Error("there is one more")
	}
}

// No link leads out of a folder, nor into one that is not here, and what cannot be told counts
// as out.
func TestWhereLinksLead(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	for _, dir := range []string{"docs/in/deep", "keys", "docsmore"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("docs/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"docs/out": at("keys"), "docs/up": "..", "docs/near": at("docsmore"), "docs/about": "in/deep", "docs/nowhere": at("keys/none"), "docs/round": "round",
		"docs/in/back": at("docs"), "alias": "docs", "docs/first": "out",
	} {
		if err := os.Symlink(to, at(name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	for _, c := range []struct {
		folder, path string
		out          bool
	}{
		{"docs", "docs/file", false},
		{"docs", "docs", false},
		{"docs", "docs/in/deep/new", false},
		{"docs", "docs/new/folder/file", false},
		{"docs", "docs/about/new", false},
		{"docs", "docs/in/back/file", false},
		{"alias", "alias/file", false}, // people agreed to what that name stands for
		{"alias", "alias/out/key", true},
		{"docs", "docs/out", true},
		{"docs", "docs/out/new", true},
		{"docs", "docs/first/new", true},
		{"docs", "docs/near/file", true},
		{"docs", "docs/up/keys/key", true},
		{"docs", "docs/nowhere", true}, // a server that writes there makes a file elsewhere
		{"docs", "docs/round", true},
		{"docs", "docs/file/below", true},
		{"none", "none/file", true},
	} {
		if got := leadsOut(plans.Place{Folder: at(c.folder), Path: at(c.path)}); got != c.out {
			t.Errorf("%s in %s leads out: %v", c.path, c.folder, got)
		}
	}
	for _, path := range []string{"docs/out/../file", "docs//file", "docs/in/./x", "docs/file/"} {
		if !leadsOut(plans.Place{Folder: at("docs"), Path: top + "/" + path}) {
			t.Errorf("%s is not clean and counts", path)
		}
	}
}
