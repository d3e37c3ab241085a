package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Append writes records with one system call and without waiting for the
// disk. Each is the text of a JSON object whose first member is "event", and
// whose second is "call" if it is about one; it must have none of the members
// that the log itself writes, and be valid JSON, which is not checked. The
// bytes are copied.
//
// Either all records are in the log or none counts. An error that is not about
// the records themselves means that the log has failed; nothing that depended
// on them may happen. Append waits two seconds at most for others who append and,
// once the disk has shown signs of trouble, for its own write.
func (l *Log) Append(recs ...[]byte) error {
	if err := l.Err(); err != nil {
		return err
	}
	return l.append(recs, false)
}

// append writes recs; after the last ones nothing more is taken.
func (l *Log) append(recs [][]byte, last bool) error {
	if err := l.begin(); err != nil {
		return l.fail(err)
	}
	defer l.done()
	if err := l.Err(); err != nil {
		return err
	}
	if l.isClosed(last) {
		return ErrClosed
	}
	var err error
	if l.subjects, err = subjectsOf(l.subjects[:0], recs); err != nil {
		return err
	}
	now := l.wall()
	if err := l.checkFile(now); err != nil {
		return l.fail(err)
	}
	b := l.batch(now, recs)
	if l.size > 0 && l.size+int64(len(b.text)) > l.o.MaxSize {
		turned, err := l.rotate(now)
		if err != nil {
			return l.fail(err)
		}
		if turned {
			b = l.batch(now, recs)
		}
	}
	if err := l.write(b); err != nil {
		return l.fail(err)
	}
	l.calls.write(recs, l.subjects)
	return nil
}

// isClosed reports whether the log was closed before, and with close does so.
func (l *Log) isClosed(close bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.closed
	l.closed = was || close
	return was
}

// A batch is a number of lines, and the state of the log once they are
// written.
type batch struct {
	text  []byte
	stamp []byte // see appendStamp
	head  Head
	last  clocks
}

// batch builds the lines for recs, and before them the log's own records. The text is valid
// until the next batch.
func (l *Log) batch(now time.Time, recs [][]byte) batch {
	mono := l.mono()
	l.stamp = appendStamp(l.stamp[:0], now, mono)
	b := batch{text: l.buf[:0], stamp: l.stamp, head: l.head, last: l.last}
	if l.unterminated {
		b.text = append(b.text, '\n')
	}
	if l.size == 0 && l.head.Seq > 0 && !carries(recs) {
		b.add(l.carried("rotated", ""))
	}
	if by := b.last.jump(now, mono); by != 0 {
		b.add(fmt.Appendf(nil, `{"event":"clock_jump","by_ms":%d}`, by.Milliseconds()))
	}
	for _, rec := range recs {
		b.add(rec)
	}
	l.buf = b.text
	if cap(l.buf) > 1<<20 {
		l.buf = nil
	}
	return b
}

func (b *batch) add(rec []byte) {
	at := len(b.text)
	b.text = b.head.appendLine(b.text, b.stamp, rec)
	b.head = b.head.next(b.text[at:])
	b.text = append(b.text, '\n')
}

// write puts a batch into the file, or nothing of it.
func (l *Log) write(b batch) error {
	n, err := l.put(b.text)
	if err == nil && n < len(b.text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		l.leftover = len(b.text)
		if l.hungWrite == nil && l.file.Truncate(l.size) == nil {
			l.leftover = 0
		}
		return err
	}
	was := l.size
	l.size += int64(len(b.text))
	l.last, l.unterminated = b.last, false
	early := l.o.MaxSize - min(nearlyFull, l.o.MaxSize/8)
	l.wrote(b.head, was < early && early <= l.size)
	return nil
}

// wrote has what was written synced when Lag is over, or at once.
func (l *Log) wrote(head Head, atOnce bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = head
	switch {
	case atOnce:
		l.unsyncedSince = time.Now().Add(-l.o.Lag)
	case l.unsyncedSince.IsZero():
		l.unsyncedSince = time.Now()
	default:
		return
	}
	l.wakeKeep()
}

// checkFile returns [ErrLost] if the file is not the one any more that we write to. It looks
// once in freshCheck.
func (l *Log) checkFile(now time.Time) error {
	if age := now.Sub(l.checked); 0 <= age && age < freshCheck {
		return nil
	}
	why, err := l.changed(0)
	if err == nil && why != "" {
		err = fmt.Errorf("%w: %s was %s", ErrLost, l.path, why)
	}
	if err == nil {
		l.checked = now
	}
	return err
}

// changed returns what others did to the file since we last wrote, one word; "" if nothing.
// slack bytes behind its end may be ours.
func (l *Log) changed(slack int) (string, error) {
	info, err := os.Lstat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "deleted", nil
	case err != nil:
		return "", err
	case !os.SameFile(info, l.info):
		return "replaced", nil
	case info.Size() < l.size:
		return "cut", nil
	case info.Size() > l.size+int64(slack):
		return "written to", nil
	}
	return "", nil
}
