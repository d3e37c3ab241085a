package main

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// help is the help of a command: what one needs every day, or all of it. It is put
// together here and not by a template: text/template finds methods by name, and the
// linker then has to keep every exported method of every package, which is a third of
// the program.
func help(c *cobra.Command, all bool) string {
	var b strings.Builder
	about := cmp.Or(c.Long, c.Short)
	if all {
		about += c.Annotations[further]
	}
	fmt.Fprintln(&b, trimmed(about))
	usage := c.UseLine()
	if c.HasAvailableSubCommands() {
		usage = c.CommandPath() + " COMMAND [FLAGS]"
	}
	section(&b, "Usage", "  "+usage)
	section(&b, "Examples", c.Example)
	section(&b, "Commands", commandList(c))
	hidden := flagSections(&b, c, all)
	switch {
	case hidden > 0:
		fmt.Fprintf(&b, "\nmcpx-bridge %s --help-all says more, and lists %d more flags.\n", pathBelow(c), hidden)
	case c.HasAvailableSubCommands():
		fmt.Fprintf(&b, helpMore, c.CommandPath())
	}
	return b.String()
}

// helpFlags are --help and --help-all, which any command takes in place of what else it
// may want. It returns whether it was the latter.
func helpFlags(f *pflag.FlagSet) (all *bool) {
	asked, all := f.BoolP("help", "h", false, "say what this command is for, and how it is used"), new(bool)
	f.BoolFunc("help-all", "the same, with all flags", func(string) error {
		*asked, *all = true, true
		return nil
	})
	return all
}

// isHelp reports whether a flag is no setting.
func isHelp(f *pflag.Flag) bool { return f.Name == "help" || f.Name == "help-all" }

// further is the annotation with what --help-all says of a command beside its Long.
const further = "further"

// pathBelow is how a command is called, without the program's name.
func pathBelow(c *cobra.Command) string {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	return path
}

// hideFrom is from how many flags on a command's help leaves out those that are rarely
// needed.
const hideFrom = 8

// flagSections writes a command's flags, in groups if there are many, and returns how many
// it has left out.
func flagSections(b *strings.Builder, c *cobra.Command, all bool) (hidden int) {
	groups, count := map[string]*pflag.FlagSet{}, 0
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		group := groupOf[f.Name]
		if groups[group] == nil {
			groups[group] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		if !all {
			f = inBrief(f)
		}
		groups[group].AddFlag(f)
		count++
	})
	if count < hideFrom {
		section(b, "Flags", c.LocalFlags().FlagUsagesWrapped(helpWidth))
		section(b, "Flags of all commands", c.InheritedFlags().FlagUsagesWrapped(helpWidth))
		return 0
	}
	for _, group := range []string{"", forPeople, forServer, forRoom, forRare} {
		flags := groups[group]
		switch {
		case flags == nil:
		case group == forRare && !all:
			flags.VisitAll(func(*pflag.Flag) { hidden++ })
		default:
			section(b, cmp.Or(group, "Flags"), flags.FlagUsagesWrapped(helpWidth))
		}
	}
	if all {
		section(b, "Flags of all commands", c.InheritedFlags().FlagUsagesWrapped(helpWidth))
	} else {
		c.InheritedFlags().VisitAll(func(*pflag.Flag) { hidden++ })
	}
	return hidden
}

// inBrief is a flag that says what it is for and not all there is to it.
func inBrief(f *pflag.Flag) *pflag.Flag {
	brief := *f
	brief.Usage, _, _ = strings.Cut(f.Usage, "; ")
	return &brief
}

// The groups in which a command with many flags shows them. What is in none comes first.
const (
	forPeople = "What may run, and who decides"
	forServer = "The server"
	forRoom   = "The topic"
	forRare   = "Rarely needed"
)

var groupOf = func() map[string]string {
	of := map[string]string{}
	for group, names := range map[string]string{
		forPeople: "allow deny policy approver within",
		forServer: "env cwd timeout stdio",
		forRoom:   "gateway topic id token-file",
		forRare: "answers audit audit-keep-days audit-keep-size audit-sync debug dialect env-clean env-pass fallback gate-host insecure lenient-params listen " +
			"max-calls max-name max-pending pace pin-id proposal-status proposal-style provides requires server start-timeout style " +
			"token-command token-in-query tools-request trust-unverified-from",
	} {
		for name := range strings.FieldsSeq(names) {
			of[name] = group
		}
	}
	return of
}()

const helpWidth = 80 // columns

const helpMore = `
Every flag is also a variable (--log-level: MCPX_LOG_LEVEL, but --gateway:
MCPX_GATEWAY_URL and --id: MCPX_PARTICIPANT_ID) and a key in the file of --config.
"%s COMMAND --help" says more.
`

// section leaves out what is empty.
func section(b *strings.Builder, title, text string) {
	if text != "" {
		fmt.Fprintf(b, "\n%s:\n%s\n", title, trimmed(text))
	}
}

func commandList(c *cobra.Command) string {
	var b strings.Builder
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
	return b.String()
}

func trimmed(text string) string { return strings.TrimRightFunc(text, unicode.IsSpace) }
