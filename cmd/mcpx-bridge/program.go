package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/asyncwriter"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plainlog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
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

	// reload is sent to when the person wants settings read again; nobody need
	// listen. Nil means never.
	reload <-chan struct{}

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

	countdown *plainlog.Countdown     // shows at our terminal what a call waits for; nil if that is none
	prompt    *prompt.Prompt          // asks whoever sits at our terminal; nil if nobody does, or is to be asked
	errors    *asyncwriter.Writer     // what stderr goes through, nil if it need not
	unprinted atomic.Pointer[failure] // why something could not be printed
}

// print writes to stdout. Its first failure is how the program ends, whether or
// not the caller passes it on. That nobody reads any more is no news to anybody.
// Of JSON, every character that a terminal would act upon is escaped (FINDINGS L8).
func (p *program) print(out []byte) error {
	if p.s.JSON {
		out = text.EscapeJSON(out)
	}
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

// noSuchCommand is for commands that take no arguments but other commands: what
// they are given is none of these.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	hint := cmd.CommandPath() + " --help lists the commands"
	if meant := policy.Nearest(args[0], names); meant != "" {
		hint = "did you mean " + meant + "?"
	}
	return misused(hint, "there is no command %q", strings.TrimSpace(commandName(cmd)+" "+args[0]))
}

// commandName is a command as it is typed behind the program's name: "audit
// show"; "" is the program itself.
func commandName(cmd *cobra.Command) string {
	return strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()))
}

// positional checks how many arguments there are, and that none is empty but in the command of a
// server; usage says what they should be.
func positional(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			name, hint := help.Missing(cmd, args)
			return misused(hint, "%s: %s is missing", commandName(cmd), name).Also("usage: " + cmd.UseLine())
		case most >= 0 && len(args) > most:
			return misused("usage: "+cmd.UseLine(), "%s: %q is one argument too many", commandName(cmd), args[most])
		}
		if strings.Contains(cmd.Use, "CMD") { // a server's words may be empty
			args = args[:max(cmd.ArgsLenAtDash(), 0)]
		}
		if i := slices.Index(args, ""); i >= 0 {
			return misused(emptyHint, "%s: argument %d is empty", commandName(cmd), i+1).Also("usage: " + cmd.UseLine())
		}
		return nil
	}
}

// inUTF8 is for arguments, and flags of these names, that others are to read: JSON
// has no room for other bytes, and what would stand in their place is not what was
// typed.
func inUTF8(check cobra.PositionalArgs, flags ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if i := slices.IndexFunc(args, func(a string) bool { return !utf8.ValidString(a) }); i >= 0 {
			return misused("write it in UTF-8", "%s: argument %d is not valid UTF-8", commandName(cmd), i+1)
		}
		for _, name := range flags {
			if !utf8.ValidString(cmd.Flag(name).Value.String()) {
				return misused("write it in UTF-8", "--%s: what it says is not valid UTF-8", name)
			}
		}
		return check(cmd, args)
	}
}

const emptyHint = "is there a variable that the shell does not know?"

const tokenHint = "process lists are public: put the token into MCPX_AUTH_TOKEN, --token-file or --token-command"

// flagError words what pflag found. It never repeats a value: it may be a
// secret.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, e)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return misused(flagHint(e.GetFlag()), "--%s: %s", e.GetFlag().Name, reason(err))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return misused(flagHint(e.GetFlag()), "--%s needs a value", e.GetFlag().Name)
	}
	return misused("flags look like --name VALUE; "+cmd.CommandPath()+" --help lists them", "a flag is spelled wrongly")
}

func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) error {
	name, dashes := e.GetSpecifiedName(), "--"
	if short := e.GetSpecifiedShortnames(); short != "" {
		dashes = "-"
		name = short[:strings.IndexFunc(short+"=", func(r rune) bool { return !unicode.IsLetter(r) && r != '-' })]
	}
	if strings.HasPrefix(name, "token") || dashes == "-" && strings.HasPrefix(name, "t") {
		if cmd.Flags().Lookup("token-file") != nil || strings.HasPrefix(name, "token") {
			return misused(tokenHint, "there is no flag --token")
		}
	}
	hint := cmd.CommandPath() + " --help lists the flags"
	if dashes == "-" {
		if cmd.Flags().Lookup(name) != nil {
			hint = "did you mean --" + name + "?"
		}
		name = name[:min(1, len(name))]
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if meant := policy.Nearest(name, known); meant != "" && dashes == "--" {
		hint = "did you mean --" + meant + "?"
	}
	return misused(hint, "%s has no flag %s%s", cmd.Name(), dashes, name)
}

// flagHint says what a flag wants, from its help.
func flagHint(f *pflag.Flag) string {
	what, usage := pflag.UnquoteUsage(f)
	return strings.TrimSpace("--"+f.Name+" "+what) + ": " + usage
}

// reason is the cause of a refused value without the value.
func reason(err error) string {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = e.Unwrap()
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "duration"):
		return "it takes a time, such as 30s, 5m or 2d"
	case strings.Contains(text, "ParseBool"):
		return "it takes true or false"
	case strings.Contains(text, "ParseInt"):
		return "it takes a whole number"
	}
	return "the value cannot be read"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// below are the commands of c and theirs, c itself left out.
func below(c *cobra.Command) iter.Seq[*cobra.Command] {
	return func(yield func(*cobra.Command) bool) {
		for _, sub := range c.Commands() {
			if !yield(sub) {
				return
			}
			for deeper := range below(sub) {
				if !yield(deeper) {
					return
				}
			}
		}
	}
}

// startIsOver gives back to the system, once, what only the start needed: some
// two megabytes that libraries prepare themselves with, more where a policy is
// compiled or a log read back. A bridge that nobody calls collects no garbage by
// itself. It takes some milliseconds.
func startIsOver() { debug.FreeOSMemory() }
