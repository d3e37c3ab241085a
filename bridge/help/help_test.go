package help

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/shlex"
	"github.com/spf13/cobra"
)

// An example that is broken in lines is the same command to a shell, and none of its lines
// is too long if it can be helped.
func TestABrokenExampleIsTheSameCommand(t *testing.T) {
	for _, line := range []string{
		`  mcpx-bridge run --allow 'read_*' --allow 'list_*' -- npx -y @modelcontextprotocol/server-filesystem /tmp` + "\n",
		`  mcpx-bridge call memory create_entities 'entities:=[{"name": "a b", "entityType": "c d", "observations": []}]' --json` + "\n",
		`  mcpx-bridge ` + strings.Repeat("word ", 50) + "\n",
		"  short\n",
	} {
		broken := wrapped(line)
		want, _ := shlex.Split(line)
		got, err := shlex.Split(strings.ReplaceAll(broken, "\\\n", " "))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v", broken, err)
		}
		for l := range strings.Lines(broken) {
			if utf8.RuneCountInString(l) > Width+1 && !strings.Contains(l, "entities:=") {
				t.Errorf("too long: %q", l)
			}
		}
	}
}

func TestMissing(t *testing.T) {
	root := &cobra.Command{Use: "mcpx-bridge"}
	for use, want := range map[string]string{
		"call [FLAGS] (PEER TOOL | NAME) [JSON | - | KEY=VALUE…]":           "PEER TOOL",
		"propose [FLAGS] [PEER] TOOL [JSON | - | KEY=VALUE…]":               "TOOL",
		"install NAME [FLAGS] [-- CMD [ARG…]]":                              "NAME",
		"explain [FLAGS] --policy FILE TOOL [JSON | - | KEY=VALUE…]":        "TOOL",
		"revoke [FLAGS] ID…":                                                "ID",
		"token --id ID [--topic TOPIC] [--role ROLE | --can KIND…] [--ttl]": "",
	} {
		c := &cobra.Command{Use: use}
		root.AddCommand(c)
		var all, args []string
		for {
			name, _ := Missing(c, args)
			if name == "" {
				break
			}
			all, args = append(all, name), append(args, "x")
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("%s needs %q, want %q", use, got, want)
		}
	}
}
