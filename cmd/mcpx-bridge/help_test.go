package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
