package main

import (
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/table"
)

// A list is printed as rows under a head, or with --json as an object on each line.
type list struct {
	p    *program
	rows [][]string // the head first
}

func (p *program) list(head ...string) *list { return &list{p, [][]string{head}} }

// add is for one more thing: as it is in JSON, and as its row.
func (l *list) add(object any, row ...string) {
	if l.p.s.JSON {
		l.p.print(jsonLine(object))
		return
	}
	l.rows = append(l.rows, row)
}

// end prints the rows, or if there are none logs what that means, if that is to be said.
func (l *list) end(none string, about ...any) error {
	switch {
	case l.p.s.JSON:
		return nil
	case len(l.rows) == 1 && none != "":
		l.p.log.Info(none, about...)
		return nil
	}
	return l.p.draw(l.rows, 0)
}

// draw prints rows. At a terminal, unless --wide is given, the last cuts columns are cut to fit.
func (p *program) draw(rows [][]string, cuts int) error {
	return p.print(table.Draw(rows, cuts, p.columns()))
}

// columns is how wide lines may be, 0 for as wide as they are.
func (p *program) columns() int {
	if p.s.Wide {
		return 0
	}
	return table.Columns(p.stdout)
}

func (s *settings) wideFlag(f *pflag.FlagSet) {
	f.BoolVar(&s.Wide, "wide", false, "do not cut lines to the width of the terminal")
}
