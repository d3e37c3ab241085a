package node

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
		if got, _ := f.hash(t.Context()); f.path != file || got != want {
			t.Errorf("%s: %s %s", name, f.path, got)
		}
	}
	f := findProgram("there-is-none", dir)
	if got, err := f.hash(t.Context()); f.path != "" || got != "" || err != nil {
		t.Errorf("%+v: %s %v", f, got, err)
	}
	if got, err := findProgram(dir, dir).hash(t.Context()); got != "" || err != nil {
		t.Errorf("a directory has a hash: %s %v", got, err)
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
		if got, err := f.hash(t.Context()); got != "" || err != errProgramChanged {
			t.Errorf("%s: %s %v", what, got, err)
		}
	}
}

// Who is told to end does not read on.
func TestAProgramIsReadUntilTheEndOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tool.exe")
	putProgram(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := findProgram(file, "").hash(ctx); got != "" || err != nil {
		t.Error(got, err)
	}
}

func putProgram(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("a program"), 0o700); err != nil {
		t.Fatal(err)
	}
}
