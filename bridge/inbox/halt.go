package inbox

import (
	"context"
	"errors"
)

// A Halter is an Inbox of a bridge that the person at this machine can halt. Nobody else can:
// what leaves this machine is no Halter.
type Halter interface {
	Inbox

	// Halt has nothing start any more, and returns how the bridge is halted: as h says, or
	// since somebody did before. After an error it is halted, if Halted says so, and may
	// not be after a restart.
	Halt(ctx context.Context, h Halt) (Halted, error)

	// Resume lets things start again, and returns when they do. After a [*Refusal] the bridge
	// is halted still; after another error it may be, or may be after a restart.
	Resume(ctx context.Context, reason string) error
}

// A Halt is how a bridge is to be halted.
type Halt struct {
	Reason string `json:"reason"`           // in the words of who does it; callers read it, less what the policy hides
	Cancel bool   `json:"cancel,omitempty"` // tell the server to end what it is at, too
}

// MaxReason is how many characters are kept of a reason.
const MaxReason = 500

// ErrNotHaltable is the error of whoever is asked to halt what is no bridge of this machine.
var ErrNotHaltable = errors.New("this inbox belongs to no bridge that could be halted")
