package audit

import (
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// sync syncs files, unless the mode leaves it to the operating system.
func (l *Log) sync(files []File) error {
	if l.o.Mode == Never {
		return nil
	}
	began := l.mono()
	l.syncBegan.Store(int64(max(began, 1)))
	defer l.syncBegan.Store(0)
	for _, f := range files {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if len(files) > 1 {
		if err := l.syncNames(); err != nil {
			return err
		}
	}
	if l.mono()-began > slowAfter {
		l.suspectDisk()
	}
	return nil
}

// A syncJob is the work of one sync: file and the full files are synced, then head is on the
// disk, and the callbacks in waiting are called.
type syncJob struct {
	file    File
	full    []File
	head    Head
	waiting []func(error)
}

func (l *Log) take() syncJob {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := syncJob{l.file, l.retired, l.head, l.waiting}
	l.retired, l.waiting, l.unsyncedSince = nil, nil, time.Time{}
	return d
}

// takeWaiting takes the callbacks that wait for a sync, because there will be none: the log
// has failed.
func (l *Log) takeWaiting() []func(error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.waiting
	l.waiting, l.unsyncedSince = nil, time.Time{}
	return waiting
}

func tell(waiting []func(error), err error) {
	for _, done := range waiting {
		done(err)
	}
}

func closeAll(files []File) {
	for _, f := range files {
		f.Close()
	}
}

// flush syncs what was written before it was called. If that takes longer than patience, all
// who wait are told ErrSlow while it goes on, also those who came after it began: it may
// never return.
func (l *Log) flush() {
	d := l.take()
	var once sync.Once
	late := time.AfterFunc(patience, func() {
		err := l.late()
		once.Do(func() { tell(d.waiting, err) })
	})
	err := l.sync(append(slices.Clip(d.full), d.file))
	if err != nil {
		l.mu.Lock()
		l.unsure = true
		l.mu.Unlock()
		err = l.fail(err)
	} else {
		l.mu.Lock()
		l.synced = d.head
		l.mu.Unlock()
		l.headFile.write(d.head)
	}
	late.Stop()
	closeAll(d.full)
	once.Do(func() { tell(d.waiting, err) })
	if err == nil {
		l.withinPatience(func() { l.headFile.settle(false) })
	}
}

// withinPatience does something in keep that is no sync of records. If it takes longer than
// patience, the log fails and those who wait are told, as in flush.
func (l *Log) withinPatience(do func()) {
	late := time.AfterFunc(patience, func() { l.late() })
	defer late.Stop()
	do()
}

// late fails the log with ErrSlow, and tells OnChange and all who wait for a sync that has
// not begun.
func (l *Log) late() error {
	err := l.fail(ErrSlow)
	l.notifier.say(l.Err)
	tell(l.takeWaiting(), err)
	return err
}

// Sync calls done when everything that was appended before is on the disk, or
// cannot be put there: then none of it may be acted upon. Many callers share
// one fsync. done is called once, from a goroutine of the log, never from
// within Sync, and must not call Close. In mode Never nothing is
// waited for.
func (l *Log) Sync(done func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.Err(); err != nil { // asked under the lock: those who wait are taken from the list after a failure is set
		go done(err)
		return
	}
	if l.closed {
		go done(ErrClosed)
		return
	}
	l.waiting = append(l.waiting, done)
	l.wakeKeep()
}

func (l *Log) syncNames() error {
	if l.o.Mode == Never {
		return nil
	}
	return l.o.Disk.SyncDir(filepath.Dir(l.path))
}
