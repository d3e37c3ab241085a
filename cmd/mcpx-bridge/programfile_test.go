package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// The program is the file that runs: found where names without a folder are looked for,
// else beside where the server is started.
func TestTheProgramThatIsStartedIsKnownByItsHash(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tool.exe")
	putProgram(t, file)
	sum := sha256.Sum256([]byte("a program"))
	want := hex.EncodeToString(sum[:])
	t.Setenv("PATH", dir)
	for _, name := range []string{"tool.exe", "." + string(filepath.Separator) + "tool.exe", file} {
		f := findProgram(name, dir)
		if got := f.hash(t.Context()); f.path != file || got != want {
			t.Errorf("%s: %s %s", name, f.path, got)
		}
	}
	if f := findProgram("there-is-none", dir); f.path != "" || f.hash(t.Context()) != "" {
		t.Errorf("%+v", f)
	}
	if f := findProgram(dir, dir); f.hash(t.Context()) != "" {
		t.Error("a directory has a hash")
	}
}

// The record is of what was started, not of what has taken its place meanwhile.
func TestAProgramThatChangedSinceItWasStartedHasNoHash(t *testing.T) {
	for what, change := range map[string]func(file string) error{
		"written to": func(file string) error { return os.WriteFile(file, []byte("a longer program"), 0o700) },
		"replaced":   func(file string) error { return os.Rename(file+".new", file) },
		"taken away": os.Remove,
	} {
		file := filepath.Join(t.TempDir(), "tool.exe")
		putProgram(t, file)
		putProgram(t, file+".new")
		f := findProgram(file, "")
		if err := change(file); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := f.hash(t.Context()); got != "" {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// Who is told to end does not read on.
func TestAProgramIsReadUntilTheEndOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tool.exe")
	putProgram(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := findProgram(file, "").hash(ctx); got != "" {
		t.Error(got)
	}
}

func putProgram(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("a program"), 0o700); err != nil {
		t.Fatal(err)
	}
}
