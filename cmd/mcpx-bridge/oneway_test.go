package main

import (
	"errors"
	"go/ast"
	gobuild "go/build"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFilesOfAPackageRunOneWay reads which file uses what another declares: no way leads
// from a file back to itself (issue 15: the picture of the files in a package runs one way).
func TestFilesOfAPackageRunOneWay(t *testing.T) {
	packages := map[string][]source{}
	for _, s := range sources(t) {
		dir, name := path.Split(s.name)
		if ok, err := gobuild.Default.MatchFile(filepath.Join("..", "..", dir), name); err != nil || !ok {
			continue // of another system
		}
		dir = path.Clean(dir)
		packages[dir] = append(packages[dir], s)
	}
	for name, files := range packages {
		if back := onAWayBack(uses(name, files)); len(back) > 0 {
			t.Errorf("%s: these files are on a way back to themselves: %q", name, back)
		}
	}
}

// Some rooms have so many files that their page lists them, each under those that it uses.
func TestFilesOfLargeRoomsAreListedFromBelow(t *testing.T) {
	for dir, page := range map[string]string{"bridge/sim": "doc.go", "bridge/engine": "event.go"} {
		least := map[string]int{"bridge/sim": 50, "bridge/engine": 15}[dir]
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(dir), page))
		if err != nil {
			t.Fatal(err)
		}
		rows, n := map[string]int{"doc.go": 0}, 0
		_, list, _ := strings.Cut(string(text), "What is where, from below")
		list, _, _ = strings.Cut(list, "\npackage ")
		for line := range strings.Lines(list) {
			if row, is := strings.CutPrefix(line, "//\t"); is {
				n++
				names, _, _ := strings.Cut(row, "  ")
				for name := range strings.FieldsSeq(names) {
					rows[name+".go"] = n
				}
			}
		}
		var files []source
		for _, s := range sources(t) {
			if path.Dir(s.name) != dir {
				continue
			}
			files = append(files, s)
			if _, listed := rows[path.Base(s.name)]; !listed {
				t.Errorf("%s is not listed", s.name)
			}
		}
		for from, all := range uses(dir, files) {
			for to := range all {
				if rows[path.Base(to)] > rows[path.Base(from)] {
					t.Errorf("%s uses %s, which stands under it", from, to)
				}
			}
		}
		for name := range rows {
			if name != "doc.go" && !slices.ContainsFunc(files, func(s source) bool { return path.Base(s.name) == name }) {
				t.Errorf("%s: %s is listed, and is none of its files", dir, name)
			}
		}
		if len(files) < least {
			t.Errorf("%s: there are %d", dir, len(files))
		}
	}
}

// uses returns, for each file, the files whose declarations it uses, as far as that can be
// told without other packages.
func uses(name string, files []source) map[string]map[string]bool {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	alone := types.Config{Importer: nobody{}, Error: func(error) {}}
	var parsed []*ast.File
	for _, s := range files {
		parsed = append(parsed, s.file)
	}
	alone.Check(name, files[0].set, parsed, &info)
	all := map[string]map[string]bool{}
	fileOf := func(at interface{ Pos() token.Pos }) string { return files[0].set.Position(at.Pos()).Filename }
	for id, object := range info.Uses {
		if object.Pkg() == nil || object.Pkg().Path() != name || !object.Pos().IsValid() {
			continue
		}
		from, to := fileOf(id), fileOf(object)
		if all[from] == nil {
			all[from] = map[string]bool{}
		}
		if from != to {
			all[from][to] = true
		}
	}
	return all
}

// nobody imports nothing.
type nobody struct{}

func (nobody) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// onAWayBack lists those from which uses lead back to themselves.
func onAWayBack(uses map[string]map[string]bool) (back []string) {
	for from := range uses {
		seen, todo := map[string]bool{}, []string{from}
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for to := range uses[at] {
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		if seen[from] {
			back = append(back, path.Base(from))
		}
	}
	slices.Sort(back)
	return back
}
