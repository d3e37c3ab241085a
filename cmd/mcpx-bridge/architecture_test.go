package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Who reads docs/architecture.md finds every room of the import table in it, and no room
// that is not there.
func TestEveryRoomIsOnThePageOfTheArchitecture(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("`((?:bridge|stdio|policy|cmd|examples)(?:/[a-z0-9-]+)*)`: ").FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = true
	}
	for _, room := range slices.Sorted(maps.Keys(may)) {
		if !listed[room] {
			t.Errorf("docs/architecture.md does not say what %s is: add - `%s`: …", room, room)
		}
	}
	for room := range listed {
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(room))); err != nil || !info.IsDir() {
			t.Errorf("docs/architecture.md lists %s, which is not there", room)
		}
	}
}
