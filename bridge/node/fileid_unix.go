//go:build unix

package node

import (
	"io/fs"
	"syscall"
)

// fileID tells a file from one that took its name.
func fileID(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return nil
}
