// Bench measures a call through a topic and back: our gateway and bridge
// against a relay and a bridge that check nothing (examples/bench/bare), the
// bridge that hosts its own gateway against bare wrappers, with and without a
// record, and all of them against the same server spoken to directly.
//
// Every part is a process of its own, on loopback. The contenders take turns
// in short rounds, so that a noisy machine disturbs all of them alike, and a
// ratio is the median of the ratios within each round. Memory is what the parts
// between caller and server have for themselves, beside what is resident.
//
// Beside that: run --stdio on a client's way to its own server, what one says to
// a topic of a hundred, approvals, proposals, the inputs that take longest to judge,
// starts, and allocations per call.
// BENCH.md says how, and has the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

func main() {
	quick := flag.Bool("quick", false, "fewer and shorter rounds: three minutes instead of five")
	var files []string
	flag.Func("into", "put the figures into this `file` too, where it has a place for them; repeatable", func(name string) error {
		files = append(files, name)
		return nil
	})
	drawing := flag.String("plot", "", "draw the figures into this `file` too, as SVG")
	against := flag.String("against", "", "measure nothing but this tree beside an earlier build of mcpx-bridge, this `file`: three minutes, -quick one")
	flag.Parse()
	if *against != "" && (len(files) > 0 || *drawing != "") {
		fmt.Fprintln(os.Stderr, "bench: what -against measures goes into no file")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := full
	if *quick {
		p = brief
	}
	var text strings.Builder
	measure := bench
	if *against != "" {
		measure = func(ctx context.Context, p plan, out io.Writer) error { return compare(ctx, *against, p, out) }
	}
	err := measure(ctx, p, io.MultiWriter(os.Stdout, &text))
	for _, name := range files {
		if err == nil {
			err = rewrite(name, text.String())
		}
	}
	if err == nil && *drawing != "" {
		err = draw(*drawing, text.String())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A plan says how much is measured.
type plan struct {
	goals  turns // in cells that a goal is set for
	others turns // in all others
	starts int   // how often a start is timed
	warmup int   // calls before the first turn, after which memory is read
	cells  []cell

	callers   int // whose calls are approved, eight each
	proposals int // that nobody can serve, one by one and again at a thousand in a second
	flows     int // proposals that the first is too busy for and the second serves

	crowd     turns // in which a crowd listens
	crowdRate int   // frames a second that it is told
	crowdFill int   // bytes that it is told before: more than two kernels keep for one who does not read
	allocs    int   // calls over which allocations are counted; 0 for not at all

	strains []strain
	holds   int // how often one that takes long is judged
	waits   int // rounds in which somebody waits beside the worst

	pairs turns // in which an earlier build takes part
}

// Turns are how often, and for how long, each contender has its turn.
type turns struct{ rounds, ms int }

func (p plan) turns(c cell) turns {
	if c.headline() {
		return p.goals
	}
	return p.others
}

// A cell is one line of the tables.
type cell struct{ size, inFlight int }

// headline reports whether a goal is set for this cell.
func (c cell) headline() bool {
	return c.size == 1<<10 && (c.inFlight == 1 || c.inFlight == 64) || c.size == 96<<10 && c.inFlight == 1
}

var (
	full = plan{goals: turns{11, 500}, others: turns{5, 300}, starts: 11, warmup: 10_000, cells: cells(
		[]int{1 << 10, 96 << 10}, []int{1, 16, 64, 256},
		[]int{1 << 20}, []int{1, 16}), callers: 64, proposals: 5000, flows: 100, crowd: turns{15, 1500}, crowdRate: 200, crowdFill: 6 << 20, allocs: 10_000, strains: strains(), holds: 5, waits: 5, pairs: turns{41, 300}}
	brief = plan{goals: turns{5, 300}, others: turns{3, 150}, starts: 5, warmup: 10_000, cells: full.cells,
		callers: 16, proposals: 1000, flows: 30, crowd: turns{7, 1500}, crowdRate: 200, crowdFill: 6 << 20, allocs: 10_000, strains: strains(), holds: 3, waits: 3, pairs: turns{11, 300}}
)

func cells(sizes, inFlight, bigSizes, bigInFlight []int) []cell {
	var all []cell
	for i, group := range [][]int{sizes, bigSizes} {
		for _, size := range group {
			for _, n := range [][]int{inFlight, bigInFlight}[i] {
				all = append(all, cell{size, n})
			}
		}
	}
	return all
}

func bench(ctx context.Context, p plan, out io.Writer) (err error) {
	s, err := stage.Set(stage.Bridge, stage.Echo, stage.Bare, stage.Load)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Strike()) }()
	began := time.Now()
	r := report{out: out, plan: p, slowest: map[string]float64{}}
	r.head()
	if r.starts, err = timeStarts(ctx, s, p.starts); err != nil {
		return err
	}
	if err := measureCalls(ctx, s, p, &r); err != nil {
		return err
	}
	if err := measureLogged(ctx, s, p, &r); err != nil {
		return err
	}
	if err := measureThrough(ctx, s, p, &r); err != nil {
		return err
	}
	if err := measureFanout(ctx, s, p, &r); err != nil {
		return err
	}
	asked, err := measureApprovals(s, p.callers, 10_000)
	if err != nil {
		return err
	}
	r.approvals(asked)
	proposed, err := measureProposals(s, p.proposals, p.flows)
	if err != nil {
		return err
	}
	r.proposals(proposed)
	if err := measureHeld(ctx, s, p, &r); err != nil {
		return err
	}
	if p.allocs > 0 {
		counted, err := countAllocations(ctx, p.allocs)
		if err != nil {
			return err
		}
		r.allocations(counted)
	}
	r.foot(time.Since(began))
	return nil
}

// measureCalls prints what a call through a topic costs with each contender.
func measureCalls(ctx context.Context, s *stage.Stage, p plan, r *report) (err error) {
	if r.contenders, err = contend(s); err != nil {
		return err
	}
	for _, c := range r.contenders {
		if err := c.warmUp(p.warmup); err != nil {
			return err
		}
	}
	for _, at := range p.cells {
		rounds, err := takeTurns(ctx, r.contenders, at, p)
		if err != nil {
			return err
		}
		r.cell(at, rounds)
	}
	return nil
}

// A round is what every contender achieved in one turn.
type round map[string]order.Result

// takeTurns lets every contender run a cell in turn, several times over.
func takeTurns(ctx context.Context, cs []*contender, at cell, p plan) ([]round, error) {
	var rounds []round
	turns := p.turns(at)
	for i := range turns.rounds {
		first := i % len(cs) // nobody is always first
		r, err := takeTurn(ctx, slices.Concat(cs[first:], cs[:first]), at, turns.ms)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, r)
	}
	return rounds, nil
}

// takeTurn lets every contender run a cell, in this order.
func takeTurn(ctx context.Context, cs []*contender, at cell, ms int) (round, error) {
	r := round{}
	for _, c := range cs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, err := c.turn(order.Order{Size: at.size, InFlight: at.inFlight, Calls: 200_000, MS: ms})
		if err != nil {
			return nil, err
		}
		r[c.name] = got
	}
	return r, nil
}
