package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// A restless log turns over, and loses its oldest file, in the middle of what a reader
// does.
type restless struct {
	t    testing.TB
	l    *Log
	path string
	call int
	left int // how often it still does
}

// newRestless has four full files, and no record of what is in older ones.
func newRestless(t testing.TB, turns int) *restless {
	path := newPath(t)
	l, _ := open(t, path, Options{Mode: Never, MaxSize: 4 << 10, KeepSize: 16 << 10, Least: 1})
	r := &restless{t: t, l: l, path: path, left: 8}
	for r.left > 0 {
		r.turn()
	}
	r.left = turns
	return r
}

// turn writes until the log has begun a file, and waits until there is another oldest.
func (r *restless) turn() {
	if r.left == 0 {
		return
	}
	r.left--
	before, err := Files(r.path)
	must(r.t, err)
	r.fill(func(now []string) bool {
		return len(now) > 1 && (len(before) < 2 || now[len(now)-2] != before[len(before)-2])
	})
	if len(before) > 4 {
		eventually(r.t, "the oldest file is removed", func() bool {
			_, err := os.Stat(before[0])
			return errors.Is(err, os.ErrNotExist)
		})
	}
}

func (r *restless) fill(enough func(files []string) bool) {
	for range 1000 {
		r.call++
		mustAppend(r.t, r.l, whole(r.call)...)
		syncNow(r.t, r.l)
		files, err := Files(r.path)
		must(r.t, err)
		if enough(files) {
			return
		}
	}
	r.t.Fatal("the log does not turn over")
}

// opens turns the log over before each file is opened; reads, before the first line of
// each is read.
func (r *restless) opens(name string) (io.ReadCloser, error) {
	r.turn()
	return openFile(name)
}

func (r *restless) reads(name string) (io.ReadCloser, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	return &turning{f, r}, nil
}

// A turning file has the log turn over before its first line is read.
type turning struct {
	io.ReadCloser
	r *restless
}

func (f *turning) Read(p []byte) (int, error) {
	if f.r != nil {
		f.r.turn()
		f.r = nil
	}
	return f.ReadCloser.Read(p)
}

// turnings are when the log turns over.
var turnings = map[string]func(*restless) opener{
	"between listing and opening": func(r *restless) opener { return r.opens },
	"between opening and reading": func(r *restless) opener { return r.reads },
}

// With --audit-keep-size 1MB and a busy caller a log turned over while it was being
// verified: "records … are missing", or a file that was not there.
func TestALogThatTurnsOverWhileItIsVerifiedIsWhole(t *testing.T) {
	for name, open := range turnings {
		t.Run(name, func(t *testing.T) {
			r := newRestless(t, 30)
			report, err := verifyLog(r.path, Checks{}, open(r))
			if err != nil || !report.OK || !report.Noted || report.Removed == 0 {
				t.Errorf("%+v, fault %v, error %v", report, report.Fault, err)
			}
		})
	}
}

// The same while it is shown: nothing is left out, and nothing comes twice.
func TestALogThatTurnsOverWhileItIsShownIsShownWhole(t *testing.T) {
	for name, open := range turnings {
		t.Run(name, func(t *testing.T) {
			r := newRestless(t, 30)
			var last uint64
			all(r.path, open(r), func(line Line, err error) bool {
				must(t, err)
				h, err := readHeader(line.Text)
				must(t, err)
				if last > 0 && h.seq != last+1 {
					t.Fatalf("record %d comes after %d", h.seq, last)
				}
				last = h.seq
				return true
			})
			if last == 0 {
				t.Error("nothing is shown")
			}
		})
	}
}

// One that turns over without end cannot be read, which is no fault of the log.
func TestALogThatDoesNothingButTurnOverIsNotCalledBroken(t *testing.T) {
	r := newRestless(t, 1<<20)
	if report, err := verifyLog(r.path, Checks{}, r.opens); !errors.Is(err, ErrRestless) || report.Fault != nil || report.OK {
		t.Errorf("%+v, fault %v, error %v", report, report.Fault, err)
	}
	var told error
	all(r.path, r.opens, func(_ Line, err error) bool { told = err; return true })
	if !errors.Is(told, ErrRestless) {
		t.Error(told)
	}
}

// A bridge that is told to keep less removes more files at once than a reader holds.
func TestMoreFilesAreRemovedThanAreHeldWhileALogIsVerified(t *testing.T) {
	path := newPath(t)
	o := Options{Mode: Never, MaxSize: 1 << 10, Least: 1}
	l, _ := open(t, path, o)
	for call := range 3 * maxHeld {
		mustAppend(t, l, whole(call)...)
	}
	mustClose(t, l)
	files, err := Files(path)
	must(t, err)
	if len(files) < 2*maxHeld {
		t.Fatal(len(files))
	}
	opened := 0
	report, err := verifyLog(path, Checks{}, func(name string) (io.ReadCloser, error) {
		if opened++; opened == maxHeld+2 { // the first that is not held
			o.KeepSize = 4 << 10
			l, _ := open(t, path, o)
			eventually(t, "only what is to be kept is left", func() bool {
				mustAppend(t, l, `{"event":"tick"}`)
				now, err := Files(path)
				must(t, err)
				return len(now) < 8
			})
		}
		return openFile(name)
	})
	if err != nil || !report.OK || report.Removed == 0 {
		t.Errorf("%+v, fault %v, error %v", report, report.Fault, err)
	}
}

// Between two files there is none that is written to.
func TestALogBetweenTwoFilesIsFollowed(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustClose(t, l)
	must(t, os.Rename(path, fullName(path, 1)))
	for old, want := range map[bool]int{true: 2, false: 0} {
		ctx, stop := context.WithTimeout(t.Context(), 2*pollEvery)
		defer stop()
		got := 0
		for _, err := range Follow(ctx, path, old, time.Time{}) {
			must(t, err)
			got++
		}
		if got != want {
			t.Errorf("%d records are shown, not %d", got, want)
		}
	}
}

// A record that was changed is found however quickly the log turns over.
func TestALogThatTurnsOverWhileItIsVerifiedIsNotWholeWithAChangedRecord(t *testing.T) {
	for name, open := range turnings {
		t.Run(name, func(t *testing.T) {
			r := newRestless(t, 2)
			files, err := Files(r.path)
			must(t, err)
			newest := files[len(files)-2]
			write(t, newest, bytes.Replace(read(t, newest), []byte(`"from":"ana"`), []byte(`"from":"eve"`), 1))
			report, err := verifyLog(r.path, Checks{}, open(r))
			if err != nil || report.OK || !strings.Contains(report.Fault.Why, "the record was changed") {
				t.Errorf("%+v, fault %v, error %v", report, report.Fault, err)
			}
		})
	}
}
