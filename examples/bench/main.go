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
	"strings"
	"syscall"
	"time"

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
	err := play(ctx, *against, p, io.MultiWriter(os.Stdout, &text))
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

// programs are those that are measured, and those that measure.
var programs = []string{stage.Bridge, stage.Echo, stage.Bare, stage.Load}

// play builds them, and compares them with an earlier build if that is given.
func play(ctx context.Context, against string, p plan, out io.Writer) error {
	s, err := stage.Set(programs...)
	if err != nil {
		return err
	}
	if against != "" {
		err = compare(ctx, s, against, p, out)
	} else {
		err = bench(ctx, s, p, out)
	}
	return errors.Join(err, s.Strike())
}

func bench(ctx context.Context, s *stage.Stage, p plan, out io.Writer) error {
	began := time.Now()
	r := report{out: out, plan: p, starts: map[string][]float64{}, slowest: map[string]float64{}}
	r.head()
	for _, measure := range []func(context.Context, *stage.Stage, *report) error{timeStarts, measureCalls, measureLogged, measureThrough, measureFanout,
		measureApprovals, measureProposals, measureHeld, countAllocations} {
		if err := measure(ctx, s, &r); err != nil {
			return err
		}
	}
	r.foot(time.Since(began))
	return nil
}

// measureCalls prints what a call through a topic costs with each contender.
func measureCalls(ctx context.Context, s *stage.Stage, r *report) (err error) {
	if r.contenders, err = contend(s); err != nil {
		return err
	}
	return r.race(ctx, r.contenders, r.plan.cells, r.cell)
}
