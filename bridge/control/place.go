package control

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Where sockets are. A bridge ID has its socket at ID.sock, and holds a lock on
// ID.lock as long as it lives: who gets the lock knows that a socket which is
// there already is a dead process's, and removes it. A second live bridge of
// the same id, at another topic, is ID~2.sock.

const (
	longestPath = 103 // of a socket, on the strictest system
	longestName = len("~99.sock") + longestID
	longestID   = 24
	mostOfOneID = 99
)

// socketName is the file name for an id, cut and made distinct when it is long.
func socketName(id string) string {
	if len(id) <= longestID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return id[:longestID-9] + "~" + hex.EncodeToString(sum[:4])
}

// socketDir is where the sockets of dir are: there, unless its name is too long
// for that. It makes nothing.
func socketDir(dir string) (string, error) {
	if len(dir)+1+longestName <= longestPath {
		return dir, nil
	}
	return shortDir(dir)
}

func hashed(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}

// open makes a directory if need be, and refuses one that others can get into.
func openDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return checkDir(dir)
}

func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	return ownedAndClosed(dir, info)
}

// A place is a socket that is ours while lock is open.
type place struct {
	net.Listener
	path string
	lock *os.File
}

// take listens at the first free name for an id.
func take(dir, id string) (*place, error) {
	sockets, err := socketDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range []string{dir, sockets} {
		if err := openDir(d); err != nil {
			return nil, err
		}
	}
	for n := 1; n <= mostOfOneID; n++ {
		name := socketName(id)
		if n > 1 {
			name = fmt.Sprintf("%s~%d", name, n)
		}
		lock, err := takeLock(filepath.Join(dir, name+".lock"))
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return bind(lock, filepath.Join(sockets, name+".sock"))
		}
	}
	return nil, fmt.Errorf("there are %d bridges of the id %q already", mostOfOneID, id)
}

// takeLock returns nil if another process has it. Closing the file gives it
// back, and so does dying.
func takeLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := lockFile(f)
	if err != nil || !ok {
		f.Close()
		return nil, err
	}
	return f, nil
}

// bind listens at path, in place of what a dead process left there.
func bind(lock *os.File, path string) (*place, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		lock.Close()
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		lock.Close()
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		lock.Close()
		return nil, err
	}
	return &place{listener, path, lock}, nil
}

// leave removes the socket, then gives back the name. It may be called twice.
func (p *place) leave() {
	p.Listener.Close() // which removes it
	p.lock.Close()
}

// sockets lists the sockets in dir, by name. Not all need be alive.
func sockets(dir string) ([]string, error) {
	at, err := socketDir(dir)
	if err != nil {
		return nil, err
	}
	if err := checkDir(at); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sock") {
			all = append(all, filepath.Join(at, e.Name()))
		}
	}
	slices.Sort(all)
	return all, nil
}
