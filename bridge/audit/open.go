package audit

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// Open opens the log at path, or begins one, and goes on where it ended. It
// cuts off a torn last line, and writes and syncs a first record: a disk that
// cannot take it is an error here. What Found says is for the caller to act
// upon: every call that did not end needs its final record.
//
// The file and those beside it are made with mode 0600, their directory with
// 0700. Files that belong to somebody else or that others can read, symbolic
// links, devices and pipes are refused, and so is a path that another process
// writes to ([ErrLocked]).
func Open(path string, o Options) (*Log, Found, error) {
	l, err := prepare(path, o)
	if err != nil {
		return nil, Found{}, fmt.Errorf("audit: %w", err)
	}
	found, err := l.start()
	if err != nil {
		if l.file != nil {
			l.file.Close()
		}
		l.headFile.close()
		return nil, Found{}, fmt.Errorf("audit: %w", err)
	}
	go l.keep()
	return l, found, nil
}

func prepare(path string, o Options) (*Log, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	o.MaxSize = cmp.Or(o.MaxSize, 16<<20)
	o.Lag = cmp.Or(o.Lag, 100*time.Millisecond)
	o.Memory = cmp.Or(o.Memory, 15*time.Minute)
	o.RunsMost = cmp.Or(o.RunsMost, 256<<20)
	o.RetryEvery = cmp.Or(o.RetryEvery, time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.KeepSize > 0 {
		o.MaxSize = min(o.MaxSize, max(o.KeepSize/4, 1<<10))
	}
	o.Least = cmp.Or(o.Least, o.Memory)
	if o.Disk == nil {
		o.Disk = private.OS{}
	}
	if o.OnChange == nil {
		o.OnChange = func(error) {}
	}
	l := &Log{path: path, o: o, began: time.Now(), wall: time.Now, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		asked: make(chan chan error), quit: make(chan struct{}), keepEnded: make(chan struct{}),
		notifier: notifier{tell: o.OnChange}, headFile: headFile{path: path + ".head", log: o.Log, disk: o.Disk, lazy: o.Mode == Never},
		calls: newOpenCalls()}
	l.watch = time.AfterFunc(time.Hour, l.checkWrite)
	l.watch.Stop()
	return l, nil
}

// start opens the files of the log, reads them, and writes the first record.
func (l *Log) start() (Found, error) {
	found, noted, err := l.openFiles()
	if err != nil {
		return Found{}, err
	}
	torn, before := found.Torn, int64(0)
	l.size = l.info.Size() - torn
	if found.Head == noted.Head {
		before = noted.alreadyCut(torn) // by who was killed before its first record
	}
	found.Torn = before + torn
	l.head, l.first = found.Head, cmp.Or(found.first, found.Head.Seq+1)
	l.calls = found.calls
	rec := l.firstRecord(&found, noted)
	if err := l.name(&found, noted); err != nil {
		return Found{}, err
	}
	if err := l.cutOff(torn, before, &found); err != nil {
		return Found{}, err
	}
	if err := l.write(l.batch(l.wall(), [][]byte{l.signed(rec)})); err != nil {
		return Found{}, err
	}
	if err := l.secure(); err != nil {
		return Found{}, err
	}
	l.synced, l.unsyncedSince, found.Head = l.head, time.Time{}, l.head
	l.headFile.note.CutBefore, l.headFile.note.Cutting = 0, 0
	l.headFile.write(l.head) // which keep puts on the disk
	return found, nil
}

// openFiles opens the log and the files beside it, makes those that are missing, and reads
// them.
func (l *Log) openFiles() (Found, Note, error) {
	if err := makeHome(l.o.Disk, l.path); err != nil {
		return Found{}, Note{}, err
	}
	if info, err := os.Lstat(l.path); err == nil && !info.Mode().IsRegular() {
		return Found{}, Note{}, irregular(l.path)
	}
	noted, err := l.headFile.open()
	if err != nil {
		return Found{}, Note{}, err
	}
	if l.file, l.info, err = l.openFile(l.path, os.O_CREATE); err != nil {
		return Found{}, Note{}, err
	}
	key, err := takeKey(l.o.Disk, l.path+".key")
	if err != nil {
		return Found{}, Note{}, err
	}
	found, err := replayed(l.path, l.o, noted)
	found.Key = key
	return found, noted, err
}

// cutOff takes away what is half written, for good: else a power cut could bring it
// back below what is written next. The note says so before, because the record that
// names it comes after, and what is noted of that place has to be on the disk.
func (l *Log) cutOff(torn, before int64, found *Found) error {
	if torn == 0 {
		return nil
	}
	if found.Lost == "" {
		if err := l.sync([]File{l.file}); err != nil {
			return err
		}
		n := &l.headFile.note
		n.Head, n.CutBefore, n.Cutting = found.Head, before, torn
		if err := l.headFile.put(); err != nil {
			return err // the record that would name it may not get there either
		}
		l.headFile.settle(true)
	}
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	return l.sync([]File{l.file})
}

// name finds out the id of the log, and gives one to a log that has none. The note
// of a new log is on the disk before its first record is written.
func (l *Log) name(found *Found, noted Note) error {
	l.id = cmp.Or(noted.Log, found.log)
	if l.id == "" {
		var id [16]byte
		rand.Read(id[:])
		l.id = hex.EncodeToString(id[:])
	}
	l.headFile.note = Note{Head: noted.Head, Log: l.id, CutBefore: noted.CutBefore, Cutting: noted.Cutting, Bridge: l.o.Bridge}
	if found.Head.Seq > 0 {
		return nil // the note follows when its first record of this process is on the disk
	}
	return l.headFile.begin(l.headFile.note)
}

// signed is the first record of this process with what it says about itself.
func (l *Log) signed(rec []byte) []byte {
	rec = append(l.ownedBy(rec[:len(rec)-1]), '}')
	if about := bytes.TrimSpace(l.o.About); len(about) > 2 {
		rec = append(append(rec[:len(rec)-1], ','), about[1:]...)
	}
	return rec
}

// secure makes the names of the files last, and what is in them.
func (l *Log) secure() error {
	if l.o.Mode == Never {
		return nil
	}
	if err := l.sync([]File{l.file}); err != nil {
		return err
	}
	return l.syncNames()
}

// noteGone is why nothing proves that a log has not lost its end. [VerifyLog] knows it.
const noteGone = "the note of its newest record was gone: nothing shows whether records before this one were cut off"

// firstRecord is the first record of this process. Where the file is not what
// had been noted beside it, the chain goes on from what was noted, so that the
// place shows.
func (l *Log) firstRecord(found *Found, noted Note) []byte {
	switch {
	case noted.Head.Seq > l.head.Seq:
		found.Lost = fmt.Sprintf("records %d to %d are gone", l.head.Seq+1, noted.Head.Seq)
		l.head = noted.Head
		if l.size == 0 {
			l.first = l.head.Seq + 1
		}
		return l.carried("file_lost", found.Lost)
	case found.forged:
		found.Lost = fmt.Sprintf("record %d is not the one that was written", noted.Head.Seq)
		l.head.Hash = noted.Head.Hash
		return l.carried("file_lost", found.Lost)
	case noted.Log != "" && found.log != noted.Log && found.Head.Seq > 0:
		found.Lost = "it is another log than the one that was written here"
		return l.carried("file_lost", found.Lost)
	case !noted.There && found.Head.Seq > 0:
		found.Lost = noteGone
		return l.carried("file_lost", noteGone)
	case found.Torn > 0 || !found.closed || found.Fault != nil:
		return l.recovery(found)
	}
	return []byte(`{"event":"opened"}`)
}

func (l *Log) recovery(found *Found) []byte {
	reason := "the log was not closed"
	if found.Fault != nil {
		reason = found.Fault.Error()
	}
	rec := l.carried("recovered", reason)
	if found.Torn > 0 {
		rec = fmt.Appendf(rec[:len(rec)-1], `,"torn":%d}`, found.Torn)
	}
	return rec
}
