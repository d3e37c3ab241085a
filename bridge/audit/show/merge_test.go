package show_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
)

// Of several logs the records come by their times, each log's in its own order, also where a
// record says no time; a log that is gone keeps nobody from the others.
func TestRecordsOfSeveralLogs(t *testing.T) {
	dir := t.TempDir()
	log := func(name string, calls ...string) string {
		var lines strings.Builder
		for _, call := range calls {
			at, call, _ := strings.Cut(call, " ")
			if at != "?" {
				at = `"ts":"2026-01-31T12:00:0` + at + `.000000Z",`
			}
			fmt.Fprintf(&lines, `{"seq":1,%s"event":"started","call":%q}`+"\n", strings.Trim(at, "?"), call)
		}
		path := filepath.Join(dir, name+".jsonl")
		if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	paths := []string{log("notes", "1 a", "4 d", "? e", "6 g"), filepath.Join(dir, "gone.jsonl"), log("files", "2 b", "3 c", "5 f")}
	for n, want := range []string{"a b c d e f g", "g", "f g", "e f g"} {
		found, err := show.Filter{Last: n}.In(t.Context(), paths, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var calls []string
		gone := 0
		for r, err := range found {
			switch {
			case errors.Is(err, fs.ErrNotExist) && r.Path == paths[1]:
				gone++
			case err != nil:
				t.Error(err)
			default:
				if !strings.Contains(string(r.Text), `"call":"`+r.Call+`"`) {
					t.Errorf("the text of %s is %s", r.Call, r.Text)
				}
				calls = append(calls, r.Call)
			}
		}
		if got := strings.Join(calls, " "); got != want || gone != 1 {
			t.Errorf("the last %d are %s, with %d logs gone", n, got, gone)
		}
	}
	if ids := show.Bridges(dir, paths); ids[paths[0]] != "notes" || len(ids) != 3 {
		t.Errorf("they are of %q", ids)
	}
	if all, err := show.Every(dir); err != nil || !slices.Equal(all, []string{paths[2], paths[0]}) {
		t.Errorf("all are %q, %v", all, err)
	}
}

// A search that finds nothing ends when nobody waits for it any more, however many records it has
// still to look at.
func TestASearchThatFindsNothingCouldNotBeCalledOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat(`{"seq":1,"event":"started","call":"1"}`+"\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := &fleeting{Context: t.Context(), left: 10}
	found, err := show.Filter{Call: "none"}.In(ctx, []string{path}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var ends []error
	for r, err := range found {
		if ends = append(ends, err); err == nil {
			t.Errorf("found %s", r.Text)
		}
	}
	if len(ends) != 1 || !errors.Is(ends[0], context.Canceled) || ctx.left != 0 {
		t.Errorf("it ends with %v, with %d records to go", ends, ctx.left)
	}
}

// A fleeting context has ended once it was looked at so many times.
type fleeting struct {
	context.Context
	left int
}

func (f *fleeting) Err() error {
	if f.left == 0 {
		return context.Canceled
	}
	f.left--
	return nil
}
