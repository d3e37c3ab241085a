package bridge

import (
	"errors"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A Seat is the way to the topic. Neither method may wait for the gateway.
type Seat interface {
	// Send takes the frame over. An error that is ErrNoSeat means that
	// there is no link; any other, that the way out is full.
	Send(class wire.Class, frame []byte) error
	Flush()
}

// ErrNoSeat is what a Seat's Send returns, perhaps wrapped, without a link.
var ErrNoSeat = errors.New("there is no seat at the topic")

// A Server is the way to the MCP server. No method may wait for it.
type Server interface {
	Put(line []byte) error // takes the line over
	Flush()
	Restart(why string)
}

// An Audit is where records are kept. When it fails, or goes on after a failure,
// somebody must tell the Sidecar, with Unrecorded and AuditUp.
type Audit interface {
	// Append writes records, one JSON object each, in one piece: when it
	// fails none of them counts. It must not keep their bytes.
	Append(records ...[]byte) error

	// Sync puts all that was appended on disk and then calls done, from
	// another goroutine.
	Sync(done func(error))

	// Err is why nothing can be appended, nil if it can.
	Err() error
}

// Options are what a Sidecar needs beside its Engine.
type Options struct {
	Engine engine.Config

	// Audit gets every record before what it is about takes effect. nil: none
	// is kept.
	Audit Audit

	// SyncAll: what it is about waits until the record is on disk, whoever
	// decided it. Else only what a person decided does.
	SyncAll bool

	// Emit gets every Record, in order, one after the other, with no lock held: it may
	// call the Sidecar, save for Drain and Leave, which wait for it. Whichever goroutine caused a record, or is telling Emit anyhow,
	// calls it, so it must not wait for others: only that goroutine waits for it, but that
	// may be one that reads. It must not change the Record. If 4096 wait, those that come
	// are lost, and a record says how many. nil: nobody wants to know.
	Emit func(*record.Record)

	// The following are called under the Sidecar's lock: they must neither wait nor
	// call back. nil: nobody wants to know. Noted gets each Record when it is made, in its
	// place among frames and lines: it is for simulations, who wants to know takes Emit.

	Noted    func(*record.Record)
	Told     func(approval.Act)     // what people at this machine may want to see of questions; see [engine.Told]
	TellHost func(line []byte)      // a line for the client that the server belongs to; see [engine.TellHost]
	Remember func(approval.Grant)   // a yes that is to last
	Look     func(engine.Look) bool // follows links, and reports whether [engine.Looked] will say where they lead; nil: nobody can tell
	Serving  func(engine.Serving)   // calls are served: after the first start of the server and after every later one

	// Now is the clock; nil: [time.Now]. It must not run backwards.
	Now func() time.Time
}

// orNothing puts a function that does nothing in place of one that was not given.
func orNothing[T any](f *func(T)) {
	if *f == nil {
		*f = func(T) {}
	}
}
