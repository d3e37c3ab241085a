package socket

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// socketDir is where the socket of that name is.
func socketDir(dir, _ string) (string, error) { return dir, nil }

// shortDir is where sockets are whose names would be too long; "": nowhere.
func shortDir(string) string { return "" }

// reach is how a socket is called when its path is too long for one: by way of
// its directory, held open until done.
func reach(path string) (at string, done func(), err error) {
	if len(path) <= longestPath {
		return path, func() {}, nil
	}
	dir, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}
