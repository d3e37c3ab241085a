package main

import (
	"bytes"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWhatTheRaceDetectorDoesNotWatchIsSequential holds the rooms that make test runs
// without it to what makes that no loss: they start nothing that runs beside them, and
// no two of their tests run at a time.
func TestWhatTheRaceDetectorDoesNotWatchIsSequential(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^SEQUENTIAL += (.+)$`).FindSubmatch(makefile)
	if found == nil {
		t.Fatal("the Makefile does not say which rooms these are")
	}
	rooms := strings.Fields(string(found[1]))
	seen := map[string]bool{}
	for _, s := range sources(t) {
		room := path.Dir(s.name)
		if !slices.Contains(rooms, room) {
			continue
		}
		seen[room] = true
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if _, starts := n.(*ast.GoStmt); starts || ok && (call.Sel.Name == "Go" || call.Sel.Name == "AfterFunc") {
				t.Errorf("%s:%d starts a goroutine", s.name, s.line(n.Pos()))
			}
			return true
		})
	}
	for _, room := range rooms {
		if !seen[room] {
			t.Errorf("there is no %s", room)
		}
		tests, _ := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(room), "*_test.go"))
		for _, name := range tests {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte(".Parallel()")) || bytes.Contains(text, []byte("synctest.")) {
				t.Errorf("%s: its tests run beside each other", name)
			}
		}
	}
}
