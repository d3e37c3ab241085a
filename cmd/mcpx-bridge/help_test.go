package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/shlex"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
)

// The help of every command is a file that people can read and review.
func TestHelpIsAsWritten(t *testing.T) {
	for _, command := range commands() {
		name := "mcpx-bridge"
		if len(command) > 0 {
			name = strings.Join(command, "-")
		}
		golden(t, filepath.Join("testdata", "help", name+".txt"), []byte(helpOf(t, append(command, "--help")...)))
	}
}

// commands are all that there are, in the words that are typed behind the program's name;
// the program itself first.
func commands() (all [][]string) {
	all = append(all, nil)
	for c := range help.Below((&program{}).root()) {
		all = append(all, strings.Fields(help.Name(c)))
	}
	return all
}

// helpOf is what a command prints.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(context.Background(), args, env{stdin: &bytes.Buffer{}, stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }, environ: func() []string { return nil }})
	if code != 0 || errs.Len() > 0 {
		t.Errorf("%q: exit code %d, stderr %q", args, code, errs.String())
	}
	return out.String()
}

// Who asks what a command is for reads two screens, and none of their lines is broken.
func TestHelpFitsOnTwoScreens(t *testing.T) {
	const lines, columns = 2 * 24, 80
	for _, command := range commands() {
		text := helpOf(t, append(command, "--help")...)
		if n := strings.Count(text, "\n"); n > lines {
			t.Errorf("%q: it has %d lines", command, n)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns && !strings.HasPrefix(line, "  "+strings.Join(append([]string{"mcpx-bridge"}, command...), " ")) {
				t.Errorf("%q: %d columns: %s", command, n, line)
			}
		}
	}
}

// Who reads that "we" do something cannot tell the bridge, its command and its server from each other.
func TestHelpNamesWhoDoesIt(t *testing.T) {
	unnamed := regexp.MustCompile(`(?i)\b(we|us|ours?)\b`)
	for _, command := range commands() {
		if found := unnamed.FindString(helpOf(t, append(command, "--help-all")...)); found != "" {
			t.Errorf("%q says %q: name the bridge, the command or the server", command, found)
		}
	}
}

// A command that lacks an argument says which.
func TestWhatIsMissingHasItsName(t *testing.T) {
	root := (&program{}).root()
	checked := 0
	for c := range help.Below(root) {
		err := c.ValidateArgs(nil)
		if c.Runnable() && err != nil && strings.Contains(err.Error(), "missing") {
			if checked++; !regexp.MustCompile(`^[a-z ]+: [A-Z]+ is missing$`).MatchString(err.Error()) {
				t.Error(err)
			}
		}
	}
	if checked < 12 {
		t.Errorf("%d commands say what is missing", checked)
	}
}

// Each command has an example, and whatever its examples have the program do it takes.
func TestEveryExampleIsACommandLine(t *testing.T) {
	for _, command := range commands() {
		of, _, err := (&program{}).root().Find(command)
		if err != nil {
			t.Fatal(err)
		}
		own := false
		for line := range strings.Lines(strings.ReplaceAll(of.Example, "\\\n", " ")) {
			called, err := taken(line)
			if err != nil {
				t.Errorf("%q: %s: %v", command, strings.TrimSpace(line), err)
			}
			own = own || strings.HasPrefix(called+" ", help.Name(of)+" ") || called != "" && len(command) == 0
		}
		if !own {
			t.Errorf("%q has no example of itself", command)
		}
	}
}

// taken is the command of ours that a line of shell calls, "" if it calls none.
func taken(line string) (called string, err error) {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "source <("), ")")
	words, err := shlex.Split(regexp.MustCompile(` [|>] .*$`).ReplaceAllString(line, ""))
	if err != nil || len(words) == 0 || words[0] != "mcpx-bridge" {
		return "", err
	}
	c, args, err := (&program{}).root().Find(words[1:])
	if err != nil {
		return "", err
	}
	if err := c.ParseFlags(args); err != nil {
		return "", err
	}
	return help.Name(c), c.ValidateArgs(c.Flags().Args())
}

// The program's own commands are each in one group, and no group has others.
func TestEveryCommandIsInOneGroup(t *testing.T) {
	var grouped, there []string
	for _, g := range help.Groups {
		grouped = append(grouped, g.Commands...)
	}
	for _, c := range (&program{}).root().Commands() {
		if c.IsAvailableCommand() {
			there = append(there, c.Name())
		}
	}
	slices.Sort(grouped)
	if slices.Sort(there); !slices.Equal(grouped, there) {
		t.Errorf("in groups are\n%q, there are\n%q", grouped, there)
	}
}

