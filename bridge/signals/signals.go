// Package signals says what the signals mean that a person, a terminal or a supervisor sends
// to the program: to end, to hurry, or to read its settings again.
package signals

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// Until returns a context that ends at the first signal and one that
// ends at the second. A third one kills the process in the usual way. A hangup
// is a wish to reload where something can be, else a signal like others.
func Until(reload *Reloads, cause error) (first, second context.Context) {
	first, stop := context.WithCancelCause(context.Background())
	second, hurry := context.WithCancelCause(context.Background())
	came := make(chan os.Signal, 4)
	signal.Notify(came, syscall.SIGTERM)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as under nohup, and behind a & in a script
			signal.Notify(came, s)
		}
	}
	// A reader of our output who goes away must not kill us: the server we
	// started would be left behind. Writes then fail with EPIPE instead.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		next := func() {
			for s := range came {
				if s != syscall.SIGHUP || !reload.offer() {
					return
				}
			}
		}
		next()
		stop(cause)
		next()
		hurry(cause)
		signal.Stop(came)
	}()
	return first, second
}

// Reloads are the wishes to have settings read again.
type Reloads struct {
	told  chan struct{} // of one, which stands for all that come before it is taken
	heard atomic.Bool   // somebody takes from told, or will when there is something to read for
	there func() bool   // the terminal that we were started at, if any, is there still
}

// NewReloads has none yet. there reports whether the terminal that the program was started
// at is there still; true if it was started at none.
func NewReloads(there func() bool) *Reloads {
	return &Reloads{told: make(chan struct{}, 1), there: there}
}

// Hear has a hangup be such a wish from now on, and returns where it comes. Who is busy, or
// has nothing to read for yet, takes it after that.
func (r *Reloads) Hear() <-chan struct{} {
	r.heard.Store(true)
	return r.told
}

// offer reports whether the wish was taken. The hangup of a terminal that was closed is none.
func (r *Reloads) offer() bool {
	if !r.heard.Load() || !r.there() {
		return false
	}
	select {
	case r.told <- struct{}{}:
	default:
	}
	return true
}
