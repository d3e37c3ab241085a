package help

import (
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Name is a command as it is typed behind the program's name: "audit show"; "" is the program
// itself.
func Name(c *cobra.Command) string {
	return strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), c.Root().Name()))
}

// Below are the commands of c and theirs, c itself left out.
func Below(c *cobra.Command) iter.Seq[*cobra.Command] {
	return func(yield func(*cobra.Command) bool) {
		for _, sub := range c.Commands() {
			if !yield(sub) {
				return
			}
			for deeper := range Below(sub) {
				if !yield(deeper) {
					return
				}
			}
		}
	}
}

// Settings are the flags of all commands that can come from a variable or a file, by name.
func Settings(root *cobra.Command) map[string]*pflag.Flag {
	known := map[string]*pflag.Flag{}
	note := func(f *pflag.Flag) {
		if IsSetting(f) {
			known[f.Name] = f
		}
	}
	root.PersistentFlags().VisitAll(note)
	for c := range Below(root) {
		c.Flags().VisitAll(note)
	}
	return known
}

// IsSetting reports whether a flag can come from a variable or a file: one that asks about
// the program cannot.
func IsSetting(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != "help-all" && f.Name != "version"
}
