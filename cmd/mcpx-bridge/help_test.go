package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// The help of every command is a file that people can read and review.
func TestHelpIsAsWritten(t *testing.T) {
	root := (&program{}).root()
	commands := []string{root.Name()}
	for c := range below(root) {
		commands = append(commands, c.CommandPath())
	}
	for _, name := range commands {
		words := strings.Fields(name)
		args, file := append(words[1:], "--help"), strings.Join(words[min(1, len(words)-1):], "-")
		var out, errs bytes.Buffer
		code := run(context.Background(), args, env{stdin: &bytes.Buffer{}, stdout: &out, stderr: &errs,
			getenv: func(string) string { return "" }, environ: func() []string { return nil }})
		if code != 0 || errs.Len() > 0 {
			t.Errorf("%q: exit code %d, stderr %q", name, code, errs.String())
		}
		golden(t, filepath.Join("testdata", "help", file+".txt"), out.Bytes())
	}
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

// Who asks what run is for reads two screens, and none of their lines is broken.
func TestTheHelpOfRunFitsOnTwoScreens(t *testing.T) {
	const lines, columns = 2 * 24, 80
	text := helpOf(t, "run", "--help")
	if n := strings.Count(text, "\n"); n > lines {
		t.Errorf("it has %d lines", n)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
			t.Errorf("%d columns: %s", n, line)
		}
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
			if hidden := groupOf[f.Name] == forRare; hidden == strings.Contains(brief, "      --"+f.Name+" ") {
				t.Errorf("%s --help and --%s: hidden is %v", command, f.Name, hidden)
			}
		})
		if !strings.Contains(brief, command+" --help-all says more") {
			t.Errorf("%s --help does not say that there is more", command)
		}
	}
	if text := helpOf(t, "run", "--help-all"); !strings.Contains(text, "With --gate-host the client's own") {
		t.Error("run --help-all does not say all that there is to say")
	}
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
