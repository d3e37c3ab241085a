package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A File is what a Log does with a file of its own: an *os.File that is open
// for appending. Write must append all or say how much it did.
type File interface {
	Write(p []byte) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

var (
	// ErrLocked says that another Log, perhaps of another process, writes
	// to the same path.
	ErrLocked = errors.New("another process writes to it")

	// ErrLost says that the file is not as we left it: deleted, replaced,
	// cut, or written to by somebody else.
	ErrLost = errors.New("the audit file is not as it was left")

	// ErrSlow says that a write or sync took longer than two seconds,
	// which counts as its failure (RELIABILITY section 3).
	ErrSlow = errors.New("the disk does not answer")

	// ErrClosed says that Close was called.
	ErrClosed = errors.New("the audit log is closed")
)

// disk is the real File.
type disk struct {
	private.File
	path string // which it will have, if it has not

	mu     sync.Mutex // of syncs; in bytes from the beginning:
	synced int64      // how much of it is on the disk
	freed  int64      // and how much of that the kernel was told to keep no longer
}

func (d *disk) Truncate(size int64) error { return truncate(d.File, d.path, size) }

// Sync puts on the disk what was written before it, and lets go of the memory in
// which the kernel keeps what the syncs before this one have put there.
func (d *disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := d.Stat() // before: others write on meanwhile
	if err != nil {
		return err
	}
	if info.Size()-d.synced >= asideLeast {
		err = private.SyncAside(d.File)
	} else {
		err = d.File.Sync()
	}
	if err != nil {
		return err
	}
	d.free()
	d.synced = info.Size()
	return nil
}

// asideLeast is how many unsynced bytes make [private.SyncAside] worth it. Below, a plain
// sync is sooner over where nobody else uses the processor: with one caller at a time the
// worst percentile of calls is a fifth better with a plain sync, with 64 a third worse.
const asideLeast = 2 << 20

// freeLeast is how many synced bytes make a call to the kernel worth its cost.
const freeLeast = 256 << 10

// free has the kernel drop the pages of earlier syncs, and not those of the sync that has
// just ended: these may still be in the hands of some processor, and then the kernel
// interrupts all of them to find out.
func (d *disk) free() {
	if d.synced-d.freed >= freeLeast {
		d.freed = uncache(d.File, d.freed, d.synced)
	}
}

// ours refuses what is no regular file, and one that other users can read or write.
func ours(f private.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, irregular(f.Name())
	}
	if err := private.Closed(f.Name(), info); err != nil {
		return nil, fmt.Errorf("%w; it must be yours alone (chmod 600)", err)
	}
	return info, nil
}

// lock locks f until it is closed or this process ends; [ErrLocked] if another has.
func lock(f private.File) error {
	ok, err := private.Lock(f, true)
	if err == nil && !ok {
		return fmt.Errorf("%s: %w", f.Name(), ErrLocked)
	}
	return err
}

func irregular(name string) error {
	return fmt.Errorf("%s is no regular file; the log is read back, so it cannot go to a link, a device or a pipe", name)
}

// makeHome makes the directory of path (0700), and refuses one in which
// somebody else could exchange our files.
func makeHome(d private.Disk, path string) error {
	dir := filepath.Dir(path)
	if err := private.MakeDir(d, dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return private.Sheltered(dir, info)
}

// Files lists the files of the log at path, oldest first: those that are full,
// named path.N after their first record, and then path itself. Those that do
// not exist are not listed, nor is what has such a name after the time at which
// somebody made it.
func Files(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var full []string
	current := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == filepath.Base(path):
			current = true
		case firstOf(path, name) > 0:
			full = append(full, filepath.Join(filepath.Dir(path), name))
		}
	}
	slices.SortFunc(full, func(a, b string) int {
		return int(firstOf(path, filepath.Base(a))) - int(firstOf(path, filepath.Base(b)))
	})
	if current {
		full = append(full, path)
	}
	return full, nil
}

// fullName is the name of a file that is full and begins with record first.
func fullName(path string, first uint64) string { return fmt.Sprintf("%s.%012d", path, first) }

// firstDate is the first day or month at the head of twelve digits (mmddyyyyhhmm). People name
// copies of a log after the time; few logs, if any, have as many records as that.
const firstDate = 10_000_000_000

// firstOf is the first record of a full file of path by its name, 0 if the
// name is not one. What could be a date is the number of a record if the file begins with that.
func firstOf(path, name string) uint64 {
	digits, ok := strings.CutPrefix(name, filepath.Base(path)+".")
	if !ok || len(digits) < 12 {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0
	}
	if n >= firstDate {
		if h, _, err := beginning(filepath.Join(filepath.Dir(path), name)); err != nil || h.seq != n {
			return 0
		}
	}
	return n
}
