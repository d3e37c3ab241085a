package audit

import (
	"slices"
	"time"
)

// A disk may take seconds for a write or a sync, or never answer. Nobody who appends
// waits longer than patience for it: a write is done by its caller, which is fastest,
// and a timer fails the log when it takes longer. From then on, and after any write or
// sync that was slow, the disk is suspect, and each write gets a goroutine of its own.

// put writes text at the end of the file, and says how much of it.
func (l *Log) put(text []byte) (n int, err error) {
	if l.isSuspect() {
		return l.writeInBackground(slices.Clone(text))
	}
	err = l.watched(func() (err error) {
		n, err = l.file.Write(text)
		return err
	})
	return n, err
}

// watched does something to the file, and fails the log while that takes longer than
// patience.
func (l *Log) watched(do func() error) error {
	began := max(l.mono(), 1)
	l.writeBegan.Store(int64(began))
	l.watchOver()
	err := do()
	l.writeBegan.Store(0)
	took := l.mono() - began
	if took > slowAfter {
		l.suspectDisk()
	}
	if took >= patience && err == nil {
		err = ErrSlow
	}
	return err
}

// watchOver has checkWrite called within patience. It sets the timer only when it is not
// set: setting it for each write would wake another thread each time.
func (l *Log) watchOver() {
	if l.watching.CompareAndSwap(false, true) {
		l.watch.Reset(patience)
	}
}

// checkWrite fails the log if the write under way has taken longer than patience, and sets
// the timer anew if it may still do so.
func (l *Log) checkWrite() {
	began := time.Duration(l.writeBegan.Load())
	left := patience - (l.mono() - began)
	if began != 0 && left > 0 {
		l.watch.Reset(left)
		return
	}
	l.watching.Store(false)
	if began != 0 {
		l.fail(ErrSlow)
		l.notifier.say(l.Err)
	} else if l.writeBegan.Load() != 0 { // it began since, and found the timer set
		l.watchOver()
	}
}

// writeInBackground writes in a goroutine of its own. After patience it returns ErrSlow, and the
// write goes on as hungWrite: until that has ended, nothing else may be done to the file.
func (l *Log) writeInBackground(text []byte) (int, error) {
	hungWrite := make(chan struct{})
	var wrote struct {
		n   int
		err error
	}
	go func(f File) {
		defer close(hungWrite)
		wrote.n, wrote.err = f.Write(text)
	}(l.file)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-hungWrite:
		return wrote.n, wrote.err
	case <-late.C:
		l.hungWrite = hungWrite
		return 0, ErrSlow
	}
}

// isSuspect reports whether a write might hang: a write or sync was slow within
// suspectFor, or the sync under way is.
func (l *Log) isSuspect() bool {
	now := int64(l.mono())
	sync := l.syncBegan.Load()
	return now < l.suspectUntil.Load() || sync != 0 && now-sync > int64(slowAfter)
}
