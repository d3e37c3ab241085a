package sim

import (
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"time"
)

// A trace is all that happened, in order: as a hash, and as text where somebody
// wants to read it.
type trace struct {
	sum hash.Hash64
	to  io.Writer // nil: nobody reads it
}

func newTrace() trace { return trace{sum: fnv.New64a()} }

func (t *trace) note(at time.Duration, what string, detail []byte) {
	fmt.Fprintf(t.sum, "%d %s ", at, what)
	t.sum.Write(detail)
	if t.to != nil {
		fmt.Fprintf(t.to, "%12v  %-7s %s\n", at, what, detail)
	}
}
