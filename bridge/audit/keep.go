package audit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// keep is the log's own goroutine. It syncs, closes files that are full, removes those
// that are more than is to be kept, and after a failure tries to go on. It ends after
// Close.
func (l *Log) keep() {
	defer close(l.keepEnded)
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	var tried time.Time
	l.withinPatience(func() { l.headFile.settle(true) }) // a start does not wait for that
	l.prune()
	for {
		select {
		case <-l.quit:
			l.end()
			return
		case answer := <-l.asked:
			answer <- l.retry()
		case <-l.wake:
		case <-again.C:
		}
		again.Reset(l.round(&tried))
	}
}

// round does what is due, and returns how long keep may sleep unless it is poked. tried is
// when it last tried to recover.
func (l *Log) round(tried *time.Time) time.Duration {
	if f := l.failed.Load(); f != nil {
		l.notifier.say(l.Err)
		tell(l.takeWaiting(), f.err)
		if wait := l.untilRetry(f, *tried); wait > 0 {
			return wait
		}
		*tried = time.Now()
		l.retry()
		return l.o.RetryEvery
	}
	if wait := l.untilFlush(); wait <= 0 {
		turned := len(l.full()) > 0
		if l.flush(); turned {
			l.prune()
		}
	}
	if l.untilPrune() <= 0 {
		l.prune()
	}
	return min(l.untilFlush(), max(l.untilPrune(), 0))
}

// untilRetry is how long to wait before the next try to recover, at most an hour. The
// first try after the file was found to be gone is at once.
func (l *Log) untilRetry(f *failure, tried time.Time) time.Duration {
	switch {
	case l.o.RetryEvery < 0:
		return time.Hour
	case tried.Before(f.at) && errors.Is(f.err, ErrLost):
		return 0
	case tried.Before(f.at):
		tried = f.at
	}
	return l.o.RetryEvery - time.Since(tried)
}

func (l *Log) untilFlush() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.waiting) > 0:
		return 0
	case l.unsyncedSince.IsZero() && len(l.retired) == 0: // a full file is on the disk already, and can wait for the next sync
		return time.Hour
	}
	return l.o.Lag - time.Since(l.unsyncedSince)
}

// retry recovers, and syncs the record of that before anything is admitted. Only keep calls it.
func (l *Log) retry() error {
	f := l.failed.Load()
	if f == nil {
		return nil
	}
	began := time.Now()
	file, undo, err := l.recover(f)
	if err == nil {
		if err = l.sync(append(l.full(), file)); err == nil {
			err = l.syncNames() // it may be another file than before
		}
		if err == nil && time.Since(began) > patience {
			err = ErrSlow
		}
		if err != nil {
			undo()
		}
	}
	if err != nil {
		l.o.Log.Debug("the audit log cannot go on yet", "error", err)
		return fmt.Errorf("audit: %w", err)
	}
	closeAll(l.full())
	head := l.recovered()
	l.withinPatience(func() {
		l.headFile.write(head)
		l.headFile.settle(true)
	})
	l.notifier.say(l.Err)
	return nil
}

// full are the files that are full and not closed. No more are added while the log has
// failed.
func (l *Log) full() []File {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.retired)
}

func (l *Log) recovered() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.synced, l.unsyncedSince, l.unsure, l.retired = l.head, time.Time{}, false, nil
	l.failed.Store(nil)
	return l.head
}

// recover makes the file fit to be written to, and writes the record that says how the log
// goes on. undo makes the log forget that record, in case it cannot be synced.
func (l *Log) recover(f *failure) (file File, undo func(), err error) {
	if err := l.begin(); err != nil {
		return nil, nil, err
	}
	defer l.done()
	if err := l.hungWriteEnded(); err != nil {
		return nil, nil, err
	}
	why, err := l.changed(l.leftover)
	if err != nil {
		return nil, nil, err
	}
	event, reason := "recovered", strings.TrimPrefix(f.err.Error(), "audit: ")
	if why != "" {
		event, reason = "file_lost", why
		err = l.continueIn(why)
	} else {
		err = l.repair()
	}
	if err != nil {
		return nil, nil, err
	}
	head, size, last := l.head, l.size, l.last
	if err := l.write(l.batch(l.wall(), [][]byte{l.carried(event, reason)})); err != nil {
		return nil, nil, err
	}
	undo = func() { // while the log has failed, nobody else writes
		l.leftover, l.size, l.last = int(l.size-size), size, last
		l.mu.Lock()
		l.head, l.unsure = head, true
		l.mu.Unlock()
	}
	return l.file, undo, nil
}

// hungWriteEnded returns ErrSlow while a write that nobody waits for any more goes on.
func (l *Log) hungWriteEnded() error {
	if l.hungWrite == nil {
		return nil
	}
	select {
	case <-l.hungWrite:
		l.hungWrite = nil
		return nil
	default:
		return ErrSlow
	}
}

// repair opens our own file again, without the traces of a failed write. After
// a failed sync it begins a new one: what the disk may have lost of the old
// one, a second sync would not tell.
func (l *Log) repair() error {
	l.closeFile()
	file, info, err := l.openFile(l.path, 0)
	if err != nil {
		return err
	}
	if err := file.Truncate(l.size); err != nil {
		file.Close()
		return err
	}
	l.set(file, info, l.size)
	if err := l.sync([]File{file}); err != nil { // what was cut off must not come back below what is written next
		return err
	}
	l.leftover = 0
	if l.unsure && l.size > 0 {
		return l.newFile()
	}
	return nil
}

// continueIn goes on in the file that is at our path now, whatever it holds. That is left as
// it is; [VerifyLog] finds that it is not what it should be.
func (l *Log) continueIn(why string) error {
	l.closeFile()
	if err := makeHome(l.o.Disk, l.path); err != nil {
		return err
	}
	file, info, err := l.openFile(l.path, os.O_CREATE)
	if err != nil {
		return err
	}
	if why == "deleted" || why == "replaced" {
		l.first = l.head.Seq + 1
	}
	l.set(file, info, info.Size())
	l.leftover = 0
	l.unterminated, err = endsUnterminated(l.path)
	return err
}

// closeFile closes the file, which releases the lock on it.
func (l *Log) closeFile() {
	if l.file != nil {
		l.file.Close()
		l.set(nil, l.info, l.size)
	}
}

func endsUnterminated(path string) (bool, error) {
	f, err := private.OpenRegular(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], info.Size()-1)
	return b[0] != '\n', err
}

// Close writes a last record, syncs and lets go of the files. Nothing is
// admitted afterwards. Its error says that the end of the log may not be on the
// disk.
func (l *Log) Close() error {
	err := l.append([][]byte{[]byte(`{"event":"closed"}`)}, true)
	if errors.Is(err, ErrClosed) {
		return nil
	}
	l.isClosed(true) // also if it has failed
	l.once.Do(func() { close(l.quit) })
	late := time.NewTimer(2 * patience)
	defer late.Stop()
	select {
	case <-l.keepEnded:
	case <-late.C:
		return ErrSlow
	}
	if err == nil {
		err = l.Err()
	}
	return err
}

// end is the last thing that keep does: a sync if the log is well, ErrClosed for those
// who still wait, and all files are closed.
func (l *Log) end() {
	if l.Err() == nil {
		l.flush()
	}
	d := l.take()
	tell(d.waiting, ErrClosed)
	closeAll(d.full)
	if d.file != nil {
		d.file.Close()
	}
	l.headFile.close()
	l.watch.Stop()
}
