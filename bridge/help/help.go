package help

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Width is how many columns a line of help has at most.
const Width = 80

// Further is the annotation with what --help-all says of a command beside its Long.
const Further = "further"

// Text is the help of a command: what one needs every day, or all of it. It is put
// together here and not by a template: text/template finds methods by name, and the
// linker then has to keep every exported method of every package, which is a third of
// the program.
func Text(c *cobra.Command, all bool) string {
	var b strings.Builder
	about := cmp.Or(c.Long, c.Short)
	if all {
		about += c.Annotations[Further]
	}
	fmt.Fprintln(&b, trimmed(folded(about)))
	switch {
	case !c.HasParent(): // the lists of commands say that
	case c.HasAvailableSubCommands():
		section(&b, "Usage", "  "+c.CommandPath()+" COMMAND [FLAGS]")
	default:
		section(&b, "Usage", "  "+c.UseLine())
	}
	section(&b, "Examples", wrapped(c.Example))
	commandSections(&b, c)
	hidden := flagSections(&b, c, all)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more of each.\n", c.CommandPath())
	}
	if !c.HasParent() {
		b.WriteString(rootMore)
	}
	if hidden > 0 {
		if c.HasParent() {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s --help-all says more, and lists %d more flags.\n", c.CommandPath(), hidden)
	}
	return b.String()
}

const rootMore = `Every flag is also a variable (--log-level: MCPX_LOG_LEVEL, but --gateway:
MCPX_GATEWAY_URL, and --id: MCPX_PARTICIPANT_ID) and a key in --config FILE.
`

// Flags are --help and --help-all, which any command takes in place of what else it may
// want. It returns whether it was the latter.
func Flags(f *pflag.FlagSet) (all *bool) {
	asked, all := f.BoolP("help", "h", false, "say what this command is for, and how it is used"), new(bool)
	f.BoolFunc("help-all", "the same, with all flags", func(string) error {
		*asked, *all = true, true
		return nil
	})
	return all
}

// Rarely is the annotation with the names of flags that this command needs rarely, though
// others need them every day.
const Rarely = "rarely"

// RareFor reports whether a flag is one that the command's --help leaves out.
func RareFor(c *cobra.Command, flag string) bool {
	return groupOf[flag] == forRare || slices.Contains(strings.Fields(c.Annotations[Rarely]), flag)
}

// groupFrom is from how many flags on a command shows them in groups.
const groupFrom = 8

// flagSections writes a command's flags, in groups if there are many, and returns how many
// it has left out.
func flagSections(b *strings.Builder, c *cobra.Command, all bool) (hidden int) {
	groups, count := map[string]*pflag.FlagSet{}, 0
	put := func(group string, f *pflag.Flag) {
		if groups[group] == nil {
			groups[group] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		groups[group].AddFlag(f)
	}
	c.LocalFlags().VisitAll(func(*pflag.Flag) { count++ })
	many := count >= groupFrom
	add := func(group string, f *pflag.Flag) {
		switch {
		case all:
			put(group, f)
		case RareFor(c, f.Name), many && group == forAll:
			hidden++
		case many:
			put(group, inBrief(f))
		default:
			put("", inBrief(f))
		}
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { add(groupOf[f.Name], f) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { add(forAll, f) })
	for _, group := range []string{"", forPeople, forServer, forRoom, forRare, forAll} {
		if flags := groups[group]; flags != nil {
			section(b, cmp.Or(group, "Flags"), flags.FlagUsagesWrapped(Width))
		}
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
	forAll    = "Flags of all commands"
)

var groupOf = func() map[string]string {
	of := map[string]string{}
	for group, names := range map[string]string{
		forPeople: "allow deny policy approver within answers inbox notify audit",
		forServer: "env cwd timeout start-timeout stdio gate-host",
		forRoom:   "gateway topic id token-file",
		forRare: "audit-keep-days audit-keep-size audit-sync config debug dialect env-clean env-pass fallback help help-all insecure " +
			"lenient-params listen log-format log-level max-calls max-name max-pending pace pin-id proposal-status proposal-style provides requires " +
			"server style token-command token-in-query tools-request trust-unverified-from",
	} {
		for name := range strings.FieldsSeq(names) {
			of[name] = group
		}
	}
	return of
}()

// Groups are the program's own commands, those of every day first. Each is in one.
var Groups = []struct {
	Title    string
	Commands []string
}{
	{"Every day", []string{"run", "tools", "call", "approve", "inbox", "who"}},
	{"Rules, answers and the record", []string{"policy", "approvals", "grants", "audit", "halt", "resume"}},
	{"Clients, proposals and other servers", []string{"client", "serve", "propose", "withdraw", "attach"}},
	{"The room, and this program", []string{"gateway", "token", "watch", "doctor", "completion", "version"}},
}

// commandSections lists the commands of c: the program's own in their groups.
func commandSections(b *strings.Builder, c *cobra.Command) {
	if c.HasParent() {
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		section(b, "Commands", commandList(c, names))
		return
	}
	for _, g := range Groups {
		section(b, g.Title, commandList(c, g.Commands))
	}
}

func commandList(c *cobra.Command, names []string) string {
	var b strings.Builder
	for _, name := range names {
		for _, sub := range c.Commands() {
			if sub.Name() == name && sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), name, sub.Short)
			}
		}
	}
	return b.String()
}

// section leaves out what is empty.
func section(b *strings.Builder, title, body string) {
	if body != "" {
		fmt.Fprintf(b, "\n%s:\n%s\n", title, trimmed(body))
	}
}

func trimmed(body string) string { return strings.TrimRightFunc(body, unicode.IsSpace) }

// folded sets paragraphs of prose anew that have too long a line. What is set in, as lists
// and examples are, stays.
func folded(prose string) string {
	var b, paragraph strings.Builder
	long := false
	end := func() {
		if long {
			fmt.Fprintln(&b, text.Fill(paragraph.String(), "", Width))
		} else {
			b.WriteString(paragraph.String())
		}
		paragraph.Reset()
		long = false
	}
	for line := range strings.Lines(prose) {
		if line == "\n" || line[0] == ' ' {
			end()
			b.WriteString(line)
			continue
		}
		paragraph.WriteString(line)
		long = long || utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > Width
	}
	end()
	return b.String()
}

// wrapped breaks long lines of shell as a shell lets one do that.
func wrapped(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		head, rest := cut(line, Width-len(` \`))
		for rest != "" {
			b.WriteString(head + " \\\n")
			head, rest = cut("      "+rest, Width-len(` \`))
		}
		b.WriteString(head)
	}
	return b.String()
}

// cut parts a line at the last space outside of quotes that leaves its head at most so
// wide; "" is the rest of one that is short, or has no such space.
func cut(line string, width int) (head, rest string) {
	if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= width {
		return line, ""
	}
	at, column, quote := 0, 0, rune(0)
	for i, r := range line {
		switch {
		case column >= width:
		case quote == 0 && r == ' ' && strings.TrimSpace(line[:i]) != "":
			at = i
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		}
		column++
	}
	if at == 0 {
		return line, ""
	}
	return line[:at], line[at+1:]
}
