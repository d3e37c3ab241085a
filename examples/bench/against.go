package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// What an earlier build is called in the tables.
const (
	oldOurs    = "old"
	oldHosting = "old hosting"
)

// mostWorse is by how much this tree may be behind an earlier build (as a ratio).
const mostWorse = 1.03

var pairedCells = append(cells([]int{1 << 10}, 1, 64), cells([]int{96 << 10}, 1)...)

// compare measures this tree beside an earlier build, in turns.
func compare(ctx context.Context, s *stage.Stage, against string, p plan, out io.Writer) (err error) {
	if against, err = filepath.Abs(against); err != nil {
		return err
	}
	began := time.Now()
	r := report{out: out, plan: p}
	r.pairHead(against)
	stages, err := oldAndNew(s, "starts", against)
	if err != nil {
		return err
	}
	if err := r.startPairs(ctx, stages); err != nil {
		return err
	}
	if stages, err = oldAndNew(s, "calls", against); err != nil {
		return err
	}
	cs, err := paired(stages)
	if err != nil {
		return err
	}
	r.idlePairs(cs)
	for _, c := range cs {
		if err := c.warmUp(p.warmup); err != nil {
			return err
		}
	}
	for _, at := range pairedCells {
		rounds, err := takeTurns(ctx, at, p.pairs, swapping(cs))
		if err != nil {
			return err
		}
		r.pairCell(at, rounds)
	}
	r.listGoals(time.Since(began))
	return nil
}

// oldAndNew sets a stage for this tree and one for the earlier build.
func oldAndNew(s *stage.Stage, name, against string) (stages [2]*stage.Stage, err error) {
	for i, which := range []string{"-new", "-old"} {
		if stages[i], err = s.Apart(name + which); err != nil {
			return stages, err
		}
	}
	stages[1].Instead(stage.Bridge, against)
	return stages, nil
}

// paired starts gateway and bridge, and a bridge that hosts, of both; each beside
// its counterpart.
func paired(stages [2]*stage.Stage) (cs []*contender, err error) {
	for _, of := range []struct {
		start func(*stage.Stage) (*contender, []string, error)
		names [2]string
	}{{startOurs, [2]string{ours, oldOurs}}, {startHosting, [2]string{hosting, oldHosting}}} {
		for i, s := range stages {
			c, err := withLoad(s, of.start)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", of.names[i], err)
			}
			c.name = of.names[i]
			cs = append(cs, c)
		}
	}
	return cs, nil
}

// swapping has the two of a pair right after each other, each as often first as second.
func swapping(cs []*contender) func(round int) []*contender {
	return func(round int) []*contender {
		cs := slices.Clone(cs)
		for i := 0; round%2 == 0 && i+1 < len(cs); i += 2 {
			cs[i], cs[i+1] = cs[i+1], cs[i]
		}
		return cs
	}
}

// startPairs times how long a hosting bridge of each takes to serve, and how much
// memory it holds a second later.
func (r *report) startPairs(ctx context.Context, stages [2]*stage.Stage) error {
	var took, private, resident [2][]float64
	for round := range max(r.plan.pairs.rounds/3, 1) {
		var up [2]*stage.Process
		for i := range stages {
			if err := ctx.Err(); err != nil {
				return err
			}
			i = (i + round) % 2
			s := stages[i]
			began := time.Now()
			p, err := s.Start(stage.Bridge, "run", "--json", "--listen", "127.0.0.1:0", "--allow", "echo", "--", s.Bin(stage.Echo))
			if err == nil {
				_, err = p.Line()
			}
			if err != nil {
				return err
			}
			took[i], up[i] = append(took[i], float64(time.Since(began))), p
			p.Ignore()
			time.Sleep(time.Second) // what a start leaves behind is cleared away by then
			held := memoryOf(p)
			private[i], resident[i] = append(private[i], float64(held.private)), append(resident[i], float64(held.resident))
		}
		if err := errors.Join(up[0].Stop(), up[1].Stop()); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.out, "\n%-32s %12s %12s %12s\n", "hosting", "new", "old", "new : old")
	r.pair("start to ready", micros, took[0], took[1], false)
	if private[0][0] > 0 { // where the system says so
		r.pair("private, nobody connected", mibs, private[0], private[1], false)
		r.show("resident, nobody connected", mibs, resident[0], resident[1])
	}
	return nil
}

// idlePairs prints how much memory each holds a second after a caller has connected.
func (r *report) idlePairs(cs []*contender) {
	time.Sleep(time.Second) // what the connecting leaves behind is cleared away by then
	for i := 0; i+1 < len(cs); i += 2 {
		if now, was := memoryOf(cs[i].parts...), memoryOf(cs[i+1].parts...); now.private > 0 {
			r.pair("private, "+cs[i].name+" and a caller", mibs, []float64{float64(now.private)}, []float64{float64(was.private)}, false)
			r.show("resident, "+cs[i].name+" and a caller", mibs, []float64{float64(now.resident)}, []float64{float64(was.resident)})
		}
	}
}

func mibs(bytes float64) string { return fmt.Sprintf("%.1f MiB", mib(int64(bytes))) }

func (r *report) pairHead(against string) {
	fmt.Fprintf(r.out, `%s/%s, %d CPUs, %s; this tree (new) and an earlier build (old) take turns, in %d rounds of %d ms

old      %s

Figures are medians over the rounds; new : old is the median of the ratios within a round, and behind it are its quartiles.
Work is what all parts have had of a processor for each call: it hangs least on what else the machine does.
Private memory is pages of no file (Anonymous and Swap of smaps_rollup), which is what a process costs; resident has those of program files too, which cost nobody anything.
`, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), r.plan.pairs.rounds, r.plan.pairs.ms, against)
}

func (r *report) pairCell(at cell, rounds []round) {
	for _, pair := range [][2]string{{ours, oldOurs}, {hosting, oldHosting}} {
		name := pair[0] + ", " + at.String()
		fmt.Fprintf(r.out, "\n%-32s %12s %12s %12s\n", name, "new", "old", "new : old")
		for _, m := range append(slices.Clone(measures), measure{"work", func(r order.Result) float64 { return r.Busy }, micros}) {
			if m.of(rounds[0][pair[0]]) == 0 {
				continue // the system does not say
			}
			of := func(who string) []float64 { return each(rounds, func(r round) float64 { return m.of(r[who]) }) }
			r.pair(name+", "+m.name, m.show, of(pair[0]), of(pair[1]), m.name == "calls/s")
		}
	}
}

// pair prints a line and keeps its goal.
func (r *report) pair(what string, show func(float64) string, now, was []float64, most bool) {
	if ratio := r.show(what, show, now, was); most {
		r.atLeast("new : old, "+what, ratio, 0.97)
	} else {
		r.atMost("new : old, "+what, ratio, mostWorse, "")
	}
}

// show prints a line and returns the ratio.
func (r *report) show(what string, show func(float64) string, now, was []float64) float64 {
	ratios := make([]float64, len(now))
	for i := range now {
		ratios[i] = now[i] / was[i]
	}
	held := median(ratios) // sorted by now
	n := len(ratios)
	short := what
	if strings.Contains(what, "in flight") { // the heading has the rest
		short = what[strings.LastIndex(what, " ")+1:]
	}
	fmt.Fprintf(r.out, "  %-30s %12s %12s %12.3f  (%.3f to %.3f)\n", short, show(median(slices.Clone(now))), show(median(slices.Clone(was))), held, ratios[n/4], ratios[(3*n-1)/4])
	return held
}
