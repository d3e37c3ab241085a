package show_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
)

func TestALogIsFoundByItsBridgeOrAsTheOnlyOne(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if path, err := show.Only(dir); err == nil {
		t.Errorf("in an empty directory there is %s", path)
	}
	notes := put("notes.jsonl")
	put("notes.lock")
	if path, err := show.Only(dir); err != nil || path != notes {
		t.Errorf("the only one is %s, %v", path, err)
	}
	put("files.jsonl")
	if path, err := show.Only(dir); err == nil {
		t.Errorf("of two, %s is the only one", path)
	}
	if ids := show.In(dir); !slices.Equal(ids, []string{"files", "notes"}) {
		t.Errorf("there are %q", ids)
	}
	for _, named := range []string{"notes", notes} {
		if path, err := show.Find(dir, named); err != nil || path != notes {
			t.Errorf("%s is %s, %v", named, path, err)
		}
	}
	if path, err := show.Find(dir, "nobody"); err == nil {
		t.Errorf("nobody's is %s", path)
	}
	if id := show.Whose(dir, notes); id != "notes" {
		t.Errorf("%s is of %q", notes, id)
	}
	if id := show.Whose(t.TempDir(), notes); id != "" {
		t.Errorf("elsewhere it is of %q", id)
	}
}
