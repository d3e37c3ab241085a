package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// followed collects the records that Follow yields, as event and call.
func followed(t *testing.T, path string, old bool) <-chan string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out := make(chan string, 1000)
	ended := make(chan struct{})
	ready := make(chan struct{})
	go func() {
		defer close(ended)
		close(ready)
		for line, err := range Follow(ctx, path, old) {
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
	out := followed(t, path, true)
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
	out := followed(t, path, false)
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
	out := followed(t, path, true)
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
	f := follower{path: path}
	t.Cleanup(f.close)
	must(t, f.begin(t.Context()))
	var got strings.Builder
	drain := func() {
		must(t, f.drain(t.Context(), func(r Record, err error) bool {
			must(t, err)
			fmt.Fprintf(&got, "%s\n", r.Text)
			return true
		}))
	}
	if l.Append(raw(whole(1))...) == nil {
		t.Fatal("it did not fail")
	}
	drain()
	d.heal()
	must(t, l.Retry())
	mustAppend(t, l, whole(1)...)
	drain()
	if want := string(read(t, path)); got.String() != want {
		t.Errorf("what was read:\n%swhat is there:\n%s", got.String(), want)
	}
}

func TestFollowOfNothing(t *testing.T) {
	for _, err := range Follow(t.Context(), filepath.Join(t.TempDir(), "none"), true) {
		if !os.IsNotExist(err) {
			t.Errorf("%v", err)
		}
		return
	}
	t.Error("there was no error")
}
