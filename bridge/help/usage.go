package help

import (
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/spf13/cobra"
)

var (
	optional = text.Pattern(`\[[^][]*\]`)              // innermost first
	choice   = text.Pattern(`\(([^()|]*)\|[^()]*\)`)   // of several ways to say it the first is named
	word     = text.Pattern(`^[A-Z][A-Z-]*(?:…)?$`)    // FILE…
	byFlag   = text.Pattern(`--[a-z-]+(?: [A-Z]+\b)?`) // --policy FILE is looked after by the command
)

// Missing is the first argument that a command line lacks, as the command's Use calls it,
// and what lists what it can be. It is "" if nothing is missing that Use asks for.
func Missing(c *cobra.Command, args []string) (name, hint string) {
	needed := required(c.Use)
	if len(args) >= len(needed) {
		return "", ""
	}
	name = needed[len(args)]
	return name, lister(c, name, args)
}

// required are the arguments that a Use does not put into brackets.
func required(use string) (names []string) {
	for strings.Contains(use, "[") {
		less := optional().ReplaceAllString(use, "")
		if less == use {
			break
		}
		use = less
	}
	use = byFlag().ReplaceAllString(choice().ReplaceAllString(use, "$1"), "")
	use, _, _ = strings.Cut(use, " -- ")
	for _, w := range strings.Fields(use)[1:] {
		if word().MatchString(w) {
			names = append(names, strings.TrimSuffix(w, "…"))
		}
	}
	return slices.Clip(names)
}

// lister says where people find what an argument can be; "" if nothing lists it.
func lister(c *cobra.Command, name string, args []string) string {
	program := c.Root().Name()
	switch name {
	case "PEER":
		return program + " who lists them"
	case "TOOL":
		return program + " " + strings.Join(append([]string{"tools"}, args...), " ") + " lists them"
	case "NAME", "SERVER":
		return program + " client list lists them"
	case "ID":
		return c.Parent().CommandPath() + " list lists them"
	case "PROPOSAL":
		return program + " propose says it when it begins"
	case "ENDPOINT":
		return c.CommandPath() + " --help lists the forms"
	case "SHELL":
		return "it is bash, zsh, fish or powershell"
	}
	return ""
}
