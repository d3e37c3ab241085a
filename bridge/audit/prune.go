package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// pruneEvery is how often the age of full files is looked at.
const pruneEvery = time.Hour

// prune removes full files that are more than the owner wants to keep (FINDINGS
// M7). What is removed is put on record first, and that on the disk: a log that
// begins late is whole when it says so itself. Only keep calls it.
func (l *Log) prune() {
	if l.o.KeepSize <= 0 && l.o.KeepFor <= 0 || l.Err() != nil {
		return
	}
	l.pruned = time.Now()
	parts, err := l.surplus(l.wall())
	for _, p := range parts {
		if err == nil {
			err = l.remove(p)
		}
	}
	if err != nil {
		l.o.Log.Warn("old files of the audit log could not be removed", "error", err)
	}
}

// untilPrune is when prune is to be called again, though nothing happens.
func (l *Log) untilPrune() time.Duration {
	if l.o.KeepFor <= 0 {
		return time.Hour
	}
	return pruneEvery - time.Since(l.pruned)
}

// A part is a full file, and the last record in it.
type part struct {
	file string
	last Head
}

// surplus are the files to remove, oldest first.
func (l *Log) surplus(now time.Time) (parts []part, err error) {
	all, err := Files(l.path)
	if err != nil {
		return nil, err
	}
	sizes, total, err := sizesOf(all)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(all); i++ {
		next, _, err := beginning(all[i+1]) // which names the last record of this one, and came right after it
		if err != nil || next.seq == 0 {
			return parts, err
		}
		age := now.Sub(next.at)
		large, old := l.o.KeepSize > 0 && total > l.o.KeepSize, l.o.KeepFor > 0 && age > l.o.KeepFor
		if !large && !old {
			return parts, nil
		}
		if age < l.o.Least {
			l.o.Log.Warn("the audit log stays larger than its limit: the records of its last files are still needed", "bytes", total, "needed_for", l.o.Least.String())
			return parts, nil
		}
		last, err := ParseHead(fmt.Sprintf("%d:%s", next.seq-1, next.prev))
		if err != nil {
			return parts, err
		}
		parts = append(parts, part{all[i], last})
		total -= sizes[i]
	}
	return parts, nil
}

func sizesOf(files []string) (sizes []int64, total int64, err error) {
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return nil, 0, err
		}
		sizes = append(sizes, info.Size())
		total += info.Size()
	}
	return sizes, total, nil
}

// remove takes a file away. Each has a record of its own, and is gone before the
// next: wherever the power fails, the log begins where a record says that it does.
func (l *Log) remove(p part) error {
	first := firstOf(l.path, filepath.Base(p.file))
	rec := fmt.Appendf(nil, `{"event":"removed","first_seq":%d,"last_seq":%d,"head":"%x"}`, first, p.last.Seq, p.last.Hash)
	if err := l.append([][]byte{rec}, false); err != nil {
		return err
	}
	if l.flush(); l.Err() != nil {
		return l.Err()
	}
	var err error
	l.withinPatience(func() {
		if err = l.o.Disk.Remove(p.file); err == nil {
			err = l.syncNames()
		}
	})
	if err != nil {
		return err
	}
	l.o.Log.Info("removed the oldest file of the audit log, as told", "file", p.file, "first_seq", first, "last_seq", p.last.Seq)
	return nil
}
