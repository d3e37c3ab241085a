package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plainlog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Words to people, all on stderr:
//
//	mcpx-bridge: what went wrong, lower case, no full stop
//	mcpx-bridge: hint: what to do about it
//
// stdout carries only what was asked for. Whatever came from outside is shown
// through package text, so that nothing a stranger wrote can move the cursor.

// Exit codes (DESIGN 9).
const (
	exitDone     = 0
	exitFailed   = fault.Failed
	exitMisused  = fault.Misused
	exitServer   = fault.Server
	exitGateway  = fault.Gateway
	exitAudit    = fault.Audit
	exitVerify   = fault.Verify
	exitID       = fault.ID
	exitRefused  = fault.Refused
	exitNoAnswer = fault.NoAnswer

	exitInterrupted = fault.Interrupted
)

// errSignalled is the cause of a context that a signal ended.
var errSignalled = errors.New("told to stop")

// A failure is an error that knows how the program ends and what a person can
// do about it.
type failure = fault.Error

// fail ends a command with an exit code and a sentence; hint may be empty.
func fail(exit int, hint, format string, args ...any) *failure {
	return fault.New(exit, hint, format, args...)
}

// misused is a [failure] that the command line, the environment or the
// configuration file brought about.
func misused(hint, format string, args ...any) *failure {
	return fault.Misuse(hint, format, args...)
}

// complain prints err with its hints and returns the exit code it stands for.
func complain(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	f := failureOf(err)
	if f.Err == nil {
		return f.Exit
	}
	fmt.Fprintf(w, "mcpx-bridge: %s\n", text.Line(err.Error()))
	for _, said := range f.Said {
		fmt.Fprintf(w, "mcpx-bridge: %s\n", text.Line(said))
	}
	for _, h := range f.Hint {
		fmt.Fprintf(w, "mcpx-bridge: hint: %s\n", text.Line(h))
	}
	return f.Exit
}

// failureOf is err as a failure.
func failureOf(err error) *failure {
	f, ok := errors.AsType[*failure](err)
	switch {
	case ok:
		return f
	case errors.Is(err, errSignalled):
		return &failure{Exit: exitInterrupted, Err: err}
	}
	return &failure{Exit: exitFailed, Err: err}
}

func newLog(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil || strings.ContainsAny(level, "+-") {
		return nil, misused("it is debug, info, warn or error", "--log-level: %q is no level", level)
	}
	switch format {
	case "text":
		return slog.New(plainlog.New(w, l)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l})), nil
	}
	return nil, misused("it is text or json", "--log-format: %q is no format", format)
}
