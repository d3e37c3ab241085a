package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// maxFile is the most bytes a configuration file may have. Some clients keep
// their history in it.
const maxFile = 64 << 20

// content is a file's bytes, or that there is no file.
type content struct {
	there bool
	raw   []byte
}

func (c content) equal(o content) bool { return c.there == o.there && bytes.Equal(c.raw, o.raw) }

// A target is the file that is meant where symbolic links have been followed.
type target struct {
	path string
	info fs.FileInfo // nil if it is not there
}

// load reads the file that a name leads to; it need not be there.
func load(name string) (target, content, error) {
	path, err := resolve(name)
	if err != nil {
		return target{}, content{}, err
	}
	f, err := private.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return target{path: path}, content{}, nil
	}
	if err != nil {
		return target{}, content{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return target{}, content{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = &Error{File: path, Msg: fmt.Sprintf("it has over %d bytes", maxFile)}
	}
	return target{path, info}, content{true, raw}, err
}

// resolve follows symbolic links, of the file and of its directories as far as
// they are there.
func resolve(name string) (string, error) {
	path, err := filepath.EvalSymlinks(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", &Error{File: name, Msg: "the links and directories of its path cannot be followed: " + err.Error(), Hint: "a link may lead back to itself"}
	}
	if err == nil {
		return path, nil
	}
	if _, err := os.Lstat(name); err == nil {
		return "", &Error{File: name, Msg: "it is a symbolic link that leads nowhere", Hint: "make the file it leads to, or remove the link"}
	}
	if parent := filepath.Dir(name); parent != name {
		dir, err := resolve(parent)
		return filepath.Join(dir, filepath.Base(name)), err
	}
	return name, nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// errRaced is what a file that changed under our hands is.
const errRaced = "it was written by somebody else meanwhile"

// become gives the file its new contents whole, or takes it away, if it still
// is what it was. Mode, owner and, on Linux, access list stay; a new file gets mode.
func (t target) become(before, after content, mode fs.FileMode) error {
	if t.info != nil && t.info.Mode().Perm()&0o200 == 0 {
		return &Error{File: t.path, Msg: "it is read-only", Hint: "if nobody had a reason for that, make it writable: chmod u+w " + t.path}
	}
	if !after.there {
		if err := t.still(before); err != nil {
			return err
		}
		return os.Remove(t.path)
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o755); err != nil {
		return err
	}
	return private.Exchange(t.path, after.raw, func(f *os.File) error {
		if t.info == nil {
			return f.Chmod(mode)
		}
		// The mode comes last: with a list the bits of the group are not the group's.
		if err := errors.Join(keepOwner(f, t.info), keepList(f, t.path)); err != nil {
			return err
		}
		return f.Chmod(t.info.Mode().Perm())
	}, func() error { return t.still(before) })
}

// still refuses a file that is not what it was.
func (t target) still(before content) error {
	_, now, err := load(t.path)
	if err != nil {
		return err
	}
	if !now.equal(before) {
		return &Error{File: t.path, Msg: errRaced, Hint: "nothing was written; try again"}
	}
	return nil
}
