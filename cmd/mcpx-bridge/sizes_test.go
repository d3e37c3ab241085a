package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Sizes of the house. What needs more lines needs a name for its middle.
const (
	maxFile   = 500  // lines of a file
	maxFunc   = 80   // lines of a function
	maxMedian = 12   // lines of the median function
	maxEngine = 15   // files of bridge/engine, each of which uses only those below it
	maxCmd    = 5500 // lines of code of cmd/mcpx-bridge, without comments and blank lines
)

// A source is one Go file of ours that ships.
type source struct {
	name string
	set  *token.FileSet
	file *ast.File
}

// They are parsed anew for each test: each program that the others start within this
// process collects its garbage, and would look at all of them.
func sources(t *testing.T) (all []source) {
	t.Helper()
	set := token.NewFileSet()
	for _, name := range files(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, source{filepath.ToSlash(strings.TrimPrefix(name, filepath.Join("..", "..")+string(filepath.Separator))), set, file})
	}
	return all
}

// files are the names of all files of the tree, as this package opens them.
func files(t *testing.T) []string {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func tree() (all []string, err error) {
	for _, room := range []string{"bridge", "cmd", "examples", "policy", "stdio"} {
		err = errors.Join(err, filepath.WalkDir(filepath.Join("..", "..", room), func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				all = append(all, name)
			}
			return err
		}))
	}
	return all, err
}

func (s source) line(p token.Pos) int { return s.set.Position(p).Line }

func TestFilesAndFunctionsAreShort(t *testing.T) {
	var lengths []int
	for _, s := range sources(t) {
		if n := s.line(s.file.FileEnd); n > maxFile {
			t.Errorf("%s has %d lines; split it by noun", s.name, n)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := s.line(f.End()) - s.line(f.Pos()) + 1
			lengths = append(lengths, n)
			if n > maxFunc {
				t.Errorf("%s:%d: %s has %d lines", s.name, s.line(f.Pos()), f.Name.Name, n)
			}
		}
	}
	slices.Sort(lengths)
	if median := lengths[len(lengths)/2]; median > maxMedian {
		t.Errorf("the median function has %d lines", median)
	}
}

// Whoever wants to know what the Engine may do reads all of its files; what needs no Engine is a
// room of its own below it (issue 15).
func TestTheEngineIsReadInAnHour(t *testing.T) {
	n := 0
	for _, s := range sources(t) {
		if path.Dir(s.name) == "bridge/engine" {
			n++
		}
	}
	if n > maxEngine {
		t.Errorf("bridge/engine has %d files: %d is what it may have", n, maxEngine)
	}
}

// The program parses flags, says words and chooses exit codes (issue 15); whatever else came to
// stand in it, no other program could use and no test could try alone.
func TestLinesOfTheProgramAreFlagsAndWords(t *testing.T) {
	n := 0
	for _, s := range sources(t) {
		if s.file.Name.Name == "main" && filepath.ToSlash(filepath.Dir(s.name)) == "cmd/mcpx-bridge" {
			n += codeLines(t, filepath.Join("..", "..", s.name))
		}
	}
	if n > maxCmd {
		t.Errorf("cmd/mcpx-bridge has %d lines of code, %d more than it may: move what is neither flag, word nor exit code to a room under bridge, and squeeze no lines", n, n-maxCmd)
	}
	if n < maxCmd/2 {
		t.Errorf("cmd/mcpx-bridge has %d lines of code? whoever counts them has missed some, or the limit is to be lowered", n)
	}
}

// codeLines is how many lines of a file have something on them that is not a comment.
func codeLines(t *testing.T, name string) int {
	t.Helper()
	code, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file := token.NewFileSet().AddFile(name, -1, len(code))
	var s scanner.Scanner
	s.Init(file, code, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, said := s.Scan()
		switch {
		case kind == token.EOF:
			return len(lines)
		case kind == token.SEMICOLON && said == "\n": // no more than a line end
		default:
			for more := range strings.Count(said, "\n") + 1 {
				lines[file.Line(at)+more] = true
			}
		}
	}
}

// Names that cannot refuse a file get every file.
var nameless = []string{"manager", "service", "util", "utils", "common", "types", "core", "impl", "helper", "helpers", "shared"}

func TestNamesRefuseSomething(t *testing.T) {
	for _, s := range sources(t) {
		base := strings.TrimSuffix(filepath.Base(s.name), ".go")
		for _, name := range []string{s.file.Name.Name, base} {
			if slices.Contains(nameless, name) {
				t.Errorf("%s: %q is a name for anything", s.name, name)
			}
		}
	}
}

// worldly is what only programs may touch: libraries are told what they need.
var worldly = map[string][]string{
	"os":   {"Args", "Getenv", "LookupEnv", "Environ", "Exit"},
	"log":  nil, // nothing of it
	"slog": {"Default", "SetDefault", "Debug", "Info", "Warn", "Error"},
}

func TestOnlyProgramsTouchTheWorld(t *testing.T) {
	for _, s := range sources(t) {
		if s.file.Name.Name == "main" || strings.HasPrefix(s.name, "examples/") || strings.HasPrefix(s.name, "stdio/stdiotest/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || !imports(s.file, pkg.Name) {
				return true
			}
			names, listed := worldly[pkg.Name]
			if listed && (names == nil || slices.Contains(names, sel.Sel.Name)) {
				t.Errorf("%s:%d: %s.%s is for programs alone", s.name, s.line(n.Pos()), pkg.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

func imports(f *ast.File, name string) bool {
	return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
		path := strings.Trim(i.Path.Value, `"`)
		return i.Name == nil && (path == name || strings.HasSuffix(path, "/"+name))
	})
}

// spelledOnce are words and numbers of the protocol, and the one file that may spell each (LEAN 9, 3).
var spelledOnce = map[string]*regexp.Regexp{
	"stdio/jsonrpc/revision.go": regexp.MustCompile(`20\d\d-(03-26|06-18|07-28|11-05|11-25)`),
	"bridge/refusal/refusal.go": regexp.MustCompile(`^310\d\d$`),
}

// Where a revision of MCP or the code of a refusal stands twice, the next one is added once.
// What plays a stranger's part spells what that one would.
func TestRevisionsAndCodesAreSpelledOnce(t *testing.T) {
	for _, s := range sources(t) {
		if strings.HasPrefix(s.name, "bridge/sim/") || strings.HasPrefix(s.name, "stdio/stdiotest/") || strings.HasPrefix(s.name, "examples/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if word, ok := n.(*ast.BasicLit); ok {
				for file, is := range spelledOnce {
					if file != s.name && is.MatchString(word.Value) {
						t.Errorf("%s:%d: %s stands in %s already", s.name, s.line(n.Pos()), word.Value, file)
					}
				}
			}
			return true
		})
	}
}
