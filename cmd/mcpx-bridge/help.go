package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// help is the whole help of a command. It is put together here and not by a
// template: text/template finds methods by name, and the linker then has to
// keep every exported method of every package, which is a third of the program.
func help(c *cobra.Command) string {
	var b strings.Builder
	about := c.Long
	if about == "" {
		about = c.Short
	}
	fmt.Fprintln(&b, trimmed(about))
	usage := c.UseLine()
	if c.HasAvailableSubCommands() {
		usage = c.CommandPath() + " COMMAND [FLAGS]"
	}
	section(&b, "Usage", "  "+usage)
	section(&b, "Examples", c.Example)
	section(&b, "Commands", commandList(c))
	section(&b, "Flags", c.LocalFlags().FlagUsagesWrapped(helpWidth))
	section(&b, "Flags of all commands", c.InheritedFlags().FlagUsagesWrapped(helpWidth))
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, helpMore, c.CommandPath())
	}
	return b.String()
}

const helpWidth = 100 // columns

const helpMore = `
Every flag is also a variable (--log-level: MCPX_LOG_LEVEL, but --gateway: MCPX_GATEWAY_URL and
--id: MCPX_PARTICIPANT_ID) and a key in the file of --config.
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
