package engine

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// An Effect is something that is to be done. The shell carries effects out in
// the order in which Step returns them.
type Effect interface{ effect() }

type (
	// Send puts a frame on its way to the topic.
	Send struct {
		Class    wire.Class
		Envelope *wire.Envelope // what Frame says
		Frame    []byte         // belongs to whoever carries out the effect

		// Result: a server's answer to a call, which leaves when the Note
		// before it is on record. If it cannot be put there, the frame does not
		// leave, and Unrecorded says so.
		Result bool
		Of     string // that call, as it is on record
	}

	// Write puts one line, without its newline, on its way to the server.
	Write struct {
		Call uint64 // our id of the request; 0 if the line is none
		Line []byte // belongs to whoever carries out the effect
	}

	// TellHost lets the client that the server belongs to hear one line,
	// without its newline.
	TellHost struct{ Line []byte }

	// Restart ends the server and starts it again.
	Restart struct{ Why string }

	// Note puts an event before the owner: log, --json, audit. Nobody changes
	// the Record any more.
	Note struct{ Record *record.Record }

	// Serving says that the server's tools are known: from now on calls are
	// served. It comes once after each start of the server.
	Serving struct {
		Tools int
		PID   int
	}

	// Sync puts all records so far on disk and says so with Synced.
	Sync struct{ Ticket uint64 }

	// Told is what people at this machine may want to see: a question that is
	// put to them or taken away, what somebody said to one, how one ended. It
	// is a Show, Close, Noted or Settled.
	Told struct{ Act approval.Act }

	// Remember: a lasting yes is to be kept.
	Remember struct{ Grant approval.Grant }

	// Idle says, at the end of each Step after Stopping, that no call is left.
	Idle struct{}
)

func (Send) effect()     {}
func (Write) effect()    {}
func (TellHost) effect() {}
func (Restart) effect()  {}
func (Note) effect()     {}
func (Serving) effect()  {}
func (Sync) effect()     {}
func (Told) effect()     {}
func (Remember) effect() {}
func (Idle) effect()     {}
