//go:build unix

package node

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe without a writer is not waited for, or we could not end.
func TestAProgramThatBecameAPipeHeldTheEndUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tool")
	putProgram(t, file)
	f := findProgram(file, "")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := f.hash(t.Context()); got != "" || err != errProgramChanged {
		t.Error(got, err)
	}
}

// A script that runs may write other lines over its own, and put the time of that back.
func TestAProgramThatWroteItselfAnewHadTheHashOfThat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tool")
	putProgram(t, file)
	f := findProgram(file, "")
	for was := changedAt(file); changedAt(file).Equal(was); { // the clock of files has ticks
		if err := os.WriteFile(file, []byte("x program"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, f.info.ModTime(), f.info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.hash(t.Context()); got != "" || err != errProgramChanged {
		t.Error(got, err)
	}
}
