package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// followed collects the records that Follow yields, as event and call.
func followed(t *testing.T, path string, old bool, since time.Time) <-chan string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out := make(chan string, 1000)
	ended := make(chan struct{})
	ready := make(chan struct{})
	go func() {
		defer close(ended)
		close(ready)
		for line, err := range Follow(ctx, path, old, since) {
			if err != nil {
				t.Errorf("follow: %v", err)
				return
			}
			h, err := readHeader(line.Text)
			if err != nil {
				t.Errorf("follow: %q: %v", line.Text, err)
			}
			out <- fmt.Sprintf("%d %s", h.seq, h.event)
		}
	}()
	<-ready
	t.Cleanup(func() { stop(); <-ended })
	return out
}

func expect(t *testing.T, out <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-out; got != w {
			t.Fatalf("got %s, want %s", got, w)
		}
	}
}

func TestFollowGoesThroughRotations(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 600})
	out := followed(t, path, true, time.Time{})
	expect(t, out, "1 opened")
	seq := 1
	for call := range 20 { // several files per look
		mustAppend(t, l, decided(call+1, "allow"), started(call+1))
		mustAppend(t, l, ended(call+1))
	}
	last := l.Head().Seq
	for uint64(seq) < last {
		seq++
		got := <-out
		var n int
		if fmt.Sscan(got, &n); n != seq {
			t.Fatalf("got %s, want record %d", got, seq)
		}
	}
}

func TestFollowShowsOnlyWhatIsNew(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	out := followed(t, path, false, time.Time{})
	// What is appended before it has begun may be old already; it goes on until it is seen.
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		if got := <-out; got == "1 opened" || got == "2 decided" {
			t.Errorf("%s is old", got)
		}
	}()
	eventually(t, "new records are seen", func() bool {
		mustAppend(t, l, `{"event":"tick"}`)
		select {
		case <-seen:
			return true
		default:
			return false
		}
	})
}

// TestFollowSurvivesWhatIsTakenBack: a torn write is not shown, nor is the
// follower lost when the file is taken away.
func TestFollowSurvivesWhatIsTakenBack(t *testing.T) {
	path := newPath(t)
	d := &faultyDisk{plan: plan{failWrite: 2, part: 100, failTruncate: 1}}
	l, _ := open(t, path, Options{RetryEvery: -1, Wrap: d.wrap})
	out := followed(t, path, true, time.Time{})
	expect(t, out, "1 opened")
	if l.Append(raw(whole(1))...) == nil {
		t.Fatal("it did not fail")
	}
	d.heal()
	must(t, l.Retry())
	mustAppend(t, l, whole(1)...)
	expect(t, out, "2 recovered", "3 decided", "4 started", "5 ended")
	must(t, os.Remove(path))
	forgetCheck(l)
	if l.Append(raw(whole(2))...) == nil {
		t.Fatal("it wrote to a file that is gone")
	}
	must(t, l.Retry())
	mustAppend(t, l, whole(2)...)
	expect(t, out, "6 file_lost", "7 decided", "8 started", "9 ended")
}

// Half a line that was read before it was taken back is no part of what is written in its place.
func TestHalfALineThatIsTakenBackIsNotFollowed(t *testing.T) {
	path := newPath(t)
	d := &faultyDisk{plan: plan{failWrite: 2, part: 100, failTruncate: 1}}
	l, _ := open(t, path, Options{RetryEvery: -1, Wrap: d.wrap})
	f := begun(t, path)
	if l.Append(raw(whole(1))...) == nil {
		t.Fatal("it did not fail")
	}
	got := rest(t, f)
	d.heal()
	must(t, l.Retry())
	mustAppend(t, l, whole(1)...)
	got += rest(t, f)
	if want := string(read(t, path)); got != want {
		t.Errorf("what was read:\n%swhat is there:\n%s", got, want)
	}
}

// begun is a follower of all that is in a log.
func begun(t *testing.T, path string) *follower {
	t.Helper()
	f := newFollower(path, true, time.Time{})
	t.Cleanup(f.close)
	must(t, f.begin(t.Context()))
	return f
}

