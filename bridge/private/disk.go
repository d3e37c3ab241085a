package private

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A Disk does what changes files and names. [OS] is the one that programs use;
// tests use one that can lose power (bridge/private/powercut, FINDINGS T1).
//
// What is written into a file is there after a power cut when File.Sync has
// returned, and a name when SyncDir has for the directory in which it is. Before,
// each change may be lost alone, and a later one be there without an earlier.
type Disk interface {
	Open(path string, flag int) (File, error) // see [Open]
	Mkdir(dir string) error                   // with mode 0700
	Rename(from, to string) error             // within one directory
	Link(from, to string) error               // fails where to exists
	Remove(path string) error
	SyncDir(dir string) error
}

// OS is the operating system's Disk.
type OS struct{}

func (OS) Open(path string, flag int) (File, error) {
	f, err := Open(path, flag)
	if err != nil {
		return nil, err // no File that is not nil and holds none
	}
	return f, nil
}

func (OS) Mkdir(dir string) error       { return os.Mkdir(dir, 0o700) }
func (OS) Rename(from, to string) error { return os.Rename(from, to) }
func (OS) Link(from, to string) error   { return os.Link(from, to) }
func (OS) Remove(path string) error     { return os.Remove(path) }
func (OS) SyncDir(dir string) error     { return syncDir(dir) }

// on is d, or the operating system's where there is none.
func on(d Disk) Disk {
	if d == nil {
		return OS{}
	}
	return d
}

// MakeDir makes a directory with mode 0700, and those above it that are not
// there. When it returns, the names of those it made are on the disk. d may be
// nil, here and below: the operating system's.
func MakeDir(d Disk, dir string) error {
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	above := filepath.Dir(dir)
	if above == dir {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrNotExist}
	}
	if err := MakeDir(d, above); err != nil {
		return err
	}
	if err := on(d).Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return on(d).SyncDir(above)
}

// Replace makes text the contents of the file at path (0600), whole or not at
// all: nobody, also after a power cut, finds half of it. When it returns nil, text
// is on the disk.
func Replace(d Disk, path string, text []byte) error {
	return settle(d, path, text, on(d).Rename)
}

// ReplaceForNow is Replace for what holds until the machine stops, and no longer: a power cut
// may bring back what the file held before.
func ReplaceForNow(d Disk, path string, text []byte) error {
	return named(d, path, text, asMade, on(d).Rename)
}

// Create is Replace for a file that must not be there yet: of several who try,
// one succeeds, and the others get fs.ErrExist.
func Create(d Disk, path string, text []byte) error {
	return settle(d, path, text, on(d).Link)
}

func settle(d Disk, path string, text []byte, as func(from, to string) error) error {
	if err := named(d, path, text, asMade, as); err != nil {
		return err
	}
	return on(d).SyncDir(filepath.Dir(path))
}

// asMade leaves a file with the owner and the mode that it was made with.
func asMade(File) error { return nil }

// named puts text on the disk, and then gives it the name path.
func named(d Disk, path string, text []byte, dress func(File) error, as func(from, to string) error) error {
	draft, err := writeDraft(d, path, text, dress)
	if err != nil {
		return err
	}
	err = as(draft, path)
	on(d).Remove(draft) // in vain once it was renamed
	return err
}

// writeDraft puts text on the disk beside path, under a name of its own that
// nobody will take for anything.
func writeDraft(d Disk, path string, text []byte, dress func(File) error) (name string, err error) {
	name = filepath.Join(filepath.Dir(path), fmt.Sprintf(".new-%s", rand.Text()))
	f, err := on(d).Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return "", err
	}
	if err = dress(f); err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		on(d).Remove(name)
		return "", err
	}
	return name, nil
}

// Exchange is Replace for a file that has an owner and a mode of its own, on the operating
// system's disk: dress gives them to the new file, and whatever still says when that is
// about to get the name ends the exchange. That the name is on the disk is not certain.
func Exchange(path string, text []byte, dress func(*os.File) error, still func() error) error {
	err := named(nil, path, text, func(f File) error { return dress(f.(*os.File)) }, func(from, to string) error {
		if err := still(); err != nil {
			return err
		}
		return os.Rename(from, to)
	})
	if err == nil {
		_ = syncDir(filepath.Dir(path)) // the file is there, whatever becomes of its name in a power cut
	}
	return err
}

// Delete takes a file away, if it is there. When it returns nil, a power cut does
// not bring it back.
func Delete(d Disk, path string) error {
	err := on(d).Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return on(d).SyncDir(filepath.Dir(path))
}
