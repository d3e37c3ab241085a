package outbox_test

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// BenchmarkReady writes one item to a pipe that has room, and reads it; Bare
// does the same without an outbox.
func BenchmarkReady(b *testing.B) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	o := outbox.New(w, outbox.Options{})
	item, buf := make([]byte, 200), make([]byte, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if o.Put(item) != nil {
			b.Fatal("full")
		}
		o.Flush()
		r.Read(buf)
	}
}

func BenchmarkBare(b *testing.B) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	item, buf := make([]byte, 200), make([]byte, 1000)
	for b.Loop() {
		w.Write(item)
		r.Read(buf)
	}
}

// BenchmarkPutFlush writes one item per system call to a pipe that is read.
func BenchmarkPutFlush(b *testing.B) { benchmark(b, 1, 200) }

// BenchmarkPut64Flush writes 64 items per system call.
func BenchmarkPut64Flush(b *testing.B) { benchmark(b, 64, 200) }

// BenchmarkLarge writes items that do not fit into the pipe.
func BenchmarkLarge(b *testing.B) { benchmark(b, 1, 96<<10) }

func benchmark(b *testing.B, items, size int) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	read := make(chan int64)
	go func() {
		n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 256<<10))
		read <- n
	}()
	o := outbox.New(w, outbox.Options{MaxBytes: 1 << 20})
	item := bytes.Repeat([]byte{'x'}, size)
	newline := []byte("\n")
	b.SetBytes(int64(items * (size + 1)))
	b.ReportAllocs()
	for b.Loop() {
		for range items {
			for o.Put(item, newline) != nil {
				o.Flush()
			}
		}
		o.Flush()
	}
	if err := o.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	w.Close()
	<-read
	r.Close()
}
