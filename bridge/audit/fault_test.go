package audit

import (
	"sync"
)

// A faultyDisk stands between a log and its files, and makes a chosen
// operation fail. Operations of all files are counted together, from 1.
type faultyDisk struct {
	mu sync.Mutex
	plan
	writes, syncs, truncates int
}

// A plan says what fails, and how.
type plan struct {
	failWrite    int  // which write
	part         int  // bytes of it that reach the disk all the same
	silent       bool // it claims that nothing is wrong
	failSync     int
	failTruncate int
	stay         bool // everything of its kind fails from then on

	slowWrite, slowSync func() // called within the operation that would fail, which then succeeds
}

func (d *faultyDisk) wrap(f File) File { return &faultyFile{f, d} }

func (d *faultyDisk) due(count *int, which int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	*count++
	return which > 0 && (*count == which || d.stay && *count > which)
}

// heal lets everything succeed from now on.
func (d *faultyDisk) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failWrite, d.failSync, d.failTruncate = 0, 0, 0
}

func (d *faultyDisk) limits() (write, sync, truncate int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failWrite, d.failSync, d.failTruncate
}

type faultyFile struct {
	f File
	d *faultyDisk
}

func (f *faultyFile) Write(p []byte) (int, error) {
	which, _, _ := f.d.limits()
	if !f.d.due(&f.d.writes, which) {
		return f.f.Write(p)
	}
	if f.d.slowWrite != nil {
		f.d.slowWrite()
		return f.f.Write(p)
	}
	n, err := f.f.Write(p[:min(f.d.part, len(p))])
	if err == nil && !f.d.silent {
		err = errDisk
	}
	return n, err
}

func (f *faultyFile) Sync() error {
	_, which, _ := f.d.limits()
	if !f.d.due(&f.d.syncs, which) {
		return f.f.Sync()
	}
	if f.d.slowSync != nil {
		f.d.slowSync()
		return f.f.Sync()
	}
	return errDisk
}

func (f *faultyFile) Truncate(size int64) error {
	_, _, which := f.d.limits()
	if f.d.due(&f.d.truncates, which) {
		return errDisk
	}
	return f.f.Truncate(size)
}

func (f *faultyFile) Close() error { return f.f.Close() }
