package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// pollEvery is how often a file that is followed is looked at: there is no notice of
// writes on all systems.
const pollEvery = 100 * time.Millisecond

// Follow yields the records of the log at path as they are written, until ctx
// ends; with old, those that are there already come first, but for those from before since.
// It goes on in the next file when one is full, and with what takes the place of a file
// that is deleted. Half a line is no record yet. A record that was read and does not count,
// because its write had failed, is followed by what is written in its place.
func Follow(ctx context.Context, path string, old bool, since time.Time) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f := newFollower(path, old, since)
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
	stat  func(name string) (fs.FileInfo, error)
	quiet bool      // what is read now is not yielded
	since time.Time // nor is what is from before
	file  *os.File
	name  string
	at    int64               // how far whole lines were read
	count int                 // of these lines
	mark  int                 // how many they were at the end of the file, the last time
	stuck int64               // where only half a line was left; -1: nowhere
	sums  [][sha256.Size]byte // of all lines that were read, each at its place
	seq   uint64              // of the newest record
	part  []byte
}

func newFollower(path string, old bool, since time.Time) *follower {
	return &follower{path: path, stat: os.Stat, quiet: !old, since: since}
}

func (f *follower) open(name string) error {
	file, err := private.OpenRegular(name)
	if err != nil {
		return err
	}
	f.close()
	f.file, f.name, f.stuck, f.sums = file, name, -1, nil
	f.anew()
	return nil
}

// anew has the file read from its beginning.
func (f *follower) anew() { f.at, f.count, f.mark, f.part = 0, 0, 0, nil }

// begin opens the first file that has something to tell. Where there are full files alone and
// nothing that is old is wanted it waits for the next one, which is about to take its place.
func (f *follower) begin(ctx context.Context) error {
	for ctx.Err() == nil {
		files, _ := Files(f.path) // without a directory there is no file to open
		name, err := f.first(files)
		if err == nil {
			err = f.open(name)
		}
		now, _ := Files(f.path)
		if !slices.Equal(files, now) { // it was full meanwhile, or removed
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) || len(files) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// first is the newest of files, or that from which on they may have records from since on.
func (f *follower) first(files []string) (string, error) {
	if f.quiet || len(files) == 0 {
		return f.path, nil
	}
	wanted, err := tail(files, func(_ string, h header, _ details) (bool, error) { return h.seq > 0 && h.at.Before(f.since), nil })
	if err != nil {
		return "", err
	}
	return wanted[0], nil
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
		if f.tookBack() {
			f.anew()
			continue
		}
		if !f.split(yield) {
			return errEnough
		}
		if err == io.EOF {
			f.part = f.part[:0] // half a line may be taken back; it is read again
			f.mark = f.count
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tookBack reports whether the first line after those that were at the end names another one
// before it. Reading anew finds where they begin to differ; if nowhere, the line is as it is.
func (f *follower) tookBack() bool {
	line, _, whole := bytes.Cut(f.part, []byte{'\n'})
	if !whole || f.count == 0 || f.count != f.mark {
		return false
	}
	h, _ := readHeader(line) // without one it is half a line, or none of ours
	return string(h.prev) != hex.EncodeToString(f.sums[f.count-1][:])
}

func (f *follower) split(yield func(Record, error) bool) bool {
	rest := f.part
	for {
		text, after, whole := bytes.Cut(rest, []byte{'\n'})
		if !whole {
			break
		}
		rest = after
		tell := f.news(text) && !f.quiet
		f.at += int64(len(text)) + 1
		f.count++
		h, err := readHeader(text)
		if err == nil {
			f.seq = h.seq
			tell = tell && !h.at.Before(f.since)
		}
		if tell && !yield(ReadRecord(Line{f.name, f.count, text, false}), nil) {
			return false
		}
	}
	f.part = append(f.part[:0], rest...)
	return true
}

// news reports whether the next line was not at its place when that was read before.
func (f *follower) news(text []byte) bool {
	sum := sha256.Sum256(text)
	if f.count < len(f.sums) && f.sums[f.count] == sum {
		return false
	}
	f.sums = append(f.sums[:f.count], sum)
	return true
}

// wait returns when there may be more to read, in this file or in the next.
func (f *follower) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(pollEvery):
	}
	return f.look()
}

// look goes on to the next file if this one was read to its end and has lost its place. Whether
// it has is asked first: nothing is written to it after that.
func (f *follower) look() error {
	now, gone := f.stat(f.path)
	mine, err := f.file.Stat()
	if err != nil {
		return err
	}
	if mine.Size() < f.at { // what was written did not count and was taken back
		f.anew()
	}
	if gone != nil || os.SameFile(now, mine) {
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
		if firstOf(f.path, filepath.Base(file)) > f.seq {
			return file // not always the next record: what has it may be removed by now
		}
	}
	return f.path
}
