package audit

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// How a file that is full makes room for the next one. Each step is on the disk
// before the one that needs it: whatever of them a power cut undoes, the files that
// are left make one log (FINDINGS T1).

// errUnsynced says that what is in the full file may be lost.
var errUnsynced = errors.New("the full file could not be put on the disk")

// rotate begins a new file and reports whether it did. If that cannot be, the old one grows
// on. An error means that nothing more can be written.
func (l *Log) rotate(now time.Time) (bool, error) {
	if now.Before(l.noNewFileBefore) {
		return false, nil
	}
	err := l.watched(l.newFile)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, errUnsynced), errors.Is(err, ErrSlow):
		l.mu.Lock()
		l.unsure = true
		l.mu.Unlock()
		return false, err
	}
	l.o.Log.Warn("the audit log cannot begin a new file", "error", err)
	l.noNewFileBefore = now.Add(time.Minute)
	return false, nil
}

// newFile names the file after its first record and puts an empty one in its
// place.
func (l *Log) newFile() error {
	if err := l.syncFull(); err != nil {
		return err
	}
	fresh, full := l.path+".new", fullName(l.path, l.first)
	l.o.Disk.Remove(fresh)
	file, info, err := l.openFile(fresh, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	if err := l.swapIn(fresh, full); err != nil {
		file.Close()
		l.o.Disk.Remove(fresh)
		return err
	}
	l.mu.Lock()
	l.retired = append(l.retired, l.file)
	l.mu.Unlock()
	l.set(file, info, 0)
	l.first = l.head.Seq + 1
	return nil
}

// syncFull syncs the file: else a power cut could leave less of it than the next file
// follows on.
func (l *Log) syncFull() error {
	if l.o.Mode == Never {
		return nil
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("%w: %w", errUnsynced, err)
	}
	return nil
}

// swapIn renames the full file, syncs that, and then puts the new one in its place: else a
// power cut could undo the first renaming and not the second, and no name would be left for
// the full file.
func (l *Log) swapIn(fresh, full string) error {
	if _, err := os.Lstat(full); err == nil {
		return fmt.Errorf("%s exists already", full)
	}
	if err := l.o.Disk.Rename(l.path, full); err != nil {
		return err
	}
	err := l.syncNames()
	if err == nil {
		err = l.o.Disk.Rename(fresh, l.path)
	}
	if err != nil {
		l.o.Disk.Rename(full, l.path)
	}
	return err
}
