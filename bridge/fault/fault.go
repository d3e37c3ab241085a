// Package fault has the one error that knows how the program ends and what a
// person can do about it.
//
// A room that is used by a command returns a [*Error] where it knows more than that
// something went wrong: the exit code that the mistake stands for, and one or more
// hints. The command prints the sentence and the hints, and ends with the code;
// another program may read them with errors.As, or take the Error as any other.
//
// It imports nothing of ours, prints nothing and ends nothing.
package fault

import "fmt"

// Exit codes of mcpx-bridge (DESIGN 9).
const (
	Failed   = 1
	Misused  = 2 // the command line, the environment or the configuration file is wrong
	Server   = 3 // the server could not be started or kept up
	Gateway  = 4 // the gateway refused us
	Audit    = 5 // the audit log cannot be written
	Verify   = 6 // the audit log is not whole
	ID       = 7 // someone else uses our id, in the topic or on this machine
	Refused  = 8 // a call was refused or rejected
	NoAnswer = 9 // a call expired, or nobody answered

	Interrupted = 130 // by a signal, as a shell has it
)

// An Error is an error with an exit code, what somebody said to it, and hints. Its text is a
// sentence, lower case, without a full stop; so is each hint.
type Error struct {
	Exit int
	Said []string // what somebody says beside it, who it is in front; may be empty
	Hint []string // what a person can do; may be empty
	Err  error    // nil: all has been said already
}

// New returns an Error whose text is made as by [fmt.Errorf], so that %w wraps.
// hint may be empty. It is one hint whatever stands in it: names that others chose
// do, and a line break in one of them begins no other.
func New(exit int, hint, format string, args ...any) *Error {
	e := &Error{Exit: exit, Err: fmt.Errorf(format, args...)}
	return e.Also(hint)
}

// Misuse is [New] for what is wrong with the command line, the environment or the configuration
// file: [Misused].
func Misuse(hint, format string, args ...any) *Error { return New(Misused, hint, format, args...) }

// Also adds one hint behind the others and returns e; an empty one is none.
func (e *Error) Also(hint string) *Error {
	if hint != "" {
		e.Hint = append(e.Hint, hint)
	}
	return e
}

// Adding adds what somebody says and returns e; an empty text is none.
func (e *Error) Adding(said string) *Error {
	if said != "" {
		e.Said = append(e.Said, said)
	}
	return e
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Exit)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }
