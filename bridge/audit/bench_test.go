package audit

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"
)

// rec600 makes a line of about 600 bytes.
var rec600 = fmt.Appendf(nil, `{"event":"started","call":7,"from":"agent","tool":"read_file","args":{"path":"%0400d"}}`, 1)

func benchLog(b *testing.B, o Options) *Log {
	l, _ := open(b, newPath(b), o)
	b.Cleanup(func() {
		if err := l.Err(); err != nil {
			b.Error(err)
		}
	})
	b.SetBytes(int64(len(rec600) + 150))
	b.ReportAllocs()
	return l
}

// BenchmarkAppend writes one record per system call, synced by the log in its
// own time.
func BenchmarkAppend(b *testing.B) {
	l := benchLog(b, Options{})
	for b.Loop() {
		if err := l.Append(rec600); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendNever leaves syncing to the operating system.
func BenchmarkAppendNever(b *testing.B) {
	l := benchLog(b, Options{Mode: Never})
	for b.Loop() {
		if err := l.Append(rec600); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendTwo writes two records per system call, as decision and start
// of an allowed call are.
func BenchmarkAppendTwo(b *testing.B) {
	l := benchLog(b, Options{})
	for b.Loop() {
		if err := l.Append(rec600, rec600); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendSuspect is what a disk that has been slow costs.
func BenchmarkAppendSuspect(b *testing.B) {
	l := benchLog(b, Options{Mode: Never})
	for b.Loop() {
		l.suspectDisk()
		if err := l.Append(rec600); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSyncOne(b *testing.B) { benchmarkSync(b, 1) }

// BenchmarkSync64 has 64 who each wait until their record is on the disk.
func BenchmarkSync64(b *testing.B) { benchmarkSync(b, 64) }

func benchmarkSync(b *testing.B, waiters int) {
	l := benchLog(b, Options{})
	todo := make(chan struct{})
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() {
			done := make(chan error, 1)
			for range todo {
				if err := l.Append(rec600); err != nil {
					b.Error(err)
				}
				l.Sync(func(err error) { done <- err })
				if err := <-done; err != nil {
					b.Error(err)
				}
			}
		})
	}
	for b.Loop() {
		todo <- struct{}{}
	}
	close(todo)
	all.Wait()
}

func BenchmarkVerify(b *testing.B) {
	text := benchText(b, 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r := check(b, text, Checks{}); !r.OK {
			b.Fatal(r.Fault)
		}
	}
}

// BenchmarkOpen reads a log of 30 000 lines, 7 MiB.
func BenchmarkOpen(b *testing.B) {
	path := newPath(b)
	l, _ := open(b, path, Options{Mode: Never})
	for i := range 10_000 {
		mustAppend(b, l, whole(i)...)
	}
	mustClose(b, l)
	b.SetBytes(int64(len(read(b, path))))
	for b.Loop() {
		if _, err := replayed(path, Options{Memory: 15 * time.Minute}, Note{}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchText(b *testing.B, calls int) []byte {
	path := newPath(b)
	l, _ := open(b, path, Options{Mode: Never})
	for i := range calls {
		mustAppend(b, l, whole(i)...)
	}
	mustClose(b, l)
	return bytes.Clone(read(b, path))
}
