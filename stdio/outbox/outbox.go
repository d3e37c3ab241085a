// Package outbox writes to one descriptor, in order, and never makes the
// caller wait.
package outbox

import (
	"context"
	"errors"
	"io"
	"time"
)

var (
	ErrFull   = errors.New("outbox full: the other end does not read fast enough")
	ErrClosed = errors.New("outbox closed")
)

type Options struct {
	MaxItems, MaxBytes int
	Deadline           time.Duration
	OnFail             func(error)
}

type Outbox struct{}

func New(w io.Writer, o Options) *Outbox          { panic("coming") }
func (b *Outbox) Put(parts ...[]byte) error       { panic("coming") }
func (b *Outbox) Flush()                          { panic("coming") }
func (b *Outbox) Close(ctx context.Context) error { panic("coming") }
func (b *Outbox) Queued() (items, bytes int)      { panic("coming") }
