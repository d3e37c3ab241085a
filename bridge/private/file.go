package private

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// ErrForeign is in the error of what belongs to somebody else: another mode would
// not help, another owner would.
var ErrForeign = errors.New("belongs to another user")

// ErrOpen is in the error of what others may read or change: another mode helps.
var ErrOpen = errors.New("others can get at")

// A File is an open file, as *os.File has it.
type File interface {
	io.Reader
	io.Writer
	io.WriterAt
	Name() string
	Stat() (fs.FileInfo, error)
	SyscallConn() (syscall.RawConn, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}
