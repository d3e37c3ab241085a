//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// A fault is something that breaks. strike breaks it and takes it back again.
type fault struct {
	kind   string
	effect effect
	strike func(*world, context.Context) error
	rest   time.Duration // not again so soon
}

// A server that dies more than five times in five minutes is not started again.
const serverRest = 75 * time.Second

// An effect is what calls may notice of a fault that they meet.
type effect int

const (
	nothing effect = iota
	refused        // or late
	lost           // no answer; the caller runs out of patience
)

// The faults of the two times that a soak has: in the first, bridge and gateway
// die too.
var (
	dying = []fault{
		{"bridge killed", lost, (*world).killBridge, 0},
		{"gateway restarted", lost, (*world).restartGateway, 0},
		{"link cut", lost, (*world).cutLink, 0},
		{"server killed", refused, (*world).killServer, serverRest},
		{"disk full", refused, (*world).fillDisk, 0},
	}
	living = []fault{
		{"link cut", lost, (*world).cutLink, 0},
		{"link stalled", refused, (*world).stallLink, 0},
		{"reader stalled", nothing, (*world).stallReader, 0},
		{"server killed", refused, (*world).killServer, serverRest},
		{"server stopped", refused, (*world).stopServer, 0},
		{"disk full", refused, (*world).fillDisk, 0},
		{"rules changed", nothing, (*world).changeRules, 0},
		{"rules broken", nothing, (*world).breakRules, 0},
	}
)

// kinds are what faults are called.
func kinds() (all []string) {
	for _, f := range slices.Concat(dying, living) {
		if !slices.Contains(all, f.kind) {
			all = append(all, f.kind)
		}
	}
	return all
}

// possible leaves out the full disk where there is none to fill, and what was
// not asked for.
func (w *world) possible(faults []fault) []fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return f.kind == "disk full" && !w.disk.full || w.plan.only != "" && f.kind != w.plan.only
	})
}

// A round is an order of faults: all kinds, then all again in another order.
type round struct {
	kinds []fault
	dice  *rand.Rand
	at    int                  // how many had their turn
	last  map[string]time.Time // when a kind had its last one
}

// once reports whether each kind has had its turn.
func (r *round) once() bool { return r.at >= len(r.kinds) }

// next is the next fault that has rested, if there is one.
func (r *round) next(now time.Time) (f fault, ok bool) {
	for range r.kinds {
		if r.at%len(r.kinds) == 0 {
			r.dice.Shuffle(len(r.kinds), func(i, j int) { r.kinds[i], r.kinds[j] = r.kinds[j], r.kinds[i] })
		}
		f = r.kinds[r.at%len(r.kinds)]
		r.at++
		if before, struck := r.last[f.kind]; !struck || now.Sub(before) >= f.rest {
			r.last[f.kind] = now
			return f, true
		}
	}
	return fault{}, false
}

// strike breaks something and waits until calls have results again.
func (w *world) strike(ctx context.Context, f fault) error {
	w.faults[f.kind]++
	if f.effect > nothing {
		w.book.strikes(f.kind, f.effect == lost)
	}
	if err := f.strike(w, ctx); err != nil {
		return err
	}
	return w.book.heals(ctx)
}

func (w *world) server() (int, error) {
	all := childrenOf(w.bridge.PID)
	if len(all) != 1 {
		return 0, fmt.Errorf("the bridge has the children %v, not one", all)
	}
	return all[0], nil
}

func (w *world) cutLink(context.Context) error {
	w.link.cut()
	return nil
}

func (w *world) killServer(context.Context) error {
	pid, err := w.server()
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

func (w *world) stopServer(ctx context.Context) error {
	pid, err := w.server()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	err = pause(ctx, 2*time.Second)
	return errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
}

func (w *world) stallLink(ctx context.Context) error {
	flow := w.link.stall()
	defer flow()
	return pause(ctx, 2*time.Second)
}

// stallReader has somebody in the topic who does not read, while somebody else
// says more than the gateway and two kernels keep for one reader.
func (w *world) stallReader(ctx context.Context) error {
	deaf := func(*seat, []byte) {}
	sleeper, err := w.chair("sleeper", deaf)
	talker, err2 := w.chair("talker", deaf)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	var over sync.WaitGroup
	over.Go(func() { talker.run(ctx) })
	over.Go(func() { talker.talk(ctx, 250, 16<<10) })
	err = sleeper.sleep(ctx, time.Minute)
	over.Wait()
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (w *world) fillDisk(ctx context.Context) error {
	if err := w.disk.fill(); err != nil {
		return err
	}
	err := pause(ctx, 2*time.Second)
	return errors.Join(err, w.disk.makeRoom())
}

func (w *world) changeRules(ctx context.Context) error {
	next := map[string]string{"allow": "deny", "deny": "allow"}[w.sometimes]
	if err := w.ruled(next); err != nil {
		return err
	}
	if next == "allow" {
		if err := w.agree(ctx); err != nil {
			return err
		}
	}
	return w.book.follows(ctx, next)
}

// agree says yes to the policy file as it is now, as the person at this machine:
// one that lets more through waits for that.
func (w *world) agree(ctx context.Context) error {
	for late := time.Now().Add(4 * patience); time.Now().Before(late); {
		said, err := w.stage.Run(stage.Bridge, "approvals", "list", "--json")
		if err != nil {
			return err
		}
		for line := range strings.Lines(said.Stdout) {
			var q struct{ ID, Tool string }
			if err := json.Unmarshal([]byte(line), &q); err != nil {
				return err
			}
			if q.Tool != "policy/reload" {
				continue
			}
			said, err := w.stage.Run(stage.Bridge, "approvals", "allow", q.ID)
			if err == nil && said.Exit != 0 {
				err = fmt.Errorf("approvals allow ended with %d: %s", said.Exit, said.Stderr)
			}
			return err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("nobody was asked about the policy file within %s", 4*patience)
}

func (w *world) breakRules(ctx context.Context) error {
	if err := w.write("version: 1\ndefault: allow\nrules: [{allow: [no"); err != nil {
		return err
	}
	err := pause(ctx, 2*time.Second)
	return errors.Join(err, w.ruled(w.sometimes))
}

// killBridge kills the bridge, whose server is to end by itself, and starts another.
func (w *world) killBridge(context.Context) error {
	pid, err := w.server()
	if err != nil {
		return err
	}
	if err := w.bridge.Signal(os.Kill); err != nil {
		return err
	}
	if _, err := w.bridge.End(); err != nil {
		return err
	}
	w.gone(pid)
	return w.startBridge()
}

// restartGateway ends the gateway in good order and starts another at the same
// address.
func (w *world) restartGateway(context.Context) error {
	if err := w.gateway.Stop(); err != nil {
		return err
	}
	if exit, err := w.gateway.End(); err != nil || exit != 0 {
		w.complain("the gateway ended with %d %v\n%s", exit, err, w.gateway.Stderr())
	}
	return w.startGateway(w.address())
}

// gone waits until a process does not live any more.
func (w *world) gone(pid int) {
	for late := time.Now().Add(patience); lives(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			w.complain("process %d outlives the bridge that started it", pid)
			return
		}
	}
}
