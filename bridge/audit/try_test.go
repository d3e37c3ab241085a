package audit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What keeps a log from being opened is found without touching the log (FINDINGS C5).
func TestATryFindsWhatOpenWouldStumbleOver(t *testing.T) {
	dir := func(t *testing.T, name string) {
		t.Helper()
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]func(t *testing.T, path string){
		"a file where the directory should be": func(t *testing.T, path string) { write(t, filepath.Dir(path), nil) },
		"a directory where the log should be":  func(t *testing.T, path string) { dir(t, path) },
		"a directory where the note should be": func(t *testing.T, path string) { dir(t, path+".head") },
		"a directory where the key should be":  func(t *testing.T, path string) { dir(t, path+".key") },
		"a log that others can read": func(t *testing.T, path string) {
			dir(t, filepath.Dir(path))
			write(t, path, nil)
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			spoil(t, path)
			tried := Try(path, Options{})
			if tried == nil {
				t.Fatal("nothing is found")
			}
			if l, _, err := Open(path, Options{}); err == nil {
				l.Close()
				t.Errorf("tried: %v; but it opens", tried)
			} else if err.Error() != tried.Error() {
				t.Errorf("tried: %v; opened: %v", tried, err)
			}
		})
	}
}

func TestATryLeavesTheLogAsItWas(t *testing.T) {
	path := newPath(t)
	if err := Try(path, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left a directory: %v", err)
	}
	deeper := filepath.Join(filepath.Dir(path), "a", "b", "x.jsonl")
	if err := Try(deeper, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left directories: %v", err)
	}
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	if err := Try(path, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a log that is being written: %v", err)
	}
	mustAppend(t, l, whole(2)...)
	mustClose(t, l)
	before := read(t, path)
	if err := Try(path, Options{}); err != nil {
		t.Fatal(err)
	}
	if string(read(t, path)) != string(before) {
		t.Error("it wrote into the log")
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 3 {
		t.Errorf("beside the log: %v", left)
	}
	open(t, path, Options{})
	verified(t, path)
}
