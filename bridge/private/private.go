// Package private is about files and directories that belong to this user alone:
// records, sockets, secrets. It opens and locks them, and refuses those that
// somebody else could have put there, or can get at (RELIABILITY 2.2, "Local
// user"). On Windows %LocalAppData% is closed to others by what it inherits, and
// mode bits say nothing: there the checks find nothing wrong.
//
// What is replaced is replaced whole, and is on the disk when the function returns
// ([Replace], [Exchange]). Functions take a [Disk], nil for the operating system's, so that
// tests can take its power away. The package knows no directory of its own, and holds no
// lock longer than the file that it is on.
package private

import (
	"io"
	"io/fs"
	"os"
)

// Closed refuses a file or directory that belongs to somebody else, or that
// others may use.
func Closed(name string, info fs.FileInfo) error { return closed(name, info) }

// ReadByOthers reports whether others can read what is written to w: a regular file that is not
// Closed. Of what else w may be nobody can tell.
func ReadByOthers(w io.Writer) bool {
	f, is := w.(*os.File)
	if !is {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && Closed(f.Name(), info) != nil
}

// Sheltered refuses a directory in which others can replace files. It may belong
// to root, and others may read it.
func Sheltered(name string, info fs.FileInfo) error { return sheltered(name, info) }

// Authored refuses a file that anybody may write to, or that belongs to somebody
// else than us or root: what it says need not be the owner's word. A group may
// write to it, because many systems give each user one of their own.
func Authored(name string, info fs.FileInfo) error { return authored(name, info) }

// Lock takes a lock on f without waiting, and reports whether it got it: alone,
// or together with others who do not want it alone. It ends when f is closed, or
// we are dead. What is in f can be read by others all the same.
func Lock(f File, alone bool) (bool, error) { return lock(f, alone) }
