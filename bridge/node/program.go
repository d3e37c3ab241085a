package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A programFile is the file that is started as the server, as it was before that.
// The zero value is one that cannot be told.
type programFile struct {
	path    string // from the root on
	info    os.FileInfo
	changed time.Time // see changedAt
}

// hashMost is how many bytes a program may have that is read for its hash.
const hashMost = 512 << 20

// findProgram finds the file that will be started for name in dir.
func findProgram(name, dir string) programFile {
	path, err := exec.LookPath(name)
	if filepath.Base(name) != name { // it is relative to where the server is started
		path, err = name, nil
		if !filepath.IsAbs(name) {
			path = filepath.Join(dir, name)
		}
	}
	if err != nil {
		return programFile{}
	}
	if path, err = filepath.Abs(path); err != nil {
		return programFile{}
	}
	changed := changedAt(path)
	info, err := os.Stat(path)
	if err != nil {
		return programFile{path: path}
	}
	return programFile{path, info, changed}
}

// errProgramChanged is why a program has no hash that is not the one that was found.
var errProgramChanged = errors.New("the file has changed since the start")

// hash is the SHA-256 of the program in hexadecimal; "" if it cannot be read, is too
// large, or has changed since it was found.
func (f programFile) hash(ctx context.Context) (string, error) {
	if f.info == nil || !f.info.Mode().IsRegular() || f.info.Size() > hashMost {
		return "", nil
	}
	file, err := private.OpenRegular(f.path) // what is a pipe by now would hold us
	switch {
	case errors.Is(err, fs.ErrPermission) && changedAt(f.path).Equal(f.changed):
		return "", nil
	case err != nil:
		return "", errProgramChanged
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(yielding{ctx, file}, f.info.Size())); err != nil {
		return "", nil
	}
	if !f.still(file) {
		return "", errProgramChanged
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// still reports whether file is the one that was found, and as it was then.
func (f programFile) still(file *os.File) bool {
	now, err := file.Stat()
	return err == nil && os.SameFile(now, f.info) && now.Size() == f.info.Size() && now.ModTime().Equal(f.info.ModTime()) &&
		changedAt(f.path).Equal(f.changed)
}

// A yielding reader ends with an error when ctx does, and lets calls pass
// before each piece: all of us share one processor.
type yielding struct {
	ctx context.Context
	of  io.Reader
}

func (r yielding) Read(into []byte) (int, error) {
	runtime.Gosched()
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.of.Read(into)
}
