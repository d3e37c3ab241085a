package private

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Care says how carefully [Read] looks at a file.
type Care struct {
	// Check refuses a file by its owner and mode, as [Closed] and [Authored] do. Nil:
	// any will do.
	Check func(name string, info fs.FileInfo) error

	// Above has the directories and links looked at, too, through which the file is
	// reached: who may change one of those decides what stands in the file.
	Above bool
}

// Read returns the first limit bytes of a regular file. What is looked at is what
// is read: the opened file, not whatever bears its name a moment later. A pipe, a
// socket or a device is refused and never waited for (FINDINGS C12, M5).
func Read(path string, limit int64, care Care) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if care.Check != nil {
		if err := care.Check(path, info); err != nil {
			return nil, err
		}
	}
	if care.Above {
		if err := wayTo(path); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// OpenRegular opens a regular file for reading, whoever's it is, and follows symbolic
// links. It waits for nobody: anything else than a regular file is refused.
func OpenRegular(path string) (*os.File, error) { return regular(openFollowing(path)) }

// regular passes on what was opened, and closes and refuses what is no regular file.
func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file but %s", f.Name(), kindOf(info.Mode()))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// mostLinks bounds the symbolic links on the way to one file, as systems do.
const mostLinks = 40

// wayTo looks at each directory and symbolic link on the way to path, in the order
// in which the system goes through them.
func wayTo(path string) error {
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return err
		}
		path = here + string(filepath.Separator) + path // not cleaned: behind a link, .. is another directory
	}
	at := filepath.VolumeName(path) + string(filepath.Separator)
	rest, links := steps(path[len(at):]), 0
	for {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > mostLinks {
				return fmt.Errorf("%s: more than %d symbolic links lead there", path, mostLinks)
			}
			target, err := followed(at, info)
			if err != nil {
				return err
			}
			at = filepath.Dir(at)
			if filepath.IsAbs(target) {
				at = filepath.VolumeName(target) + string(filepath.Separator)
				target = target[len(at):]
			}
			rest = append(steps(target), rest...)
		case info.IsDir():
			if err := passage(at, info); err != nil {
				return err
			}
		}
		if len(rest) == 0 {
			return nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:]
	}
}

func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}

// followed is where a link leads. Who made it decides that.
func followed(link string, info fs.FileInfo) (string, error) {
	if err := linked(link, info); err != nil {
		return "", err
	}
	return os.Readlink(link)
}

// Open opens a regular file for flag, and makes it with mode 0600 if flag says so. It
// follows no symbolic link, and refuses what is no regular file: it waits for nobody
// where path is a pipe. Whether the file is ours alone, Closed says.
func Open(path string, flag int) (*os.File, error) { return regular(open(path, flag)) }
