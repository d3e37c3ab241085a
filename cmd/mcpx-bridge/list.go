package main

import (
	"bytes"
	"text/tabwriter"
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
	return l.p.print(table(l.rows))
}

// table lines up rows of cells, which it makes safe to show.
func table(rows [][]string) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.StripEscape)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				w.Write([]byte("\t"))
			}
			w.Write([]byte(visible(cell)))
		}
		w.Write([]byte("\n"))
	}
	w.Flush()
	var out []byte
	for line := range bytes.Lines(b.Bytes()) {
		out = append(out, append(bytes.TrimRight(line, " \n"), '\n')...)
	}
	return out
}
