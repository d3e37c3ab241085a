package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/asyncwriter"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plainlog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/signals"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// An env is everything a command may touch of the world around it.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	environ        func() []string

	// hurry ends when the person will not wait any longer: at the second
	// signal. Nil means that nobody is in a hurry.
	hurry context.Context

	// reload is told when the person wants the policy read again. Nil means never.
	reload *signals.Reloads

	// alone: nothing else runs in this process, so that every child that nobody
	// here waits for is one that the server has left behind.
	alone bool
}

// A program is one invocation: the world it may touch, its settings and its
// log.
type program struct {
	env
	s   settings
	log *slog.Logger

	given []*pflag.Flag // those that the command line sets

	countdown    *plainlog.Countdown     // shows at our terminal what a call waits for; nil if that is none
	prompt       *prompt.Prompt          // asks whoever sits at our terminal; nil if nobody does, or is to be asked
	errors       *asyncwriter.Writer     // what stderr goes through, nil if it need not
	lookedOn     bool                    // stderr is a terminal, whatever it goes through
	readByOthers bool                    // stdout or stderr is a file that others can read
	unprinted    atomic.Pointer[failure] // why something could not be printed
	printed      atomic.Bool             // something was, or that was tried
	promised     bool                    // with --json exactly one object is printed, be it of a failure
}

// gave reports whether the command line sets a flag.
func (p *program) gave(name string) bool {
	return slices.ContainsFunc(p.given, func(f *pflag.Flag) bool { return f.Name == name })
}

// print writes to stdout. Its first failure is how the program ends, whether or
// not the caller passes it on. That nobody reads any more is no news to anybody.
// Of JSON, every character that a terminal would act upon is escaped (FINDINGS L8).
func (p *program) print(out []byte) error {
	if p.s.JSON {
		out = text.EscapeJSON(out)
	}
	p.printed.Store(true)
	_, err := p.stdout.Write(out)
	if err == nil {
		return nil
	}
	f := &failure{Exit: exitFailed}
	if !errors.Is(err, syscall.EPIPE) {
		f = fail(exitFailed, "is there room on the disk?", "stdout: %w", err)
	}
	p.unprinted.CompareAndSwap(nil, f)
	return f
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// startIsOver gives back to the system, once, what only the start needed: some
// two megabytes that libraries prepare themselves with, more where a policy is
// compiled or a log read back. A bridge that nobody calls collects no garbage by
// itself. It takes some milliseconds.
func startIsOver() { debug.FreeOSMemory() }
