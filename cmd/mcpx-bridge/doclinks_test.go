package main

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// A docLink is what go doc makes a link of where such a name is declared: [Name], [Type.Member]
// or [package.Name].
var docLink = regexp.MustCompile(`(?:^|[\s(])\[\*?((?:[a-z]\w*\.)?[A-Z]\w*(?:\.[A-Z]\w*)?)\]`)

// namesOf are the names of each of our packages, members as Type.Member.
func namesOf(all []source) map[string]map[string]bool {
	names := map[string]map[string]bool{}
	for _, s := range all {
		room := path.Dir(s.name)
		if names[room] == nil {
			names[room] = map[string]bool{}
		}
		for _, d := range s.file.Decls {
			declare(names[room], d)
		}
	}
	return names
}

func declare(names map[string]bool, d ast.Decl) {
	if f, ok := d.(*ast.FuncDecl); ok {
		name := f.Name.Name
		if f.Recv != nil {
			name = strings.TrimPrefix(typeName(f.Recv.List[0].Type), "*") + "." + name
		}
		names[name] = true
		return
	}
	for _, spec := range d.(*ast.GenDecl).Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			for _, n := range spec.Names {
				names[n.Name] = true
			}
		case *ast.TypeSpec:
			names[spec.Name.Name] = true
			ast.Inspect(spec.Type, func(n ast.Node) bool {
				if field, ok := n.(*ast.Field); ok {
					for _, n := range field.Names {
						names[spec.Name.Name+"."+n.Name] = true
					}
				}
				return true
			})
		}
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// What a docstring points at is there: who follows it must not search for a name of long ago.
func TestLinksOfDocstringsLeadSomewhere(t *testing.T) {
	all := sources(t)
	names := namesOf(all)
	for _, s := range all {
		for _, c := range s.file.Comments {
			for _, m := range docLink.FindAllStringSubmatchIndex(c.Text(), -1) {
				link := c.Text()[m[2]:m[3]]
				room, name := path.Dir(s.name), link
				if pkg, rest, ok := strings.Cut(link, "."); ok && !token.IsExported(pkg) {
					room, name = roomOf(s.file, pkg), rest
				}
				if names[room] != nil && !names[room][name] {
					t.Errorf("%s:%d: there is no %s", s.name, s.line(c.Pos()), link)
				}
			}
		}
	}
}

// roomOf is the package of ours that a file imports by that name, "" if none.
func roomOf(f *ast.File, pkg string) string {
	for _, i := range f.Imports {
		if room, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "github.com/mcpx-protocol/mcpx-bridge/"); ours && path.Base(room) == pkg {
			return room
		}
	}
	return ""
}
