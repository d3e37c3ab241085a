package help

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// EmptyHint is for a word that is empty.
const EmptyHint = "is there a variable that the shell does not know?"

// TokenHint is for whoever writes a token where others can read it.
const TokenHint = "process lists are public: put the token into MCPX_AUTH_TOKEN, --token-file or --token-command"

// NoSuchCommand is for commands that take no arguments but other commands: what they are given
// is none of these.
func NoSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	hint := cmp.Or(policy.Meant(args[0], names), c.CommandPath()+" --help lists the commands")
	return fault.Misuse(hint, "there is no command %q", strings.TrimSpace(Name(c)+" "+args[0]))
}

// Positional checks how many arguments there are, at most -1 for any number, and that none is
// empty but in the command of a server; usage says what they should be.
func Positional(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			name, hint := Missing(c, args)
			return fault.Misuse(hint, "%s: %s is missing", Name(c), name).Also("usage: " + c.UseLine())
		case most >= 0 && len(args) > most:
			return fault.Misuse("usage: "+c.UseLine(), "%s: %q is one argument too many", Name(c), args[most])
		}
		if strings.Contains(c.Use, "CMD") { // a server's words may be empty
			args = args[:max(c.ArgsLenAtDash(), 0)]
		}
		if i := slices.Index(args, ""); i >= 0 {
			return fault.Misuse(EmptyHint, "%s: argument %d is empty", Name(c), i+1).Also("usage: " + c.UseLine())
		}
		return nil
	}
}

// InUTF8 is for arguments, and flags of these names, that others are to read: JSON has no room
// for other bytes, and what would stand in their place is not what was typed.
func InUTF8(check cobra.PositionalArgs, flags ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if i := slices.IndexFunc(args, func(a string) bool { return !utf8.ValidString(a) }); i >= 0 {
			return fault.Misuse("write it in UTF-8", "%s: argument %d is not valid UTF-8", Name(c), i+1)
		}
		for _, name := range flags {
			if !utf8.ValidString(c.Flag(name).Value.String()) {
				return fault.Misuse("write it in UTF-8", "--%s: what it says is not valid UTF-8", name)
			}
		}
		return check(c, args)
	}
}

// FlagError words what pflag found. It never repeats a value: it may be a secret.
func FlagError(c *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(c, e)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fault.Misuse(FlagHint(e.GetFlag()), "--%s: %s", e.GetFlag().Name, Reason(err))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fault.Misuse(FlagHint(e.GetFlag()), "--%s needs a value", e.GetFlag().Name)
	}
	return fault.Misuse("flags look like --name VALUE; "+c.CommandPath()+" --help lists them", "a flag is spelled wrongly")
}

func unknownFlag(c *cobra.Command, e *pflag.NotExistError) error {
	name, dashes := e.GetSpecifiedName(), "--"
	if short := e.GetSpecifiedShortnames(); short != "" {
		dashes = "-"
		name = short[:strings.IndexFunc(short+"=", func(r rune) bool { return !unicode.IsLetter(r) && r != '-' })]
	}
	if strings.HasPrefix(name, "token") || dashes == "-" && strings.HasPrefix(name, "t") {
		if c.Flags().Lookup("token-file") != nil || strings.HasPrefix(name, "token") {
			return fault.Misuse(TokenHint, "there is no flag --token")
		}
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	meant := name
	if dashes == "--" {
		meant = policy.Nearest(name, known)
	} else {
		name = name[:min(1, len(name))]
	}
	hint := c.CommandPath() + " --help lists the flags"
	if slices.Contains(known, meant) {
		hint = "did you mean --" + meant + "?"
	}
	return fault.Misuse(hint, "%s has no flag %s%s", c.Name(), dashes, name)
}

// FlagHint says what a flag wants, from its help.
func FlagHint(f *pflag.Flag) string {
	what, usage := pflag.UnquoteUsage(f)
	return strings.TrimSpace("--"+f.Name+" "+what) + ": " + usage
}

// Reason is the cause of a refused value without the value.
func Reason(err error) string {
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
