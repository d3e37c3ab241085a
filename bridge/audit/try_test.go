package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
			_, tried := Try(path, Options{})
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
	if _, err := Try(path, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left a directory: %v", err)
	}
	deeper := filepath.Join(filepath.Dir(path), "a", "b", "x.jsonl")
	if _, err := Try(deeper, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left directories: %v", err)
	}
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	if _, err := Try(path, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a log that is being written: %v", err)
	}
	mustAppend(t, l, whole(2)...)
	mustClose(t, l)
	before := read(t, path)
	if _, err := Try(path, Options{}); err != nil {
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

// What Open would have to say about a log that is not what it was, a try says too.
func TestATryFindsWhatIsLost(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	mustClose(t, l)
	whole := read(t, path)
	if found, err := Try(path, Options{}); err != nil || found.Lost != "" || found.Fault != nil {
		t.Errorf("a log that is whole: %+v, %v", found, err)
	}
	for name, spoil := range map[string]func(){
		"its note is gone":  func() { os.Remove(path + ".head") },
		"its end is gone":   func() { write(t, path, whole[:len(whole)/2]) },
		"a record is other": func() { write(t, path, []byte(strings.Replace(string(whole), "read_file", "rEad_file", 1))) },
	} {
		note := read(t, path+".head")
		spoil()
		tried, err := Try(path, Options{})
		if err != nil || tried.Lost == "" && tried.Fault == nil {
			t.Errorf("%s: %+v, %v", name, tried, err)
		}
		l, opened, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, l)
		if tried.Lost != opened.Lost || fmt.Sprint(tried.Fault) != fmt.Sprint(opened.Fault) {
			t.Errorf("%s: tried %q %v, opened %q %v", name, tried.Lost, tried.Fault, opened.Lost, opened.Fault)
		}
		write(t, path, whole)
		write(t, path+".head", note)
	}
}
