package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	module   = "github.com/mcpx-protocol/mcpx-bridge/"
	variable = "MISTAKE" // of the environment: which one is made
	switches = "bridge/sim/mistake"
)

// lever is the package by which woven code knows which mistake to make.
const lever = `package mistake

import (
	"os"
	"strconv"
)

var Now, _ = strconv.Atoi(os.Getenv("` + variable + `"))
`

// weave writes to dir the files of the bridge with all mistakes in them, and an
// overlay for the go command that puts them in place.
func weave(root, dir string, all []*mutant) (overlay string, err error) {
	replace := map[string]string{}
	put := func(name string, text []byte) error {
		from, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			return err
		}
		replace[from] = filepath.Join(dir, fmt.Sprintf("woven%d.go", len(replace)))
		return os.WriteFile(replace[from], text, 0o600)
	}
	for _, name := range touched(all) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			text, err = weaveFile(name, text, all)
		}
		if err == nil {
			err = put(name, text)
		}
		if err != nil {
			return "", err
		}
	}
	if err := put(switches+"/mistake.go", []byte(lever)); err != nil {
		return "", err
	}
	plan, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, plan, 0o600)
}

func touched(all []*mutant) []string {
	names := map[string]bool{}
	for _, m := range all {
		for name := range m.broken {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// weaveFile is a file of the bridge with all mistakes in it. Each function in
// which one is made stands there again with the mistake, and the right one gives
// way to it when its turn has come.
func weaveFile(name string, text []byte, all []*mutant) ([]byte, error) {
	right, err := parse(name, text)
	if err != nil {
		return nil, err
	}
	w := weaver{right: right, insert: map[int]string{}, replace: map[int]string{}}
	for _, m := range all {
		broken, made := m.broken[name]
		if !made {
			continue
		}
		wrong, err := parse(name, broken)
		if err == nil {
			err = w.add(m.number, wrong)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return w.text(), nil
}

// A source is a file, read.
type source struct {
	text  []byte
	file  *ast.File
	at    func(token.Pos) int
	funcs map[string]*ast.FuncDecl
	rest  string // what is in no function
}

func parse(name string, text []byte) (*source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &source{text: text, file: file, at: func(p token.Pos) int { return set.Position(p).Offset }, funcs: map[string]*ast.FuncDecl{}}
	var rest strings.Builder
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			s.funcs[s.name(f)] = f
			continue
		}
		rest.WriteString(s.of(d) + "\n")
	}
	s.rest = rest.String()
	return s, nil
}

func (s *source) of(n ast.Node) string { return string(s.text[s.at(n.Pos()):s.at(n.End())]) }

// name tells a function from all others in its package.
func (s *source) name(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return s.of(f.Recv.List[0].Type) + "." + f.Name.Name
}

// head is a function's signature.
func (s *source) head(f *ast.FuncDecl) string {
	return string(s.text[s.at(f.Pos()):s.at(f.Body.Lbrace)])
}

// A weaver puts the mistakes of one file into it.
type weaver struct {
	right   *source
	insert  map[int]string // by offset
	replace map[int]string // of one byte each
	copies  strings.Builder
}

var errNoFunction = errors.New("a mistake can be made only in the body of a function")

// add weaves one mistake in.
func (w *weaver) add(number int, wrong *source) error {
	if wrong.rest != w.right.rest || len(wrong.funcs) != len(w.right.funcs) {
		return errNoFunction
	}
	for _, name := range slices.Sorted(maps.Keys(w.right.funcs)) {
		f, g := w.right.funcs[name], wrong.funcs[name]
		switch {
		case g == nil || wrong.head(g) != w.right.head(f):
			return fmt.Errorf("%s: %w", name, errNoFunction)
		case wrong.of(g) != w.right.of(f):
			w.fork(f, number)
			w.copy(wrong, g, number)
		}
	}
	return nil
}

func woven(f *ast.FuncDecl, number int) string {
	return fmt.Sprintf("%sMistake%d", f.Name.Name, number)
}

// fork lets a function give way to its wrong copy.
func (w *weaver) fork(f *ast.FuncDecl, number int) {
	call := woven(f, number) + "(" + strings.Join(w.arguments(f), ", ") + ")"
	if f.Recv != nil {
		call = f.Recv.List[0].Names[0].Name + "." + call
	}
	if f.Type.Results != nil {
		call = "return " + call
	} else {
		call += "; return"
	}
	w.insert[w.right.at(f.Body.Lbrace)+1] += fmt.Sprintf("\n\tif mistake.Now == %d { %s }\n", number, call)
}

// arguments are a function's parameters as it would pass them on. One without a
// name gets one.
func (w *weaver) arguments(f *ast.FuncDecl) (all []string) {
	for _, p := range f.Type.Params.List {
		_, variadic := p.Type.(*ast.Ellipsis)
		for _, n := range p.Names {
			name := n.Name
			if name == "_" {
				name = fmt.Sprint("unnamed", len(all))
				w.replace[w.right.at(n.Pos())] = name
			}
			if variadic {
				name += "..."
			}
			all = append(all, name)
		}
	}
	return all
}

// copy adds a function once more, as it is in another file.
func (w *weaver) copy(from *source, f *ast.FuncDecl, number int) {
	text, name := from.of(f), from.at(f.Name.Pos())-from.at(f.Pos())
	w.copies.WriteString("\n" + text[:name] + woven(f, number) + text[name+len(f.Name.Name):] + "\n")
}

// text is the file with everything in it.
func (w *weaver) text() []byte {
	w.insert[w.right.at(w.right.file.Name.End())] = "\n\nimport \"" + module + switches + "\"\n"
	var out []byte
	for i, b := range w.right.text {
		out = append(out, w.insert[i]...)
		if other, is := w.replace[i]; is {
			out = append(out, other...)
			continue
		}
		out = append(out, b)
	}
	return append(out, w.copies.String()...)
}