// rest is what a follower reads up to the end of its file.
func rest(t *testing.T, f *follower) string {
	t.Helper()
	var all strings.Builder
	must(t, f.drain(t.Context(), func(r Record, err error) bool {
		must(t, err)
		fmt.Fprintf(&all, "%s\n", r.Text)
		return true
	}))
	return all.String()
}

// A write that failed may have left whole records, which are read. What is written in their place is read too, be it shorter
// or longer.
func TestWhatTakesThePlaceOfRecordsThatAreTakenBackIsFollowed(t *testing.T) {
	for name, then := range map[string][]string{"shorter": nil, "longer": whole(1)} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			d := &faultyDisk{plan: plan{failWrite: 2, part: 1 << 20, failTruncate: 1}}
			l, _ := open(t, path, Options{RetryEvery: -1, Wrap: d.wrap})
			f := begun(t, path)
			opened := rest(t, f)
			if l.Append(raw(whole(1))...) == nil {
				t.Fatal("it did not fail")
			}
			back := rest(t, f)
			d.heal()
			must(t, l.Retry())
			if then != nil {
				mustAppend(t, l, then...)
			}
			must(t, f.look())
			if got, want := opened+rest(t, f), string(read(t, path)); linesIn([]byte(back)) != 3 || got != want {
				t.Errorf("what was read:\n%swhat is there:\n%s", got, want)
			}
		})
	}
}

// In a log that somebody has changed a line may fit to nothing before it.
func TestALineThatFitsToNothingIsFollowedOnce(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustClose(t, l)
	f := begun(t, path)
	rest(t, f)
	write(t, path, append(read(t, path), "garbage\n"...))
	if got := rest(t, f) + rest(t, f); got != "garbage\n" {
		t.Errorf("%q", got)
	}
}

// A record may come, and its file be full, between two looks of a follower.
func TestTheLastRecordsOfAFileAreFollowed(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 1 << 10})
	f := begun(t, path)
	var got strings.Builder
	got.WriteString(rest(t, f))
	f.stat = func(name string) (os.FileInfo, error) {
		f.stat = os.Stat
		mustAppend(t, l, `{"event":"last"}`)
		turnOver(t, l)
		return os.Stat(name)
	}
	for range 3 {
		must(t, f.look())
		got.WriteString(rest(t, f))
	}
	var want []byte
	files, err := Files(path)
	must(t, err)
	for _, file := range files {
		want = append(want, read(t, file)...)
	}
	if got.String() != string(want) {
		t.Errorf("what was read:\n%swhat is there:\n%s", got.String(), want)
	}
}

// Old files may be removed while somebody reads them.
func TestFollowGoesOnBehindAFileThatWasRemoved(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 600})
	for call := range 20 {
		mustAppend(t, l, whole(call)...)
	}
	f := begun(t, path)
	rest(t, f)
	files, err := Files(path)
	must(t, err)
	must(t, os.Remove(files[1]))
	if got := f.following(); got != files[2] {
		t.Errorf("it goes on with %s, not %s", got, files[2])
	}
}

func TestFollowBeginsWithTheFirstFileThatIsWanted(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 600})
	for call := range 20 {
		mustAppend(t, l, whole(call)...)
	}
	files, err := Files(path)
	must(t, err)
	middle, _, err := beginning(files[len(files)/2])
	must(t, err)
	for _, since := range []time.Time{{}, middle.at} {
		var want []string
		for r, err := range Records(t.Context(), path, since) {
			must(t, err)
			want = append(want, fmt.Sprintf("%d %s", r.Seq, r.Event))
		}
		if all := since.IsZero(); all != slices.Contains(want, "1 opened") {
			t.Fatal(want)
		}
		expect(t, followed(t, path, true, since), want...)
	}
	f := newFollower(path, true, middle.at)
	t.Cleanup(f.close)
	if must(t, f.begin(t.Context())); f.name == files[0] {
		t.Error("it reads files in which nothing is wanted")
	}
}

func TestFollowOfNothing(t *testing.T) {
	for _, err := range Follow(t.Context(), filepath.Join(t.TempDir(), "none"), true, time.Time{}) {
		if !os.IsNotExist(err) {
			t.Errorf("%v", err)
		}
		return
	}
	t.Error("there was no error")
}
