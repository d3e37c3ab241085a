//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// live is the time of faults: first things die, then bridge and gateway live
// on, and are compared with what they were.
func (w *world) live(ctx context.Context) error {
	if err := pause(ctx, w.plan.warm()); err != nil {
		return err
	}
	if err := w.breakThings(ctx, dying, w.plan.takes/3); err != nil {
		return err
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	var blind error
	watch.Go(func() { blind = w.watch(watching) })
	err := w.breakThings(ctx, living, w.plan.takes-w.plan.takes/3)
	stop()
	watch.Wait()
	if err := errors.Join(err, blind); err != nil {
		return err
	}
	return w.compare(ctx)
}

// begin counts the goroutines that bridge and gateway have when nobody calls,
// which ends them, starts both again, and looks at them when they are warm.
func (w *world) begin(ctx context.Context) error {
	goOn, err := w.quiet(ctx)
	if err != nil {
		return err
	}
	bridge, gateway, err := w.allStacks()
	if err != nil {
		return err
	}
	w.book.strikes("begun anew", true)
	err = w.startAgain()
	goOn()
	if err := errors.Join(err, w.book.heals(ctx), pause(ctx, w.plan.warm())); err != nil {
		return err
	}
	if goOn, err = w.quiet(ctx); err != nil {
		return err
	}
	w.before, err = w.sample()
	w.before.bridge.goroutines, w.before.gateway.goroutines = bridge, gateway
	goOn()
	return errors.Join(err, w.book.heals(ctx))
}

// compare looks at bridge and gateway again, when nobody calls.
func (w *world) compare(ctx context.Context) error {
	goOn, err := w.quiet(ctx)
	if err != nil {
		return err
	}
	defer goOn()
	if w.after, err = w.sample(); err != nil {
		return err
	}
	if w.cut, err = stage.Metric(w.url, "slow_readers_cut_total"); err != nil {
		return err
	}
	w.after.bridge.goroutines, w.after.gateway.goroutines, err = w.allStacks()
	w.leave()
	return err
}

// allStacks ends bridge and gateway.
func (w *world) allStacks() (bridge, gateway int, err error) {
	pid, err := w.server()
	if err != nil {
		return 0, 0, err
	}
	bridge, err = stacks(w.bridge)
	if err != nil {
		return 0, 0, err
	}
	w.gone(pid)
	gateway, err = stacks(w.gateway)
	return bridge, gateway, err
}

// watch looks at bridge and gateway every second.
func (w *world) watch(ctx context.Context) error {
	for pause(ctx, time.Second) == nil {
		s, err := w.sample()
		if err != nil {
			return err
		}
		w.samples = append(w.samples, s)
	}
	return nil
}

// minute prints a line, if a minute has gone by since the last one.
func (w *world) minute() {
	now := time.Since(w.began)
	if int(now.Minutes()) <= w.minutes {
		return
	}
	w.minutes = int(now.Minutes())
	s, err := w.sample()
	if err != nil {
		return // it has just been killed
	}
	made, served := w.book.count()
	fmt.Fprintf(w.out, "minute %d: %d calls, %d results, %d faults; bridge %.1f MiB, %d descriptors; gateway %.1f MiB, %d descriptors; %d violations\n",
		w.minutes, made, served, w.struck(), mib(s.bridge.resident), s.bridge.descriptors, mib(s.gateway.resident), s.gateway.descriptors, len(w.wrong))
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// end has a last bridge close the record in good order.
func (w *world) end() error {
	w.dismiss()
	if err := w.startAgain(); err != nil {
		return err
	}
	pid, err := w.server()
	if err != nil {
		return err
	}
	if err := w.bridge.Stop(); err != nil {
		return err
	}
	if exit, err := w.bridge.End(); err != nil || exit != 0 {
		w.complain("the last bridge ended with %d %v\n%s", exit, err, w.bridge.Stderr())
	}
	w.gone(pid)
	return nil
}

// breakThings strikes one fault each time one is due, for a while, and each
// kind at least once: all of them in some order, then all again.
func (w *world) breakThings(ctx context.Context, kinds []fault, while time.Duration) error {
	r := round{kinds: w.possible(kinds), dice: w.dice, last: map[string]time.Time{}}
	until := time.Now().Add(while)
	for due := time.Now(); !r.once() || due.Before(until); due = due.Add(w.plan.every) {
		if now := time.Now(); due.Before(now) {
			due = now // the one before took longer
		}
		if err := pause(ctx, time.Until(due)); err != nil {
			return err
		}
		if f, ok := r.next(due); ok {
			if err := w.strike(ctx, f); err != nil {
				return fmt.Errorf("%s: %w", f.kind, err)
			}
		}
		w.minute()
	}
	return pause(ctx, time.Until(until))
}

func (w *world) sample() (s sample, err error) {
	s.at = time.Now()
	s.calls, _ = w.book.count()
	if s.bridge, err = holds(w.bridge); err != nil {
		return s, err
	}
	s.gateway, err = holds(w.gateway)
	return s, err
}
