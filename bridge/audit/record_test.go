package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What of a line is of another kind than it should be is empty, and the rest is there.
func TestWhatCanBeReadOfABrokenRecord(t *testing.T) {
	for text, want := range map[string]Record{
		`{"seq":1,"event":"asked","call":7,"of":["a","b"]}`:         {Seq: 1, Event: "asked", Call: "7", Of: []string{"a", "b"}},
		`{"event":"x","call":"c","from":{"event":"y"},"tool":"t"}`:  {Event: "x", Call: "c", Tool: "t", Broken: true},
		`{"event":"x","event":"y","tool":"` + "\xff" + `","n":1e5}`: {Event: "y", Tool: "\ufffd"},
		`{"event":"x","tool":"t`:                                    {Event: "x", Broken: true},
		`{"event":"x"} {}`:                                          {Event: "x", Broken: true},
		`{"Event":"x"}`:                                             {},
		`["event"]`:                                                 {Broken: true},
		``:                                                          {Broken: true},
	} {
		r := ReadRecord(Line{Text: []byte(text)})
		if r.Event != want.Event || r.Call != want.Call || r.Tool != want.Tool || r.Seq != want.Seq || r.From != "" || !slices.Equal(r.Of, want.Of) || r.Broken != want.Broken {
			t.Errorf("%s is read as %+v", text, r)
		}
	}
}

// The records since a moment, and the lines of which nobody knows when they were written.
func TestRecordsSinceAMoment(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 1 << 10})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l.wall = func() time.Time { return now }
	for n := range 20 {
		now = now.Add(time.Hour)
		mustAppend(t, l, decided(n, "no"))
	}
	mustClose(t, l)
	write(t, path, append(read(t, path), "scribble\n"...))
	since := now.Add(-90 * time.Minute)
	var got []string
	for r, err := range Records(t.Context(), path, since) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Event == "decided" || r.Broken {
			got = append(got, r.Event+r.Call)
		}
	}
	if want := []string{"decided18", "decided19", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// However many records are from before, or nobody wants, reading ends when nobody waits for it.
func TestALogWasReadOnThoughNobodyWaited(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	for n := range 3 {
		mustAppend(t, l, decided(n, "no"))
	}
	mustClose(t, l)
	for _, since := range []time.Time{{}, time.Now().Add(time.Hour)} {
		ctx, leave := context.WithCancel(t.Context())
		leave()
		var got []error
		for r, err := range Records(ctx, path, since) {
			if got = append(got, err); err == nil {
				t.Errorf("%s is read", r.Text)
			}
		}
		if len(got) != 1 || !errors.Is(got[0], context.Canceled) {
			t.Errorf("it ends with %v", got)
		}
	}
}

// BenchmarkRecords reads a log as audit show does.
func BenchmarkRecords(b *testing.B) {
	path := newPath(b)
	must(b, os.Mkdir(filepath.Dir(path), 0o700))
	text := benchText(b, 1000)
	write(b, path, text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for r, err := range Records(b.Context(), path, time.Time{}) {
			if err != nil || r.Broken {
				b.Fatal(err, string(r.Text))
			}
		}
	}
}
