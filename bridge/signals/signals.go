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

// Until returns a context that ends at the first signal and one that ends at the second, both
// with the cause. A third one kills the process in the usual way. A hangup is a wish to reload
// where something can be, else like any other signal, but never the second: of a terminal that is
// closed two may come, and from a supervisor one behind its SIGTERM.
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
		heed(came, reload, func() { stop(cause) })
		hurry(cause)
		signal.Stop(came)
	}()
	return first, second
}

// heed calls stop at the first signal, and returns at the second.
func heed(came <-chan os.Signal, reload *Reloads, stop func()) {
	for s := range came {
		if s != syscall.SIGHUP || !reload.offer() {
			break
		}
	}
	stop()
	for s := range came {
		if s != syscall.SIGHUP {
			break
		}
	}
}

// Reloads are the wishes to have settings read again.
type Reloads struct {
	told  chan struct{} // of one, which stands for all that come before it is taken
	heard atomic.Bool   // Hear was called
	there func() bool   // the terminal that we were started at, if any, is there still
}

// NewReloads has none yet. there reports whether the terminal that the program was started
// at is there still; true if it was started at none.
func NewReloads(there func() bool) *Reloads {
	return &Reloads{told: make(chan struct{}, 1), there: there}
}

// Hear makes a hangup such a wish from now on, and returns where it comes. It waits there, one
// for all that came, until it is taken: a bridge may be busy, or not have a seat yet.
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
