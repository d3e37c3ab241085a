package socket

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// Where sockets are. A bridge ID has its socket at ID.sock, and holds a lock on
// ID.lock as long as it lives: who gets the lock knows that a socket which is
// there already is a dead process's, and removes it. A second live bridge of
// the same id, at another topic, is ID~2.sock.

// Where the path would be too long for a socket, Linux has a way around that; on
// other systems it stands in a directory with a shorter name.

// socketName is the file name for an id, cut and made distinct when it is long.
func socketName(id string) string {
	if len(id) <= longestID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return id[:longestID-9] + "~" + hex.EncodeToString(sum[:4])
}

// openDir makes a directory if need be, and refuses one that others can get into.
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
	// Whose it is comes first: Paths passes over what is foreign, be it a directory or not.
	err = private.Closed(dir, info)
	if !info.IsDir() && !errors.Is(err, private.ErrForeign) {
		return fmt.Errorf("%s is no directory", dir)
	}
	if err != nil {
		return fmt.Errorf("%w; it must be yours alone (chmod 700)", err)
	}
	return nil
}

// A place is a socket that is ours while lock is open.
type place struct {
	net.Listener
	path  string
	lock  *os.File
	spare bool // its directory is for nothing else
	once  sync.Once
}

// take listens at the first free name for an id.
func take(dir, id string) (*place, error) {
	sockets, err := socketDir(dir, socketName(id))
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
			p, err := bind(lock, filepath.Join(sockets, name+".sock"))
			if err != nil {
				lock.Close() // nothing is left by then
				return nil, err
			}
			p.spare = sockets != dir
			return p, nil
		}
	}
	return nil, fmt.Errorf("%d bridges have the id %q already", mostOfOneID, id)
}

// takeLock returns nil if another process has it. Closing the file gives it
// back, and so does dying.
func takeLock(name string) (*os.File, error) {
	f, err := private.Open(name, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	ok, err := private.Lock(f, true)
	if err != nil || !ok {
		f.Close()
		return nil, err
	}
	return f, nil
}

// bind listens at path, in place of what a dead process left there.
func bind(lock *os.File, path string) (*place, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	at, done, err := reach(path)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // at may be another file by then
	p := &place{Listener: listener, path: path, lock: lock}
	if err := os.Chmod(path, 0o600); err != nil {
		p.leave()
		return nil, err
	}
	return p, nil
}

// leave removes the socket, then gives back the name. It may be called twice.
func (p *place) leave() {
	p.Listener.Close()
	p.once.Do(func() { os.Remove(p.path) }) // not what another may have there later
	if p.spare {
		os.Remove(filepath.Dir(p.path)) // unless there are others
	}
	p.lock.Close()
}

// Paths lists the sockets of the bridges that have theirs in dir, or in the short directory that
// belongs to it, by name. Not all need be alive. A dir that others can get into is an error; a
// short directory that is somebody else's is passed over.
func Paths(dir string) ([]string, error) { return pathsIn(dir, shortDir(dir)) }

func pathsIn(dir, short string) (all []string, err error) {
	for _, at := range []string{dir, short} {
		entries, err := listDir(at)
		if at == short && errors.Is(err, private.ErrForeign) {
			continue // anybody may have made it, and no bridge of ours took it
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".sock") {
				all = append(all, filepath.Join(at, e.Name()))
			}
		}
	}
	return all, nil
}

// listDir lists a directory of ours; one that is not there is empty.
func listDir(dir string) ([]fs.DirEntry, error) {
	if dir == "" {
		return nil, nil
	}
	err := checkDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.ReadDir(dir)
}
