//go:build unix && !linux

package socket

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// socketDir is where the socket of that name is: in dir, unless its path would
// be too long for one. It makes nothing.
func socketDir(dir, name string) (string, error) {
	if len(filepath.Join(dir, name+"~99.sock")) <= longestPath {
		return dir, nil
	}
	return shortDir(dir), nil
}

// shortDir stands in for dir where names would be too long. It is checked like
// any other: it must be ours and closed to others.
func shortDir(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return fmt.Sprintf("/tmp/mcpx-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:4]))
}

func reach(path string) (at string, done func(), err error) { return path, func() {}, nil }
