package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Try finds out whether [Open] could open the log at path, the way Open does, and has
// written nothing into it when it returns: files and directories that were not there are
// gone again. A record of the usual size is written and synced beside the log, so
// that a disk that is full or read-only is an error here too. Found says what Open would
// find, but for the key.
func Try(path string, o Options) (Found, error) {
	l, err := prepare(path, o)
	if err != nil {
		return Found{}, fmt.Errorf("audit: %w", err)
	}
	var made, dirs []string
	for _, name := range []string{l.path, l.path + ".head", l.path + ".key"} {
		if missing(name) {
			made = append(made, name)
		}
	}
	for dir := filepath.Dir(l.path); missing(dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	defer func() {
		for _, dir := range dirs {
			os.Remove(dir) // in vain if somebody keeps something there by then
		}
	}()
	found, noted, err := l.openFiles()
	if err == nil {
		l.head, l.calls = found.Head, found.calls
		l.firstRecord(&found, noted) // for what it finds
		err = tryWrite(l.path)
	}
	if l.headFile.file != nil { // the lock: what is removed is still ours
		for _, name := range made {
			os.Remove(name)
		}
	}
	if l.file != nil {
		l.file.Close()
	}
	l.headFile.close()
	if err != nil {
		return Found{}, fmt.Errorf("audit: %w", err)
	}
	found.Key = Key{} // it may be gone again
	return found, nil
}

func missing(name string) bool {
	_, err := os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}

// tryWrite writes as much as the first record of a run takes to the disk that path is on.
func tryWrite(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".try-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 4<<10))
	return errors.Join(err, f.Sync(), f.Close())
}
