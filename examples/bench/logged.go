package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

var loggedCells = cells([]int{1 << 10}, 1, 64)

// measureLogged prints what a record costs a wrapper that does nothing else, beside a
// bridge that hosts its gateway. It comes after measureCalls.
func measureLogged(ctx context.Context, s *stage.Stage, r *report) error {
	c, err := withLoad(s, startLogged)
	if err != nil {
		return err
	}
	cs := []*contender{c}
	for _, name := range []string{hosting, wrapper} {
		cs = append(cs, r.contenders[slices.IndexFunc(r.contenders, func(c *contender) bool { return c.name == name })])
	}
	fmt.Fprint(r.out, "\nThe wrapper with a record, one write for each message (logged):\n")
	return r.race(ctx, cs, loggedCells, r.loggedCell)
}

func startLogged(s *stage.Stage) (*contender, []string, error) {
	p, url, err := listening(s, "logged", filepath.Join(s.Dir, "messages.jsonl"), s.Bin(stage.Echo))
	return &contender{name: logged, parts: []*stage.Process{p}}, []string{"-url", url}, err
}

// loggedCell prints a cell, and notes what hosting is held to: what it does besides
// is to cost no more than a record that is kept as one keeps it in an afternoon.
func (r *report) loggedCell(c cell, rounds []round) {
	r.columns(c.String(), []string{hosting, logged, wrapper}, [][2]string{{hosting, logged}, {logged, wrapper}}, measures, rounds, func(measure string, ratios []float64) {
		switch {
		case c.inFlight == 1 && measure == "median":
			r.atMost("hosting : logged, 1 KiB, median round trip", ratios[0], 1, "")
		case c.inFlight == 64 && measure == "calls/s":
			r.atLeast("hosting : logged, 1 KiB, calls/s at 64 in flight", ratios[0], 1)
		}
	})
}
