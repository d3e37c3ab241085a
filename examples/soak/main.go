//go:build linux

// Soak keeps a bridge at work for a while and breaks something every few
// seconds. A gateway, a bridge with a policy and a record, callers, somebody
// who approves, and a server that writes down what it runs are all real
// processes and sockets; what they did is judged from outside, by what the
// callers heard, what the server wrote and what is on record.
//
// The first third of the time things also die: the bridge with kill -9, the
// gateway by a restart. After that the same two processes live to the end, so
// that what they hold can be compared.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

func main() {
	var p plan
	minutes := flag.Float64("minutes", 10, "how long things are broken; each kind is at least once, and starts and ends come on top")
	flag.DurationVar(&p.every, "every", 5*time.Second, "the time from one fault to the next")
	flag.IntVar(&p.rate, "rate", 60, "calls a second, of all callers together")
	flag.Uint64Var(&p.seed, "seed", 0, "the `seed` that chooses calls and faults; 0 takes any")
	flag.StringVar(&p.only, "only", "", "only faults of this `kind`, like \"link cut\"")
	flag.Parse()
	p.takes = time.Duration(*minutes * float64(time.Minute))
	if p.seed == 0 {
		p.seed = rand.Uint64N(1_000_000) + 1
	}
	if err := p.sound(); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
	if code, entered := enterRoom(); entered {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := soak(ctx, p, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// sound says what of a plan cannot be carried out, or would prove nothing.
func (p plan) sound() error {
	switch {
	case p.takes <= 0 || p.every <= 0:
		return errors.New("-minutes and -every are more than 0")
	case p.rate < 1:
		return errors.New("-rate is 1 or more")
	case p.only != "" && !slices.Contains(kinds(), p.only):
		return fmt.Errorf("-only: no fault is called %q; there are %s", p.only, strings.Join(kinds(), ", "))
	}
	return nil
}

var errViolated = errors.New("what was promised was not kept")

// soak is the whole of it. The error is errViolated if all went to its end and
// something was wrong.
func soak(ctx context.Context, p plan, out io.Writer) (err error) {
	fmt.Fprintf(out, "soak of %s, a fault every %s, %d calls/s, seed %d\n", p.takes, p.every, p.rate, p.seed)
	s, err := stage.Set(stage.Bridge)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Strike()) }()
	w, err := newWorld(s, p, out)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.open(ctx); err != nil {
		return err
	}
	if err := w.live(ctx); err != nil {
		return fmt.Errorf("%w\nthe bridge said at last:\n%s", err, w.bridge.Stderr())
	}
	if err := w.end(); err != nil {
		return err
	}
	violations, err := w.report()
	if err != nil {
		return err
	}
	if violations > 0 {
		return errViolated
	}
	return nil
}