// All that a command takes is said by --help-all, and so is all that --help says.
func TestAllHelpHasEveryFlag(t *testing.T) {
	for _, command := range []string{"run", "attach", "serve", "doctor", "propose"} {
		brief, all := helpOf(t, command, "--help"), helpOf(t, command, "--help-all")
		c, _, err := (&program{}).root().Find([]string{command})
		if err != nil {
			t.Fatal(err)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(all, "--"+f.Name+" ") {
				t.Errorf("%s --help-all does not say --%s", command, f.Name)
			}
			if hidden := help.RareFor(c, f.Name); hidden == strings.Contains(brief, "      --"+f.Name+" ") {
				t.Errorf("%s --help and --%s: hidden is %v", command, f.Name, hidden)
			}
		})
		if !strings.Contains(brief, command+" --help-all says more") {
			t.Errorf("%s --help does not say that there is more", command)
		}
	}
	if text := helpOf(t, "run", "--help-all"); !strings.Contains(text, "With --gate-host your rules judge") {
		t.Error("run --help-all does not say all that there is to say")
	}
}

// docs/commands.md has every exit code, and none that nothing ends with.
func TestExitCodesAreInATable(t *testing.T) {
	var codes []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| .`).FindAllStringSubmatch(page(t, "commands.md"), -1) {
		codes = append(codes, m[1])
	}
	var want []string
	for _, code := range []int{exitDone, exitFailed, exitMisused, exitServer, exitGateway, exitAudit, exitVerify, exitID, exitRefused, exitNoAnswer, fault.Interrupted} {
		want = append(want, strconv.Itoa(code))
	}
	if !slices.Equal(codes, want) {
		t.Errorf("the table has %q, want %q", codes, want)
	}
}

// The times of docs/glossary.md that a flag changes are what the flag is without that.
func TestTimesInTheTableAreThoseOfTheFlags(t *testing.T) {
	unit := map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour}
	rows := regexp.MustCompile("(?m)^\\|[^|]*\\|[^|]*?(\\d+) (second|minute|hour)s?[^|]*\\| `([a-z]+) --([a-z-]+)`").FindAllStringSubmatch(page(t, "glossary.md"), -1)
	if len(rows) < 8 {
		t.Fatalf("%d rows name a flag", len(rows))
	}
	for _, row := range rows {
		c, _, err := (&program{}).root().Find([]string{row[3]})
		if err != nil {
			t.Fatal(err)
		}
		f := c.Flags().Lookup(row[4])
		if f == nil {
			t.Errorf("%s has no --%s", row[3], row[4])
			continue
		}
		n, _ := strconv.Atoi(row[1])
		is, err := time.ParseDuration(f.DefValue)
		if said := time.Duration(n) * unit[row[2]]; err == nil && is != 0 && is != said {
			t.Errorf("%s --%s is %v, and the table says %v", row[3], row[4], is, said)
		}
	}
}

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Help that nobody can have got is no success.
func TestHelpThatCannotBePrinted(t *testing.T) {
	readOnly, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	var errs bytes.Buffer
	code := run(context.Background(), []string{"policy"}, env{stdin: &bytes.Buffer{}, stdout: readOnly, stderr: &errs,
		getenv: func(string) string { return "" }, environ: func() []string { return nil }})
	if code != exitFailed || !strings.Contains(errs.String(), "mcpx-bridge: stdout: ") {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}

// golden compares with a file, or with UPDATE in the environment writes it.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; UPDATE=1 go test writes it:\n%s", file, got)
	}
}

// Package token knows what a role may send, and three texts name all roles to people.
func TestEveryRoleIsNamedToPeople(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "gateway.md"))
	if err != nil {
		t.Fatal(err)
	}
	usage := (&program{}).tokenCommand().Flags().Lookup("role").Usage
	for _, role := range token.Roles() {
		if !strings.Contains("\n"+roleHelp, "\n  "+role+" ") || !regexp.MustCompile(`\b`+role+`\b`).MatchString(usage) || !strings.Contains(string(page), "`"+role+"`") {
			t.Errorf("%s is not in token --help, --role or docs/gateway.md", role)
		}
	}
}
