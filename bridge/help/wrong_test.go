package help

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
)

// wrongWith is what a command line is told, with its hints, "" if nothing.
func wrongWith(t *testing.T, c *cobra.Command, words ...string) string {
	root := &cobra.Command{Use: "mcpx-bridge", SilenceErrors: true, SilenceUsage: true}
	c.RunE = func(*cobra.Command, []string) error { return nil }
	c.SetFlagErrorFunc(FlagError)
	root.AddCommand(c)
	root.SetArgs(append([]string{c.Name()}, words...))
	err := root.Execute()
	if err == nil {
		return ""
	}
	f, is := errors.AsType[*fault.Error](err)
	if !is || f.Exit != fault.Misused {
		t.Fatalf("%q: %v is no misuse", words, err)
	}
	return fmt.Sprint(f, " | ", strings.Join(f.Hint, " | "))
}

func TestPositional(t *testing.T) {
	for words, want := range map[string]string{
		"":        "propose: PEER is missing | mcpx-bridge who lists them | usage: mcpx-bridge propose [FLAGS] PEER TOOL",
		"a":       "propose: TOOL is missing | mcpx-bridge tools a lists them | usage: mcpx-bridge propose [FLAGS] PEER TOOL",
		"a,b":     "",
		"a,b,c":   `propose: "c" is one argument too many | usage: mcpx-bridge propose [FLAGS] PEER TOOL`,
		"a,,":     `propose: "" is one argument too many | usage: mcpx-bridge propose [FLAGS] PEER TOOL`,
		"a,-- --": "",
	} {
		var all []string
		if words != "" {
			all = strings.Split(words, ",")
		}
		c := &cobra.Command{Use: "propose [FLAGS] PEER TOOL", Args: Positional(2, 2), DisableFlagParsing: true, DisableFlagsInUseLine: true}
		if got := wrongWith(t, c, all...); got != want {
			t.Errorf("%q: %s", words, got)
		}
	}
	empty := &cobra.Command{Use: "who [PEER]", Args: Positional(0, 1), DisableFlagsInUseLine: true}
	if got, want := wrongWith(t, empty, ""), "who: argument 1 is empty | "+EmptyHint+" | usage: mcpx-bridge who [PEER]"; got != want {
		t.Errorf("an empty word: %s", got)
	}
	server := &cobra.Command{Use: "run [FLAGS] -- CMD [ARG…]", Args: Positional(1, -1)}
	if got := wrongWith(t, server, "--", "x", ""); got != "" {
		t.Errorf("an empty word of a server: %s", got)
	}
}

func TestFlagErrors(t *testing.T) {
	for words, want := range map[string]string{
		"--timeout 5s":     "",
		"--timeout HUSH":   "--timeout: ",
		"--timeout":        "--timeout needs a value | ",
		"--timeuot 5s":     "call has no flag --timeuot | did you mean --timeout?",
		"-timeout 5s":      "call has no flag -t | did you mean --timeout?",
		"-xyz":             "call has no flag -x | mcpx-bridge call --help lists the flags",
		"--nothing=HUSH":   "call has no flag --nothing | mcpx-bridge call --help lists the flags",
		"--token HUSH":     "there is no flag --token | " + TokenHint,
		"--token-fil=HUSH": "there is no flag --token | " + TokenHint,
		"--=HUSH":          "a flag is spelled wrongly | flags look like --name VALUE; mcpx-bridge call --help lists them",
	} {
		c := &cobra.Command{Use: "call"}
		c.Flags().Duration("timeout", 0, "wait for `TIME`")
		got := wrongWith(t, c, strings.Fields(words)...)
		if strings.Contains(got, "HUSH") || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s", words, got)
		}
	}
}
