package main

import (
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/asyncwriter"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A program is one invocation: the world it may touch, its settings and its
// log.
type program struct {
	env
	s   settings
	log *slog.Logger

	given []*pflag.Flag // those that the command line sets

	prompt    *prompt.Prompt          // asks whoever sits at our terminal; nil if nobody does, or is to be asked
	errors    *asyncwriter.Writer     // what stderr goes through, nil if it need not
	unprinted atomic.Pointer[failure] // why something could not be printed
}

// root is the command tree. Nothing of it outlives one invocation.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpx-bridge",
		Short: "Let the people and agents in a room use an MCP server, under your rules",
		Long: `Let the people and agents in a room use an MCP server, under your rules.

"run" starts an ordinary MCP server and takes a seat in a topic on its behalf.
The others there see its tools; what they may call, you decide. Without
--gateway everything on this machine meets in a topic of its own.`,
		Example: `  mcpx-bridge run --allow 'read_*' -- npx -y @modelcontextprotocol/server-filesystem /tmp
  mcpx-bridge tools
  mcpx-bridge call filesystem read_text_file path=/tmp/notes.txt`,
		Args:              noSuchCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return p.prepare(cmd) },
	}
	p.s.commonFlags(root.PersistentFlags())
	all := helpFlags(root.PersistentFlags())
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = p.print([]byte(help(cmd, *all))) }) // run knows if it fails
	root.CompletionOptions.DisableDefaultCmd = true                                                 // we have our own
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		p.runCommand(),
		p.attachCommand(),
		p.serveCommand(),
		p.gatewayCommand(),
		p.tokenCommand(),
		p.whoCommand(),
		p.toolsCommand(),
		p.callCommand(),
		p.proposeCommand(),
		p.withdrawCommand(),
		p.watchCommand(),
		p.approveCommand(),
		p.approvalsCommand(),
		p.grantsCommand(),
		p.policyCommand(),
		p.auditCommand(),
		p.clientCommand(),
		p.doctorCommand(),
		p.completionCommand(),
		p.versionCommand(),
	)
	for c := range below(root) {
		c.DisableFlagsInUseLine = true // they are in Use, where they belong
	}
	completeFlags(root)
	return root
}

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

// prepare runs before every command: settings first, then the log.
func (p *program) prepare(cmd *cobra.Command) error {
	p.log = slog.New(slog.DiscardHandler)
	if cmd.Name() == "help" || cmd.Name() == "completion" {
		return nil // a broken setting must not keep anybody from reading on
	}
	if err := p.settle(cmd); err != nil {
		return err
	}
	bridges := cmd.Name() == "run" || cmd.Name() == "attach"
	taken := bridges && (p.s.Stdio || attachedToUs(cmd))
	switch {
	case bridges && !p.s.JSON && !taken:
		p.attend(true)
	case cmd.Name() == "approve":
		p.attend(false)
	}
	if bridges || cmd.Name() == "gateway" || cmd.Name() == "serve" {
		p.errors = asyncwriter.New(p.stderr, logLinesLost) // they must not wait for who reads the log
		p.stderr = p.errors
	}
	if taken {
		p.stdout = p.stderr
	}
	log, err := newLog(p.stderr, p.s.LogLevel, p.s.LogFormat)
	if err != nil {
		return err
	}
	p.log = log
	p.strays(cmd.Root())
	return nil
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
			return misused("usage: "+cmd.UseLine(), "%s: something is missing", commandName(cmd))
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
		return "it takes a time, such as 30s or 5m"
	case strings.Contains(text, "ParseBool"):
		return "it takes true or false"
	case strings.Contains(text, "ParseInt"):
		return "it takes a whole number"
	}
	return "the value cannot be read"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func upperSnake(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
