package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// pollEvery is how often a file that is followed is looked at: there is no notice of
// writes on all systems.
const pollEvery = 100 * time.Millisecond

// Follow yields the records of the log at path as they are written, until ctx
// ends; with old, those that are there already come first. It goes on in the
// next file when one is full, and with what takes the place of a file that is
// deleted. Half a line is no record yet.
func Follow(ctx context.Context, path string, old bool) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f := follower{path: path, quiet: !old}
		defer f.close()
		if err := f.begin(ctx); err != nil {
			yield(Record{}, err)
			return
		}
		for ctx.Err() == nil {
			if err := f.drain(ctx, yield); err != nil {
				if err != errEnough {
					yield(Record{}, err)
				}
				return
			}
			f.quiet = false
			if err := f.wait(ctx); err != nil {
				yield(Record{}, err)
				return
			}
		}
	}
}

// errEnough ends the reading: the caller has seen enough.
var errEnough = errors.New("nobody wants more records")

// A follower reads one file after the other.
type follower struct {
	path  string
	quiet bool // what is read now is not yielded
	file  *os.File
	name  string
	at    int64 // how far whole lines were read
	count int
	stuck int64  // where only half a line was left; -1: nowhere
	seq   uint64 // of the newest record
	part  []byte
}

func (f *follower) open(name string) error {
	file, err := private.OpenRegular(name)
	if err != nil {
		return err
	}
	f.close()
	f.file, f.name, f.at, f.stuck, f.count, f.part = file, name, 0, -1, 0, nil
	return nil
}

// begin opens the newest file. Where there are full files alone it waits for the next one,
// which is about to take its place.
func (f *follower) begin(ctx context.Context) error {
	for ctx.Err() == nil {
		err := f.open(f.path)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if full, none := Files(f.path); none != nil || len(full) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
	return nil
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close()
	}
}

// drain yields the whole lines from f.at to the end of the file.
func (f *follower) drain(ctx context.Context, yield func(Record, error) bool) error {
	buf := make([]byte, 64<<10)
	for ctx.Err() == nil {
		n, err := f.file.ReadAt(buf, f.at+int64(len(f.part)))
		f.part = append(f.part, buf[:n]...)
		if !f.split(yield) {
			return errEnough
		}
		if err == io.EOF {
			f.part = f.part[:0] // half a line may be taken back; it is read again
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) split(yield func(Record, error) bool) bool {
	rest := f.part
	for {
		text, after, whole := bytes.Cut(rest, []byte{'\n'})
		if !whole {
			break
		}
		rest = after
		f.at += int64(len(text)) + 1
		f.count++
		if h, err := readHeader(text); err == nil {
			f.seq = h.seq
		}
		if !f.quiet && !yield(ReadRecord(Line{f.name, f.count, text, false}), nil) {
			return false
		}
	}
	f.part = append(f.part[:0], rest...)
	return true
}

// wait returns when there may be more to read, in this file or in the next.
func (f *follower) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(pollEvery):
	}
	mine, err := f.file.Stat()
	if err != nil {
		return err
	}
	if mine.Size() < f.at { // what was written did not count and was taken back
		f.at = mine.Size()
	}
	now, err := os.Stat(f.path)
	if err != nil || os.SameFile(now, mine) {
		return nil // gone for now, or still the same
	}
	if f.at < mine.Size() && f.at != f.stuck {
		f.stuck = f.at
		return nil // it was written to until it was renamed
	}
	if err := f.open(f.following()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // it has another name by now
}

// following is the file that goes on where this one ended.
func (f *follower) following() string {
	files, err := Files(f.path)
	if err != nil {
		return f.path
	}
	for _, file := range files {
		if firstOf(f.path, filepath.Base(file)) == f.seq+1 {
			return file
		}
	}
	return f.path
}
