package audit

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

func startTook(call int, took string) string {
	return fmt.Sprintf(`{"event":"started","call":%d,"env":"e-%d","from":"ana","tool":"pay","took":%s}`, call, call, took)
}

func endExecuted(call int, executed string) string {
	return fmt.Sprintf(`{"event":"ended","call":%d,"outcome":"error","executed":%q}`, call, executed)
}

// runsOf are those that are found where nothing but the newest file is read for calls.
func runsOf(t *testing.T, path string, o Options) (took []string, from time.Time) {
	t.Helper()
	o.Memory = 1
	found, err := Try(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found.Runs {
		took = append(took, r.Call+string(r.Took))
	}
	return took, found.RunsFrom
}

func TestRunsAreWhatRanOrMayHave(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, decided(1, "allow"), startTook(1, `[1]`), endExecuted(1, "yes"))
	mustAppend(t, l, decided(2, "allow"), startTook(2, `[2]`), endExecuted(2, "unknown"))
	mustAppend(t, l, decided(3, "allow"), startTook(3, `[3]`), decided(4, "allow"), startTook(4, `[4]`), endExecuted(3, "no"))
	mustAppend(t, l, whole(5)...)
	mustAppend(t, l, `{"event":"decided","call":6,"verdict":"allow","args":{"x":"\"took\":[6]","took":[6]}}`,
		`{"event":"started","call":6,"args":{"took":[6]}}`, `{"event":"rejected","took":[7],"executed":"no"}`)
	mustClose(t, l)
	took, from := runsOf(t, path, Options{Runs: time.Hour})
	if want := []string{"1[1]", "2[2]", "4[4]"}; !slices.Equal(took, want) {
		t.Errorf("%q ran, not %q", took, want)
	}
	if from.After(time.Now().Add(-time.Hour)) {
		t.Errorf("all was read, and it says that it came to %s", from)
	}
	if took, _ := runsOf(t, path, Options{Runs: 1}); len(took) > 0 {
		t.Errorf("%q ran before", took)
	}
	if took, _ := runsOf(t, path, Options{}); len(took) > 0 {
		t.Errorf("%q ran, which nobody wants to know", took)
	}
}

// A log of many files is read as far as it is needed, and no further than it may be.
func TestRunsReadNoMoreThanTheyMay(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 1 << 10})
	for n := range 100 {
		mustAppend(t, l, decided(n, "allow"), startTook(n, `[]`), endExecuted(n, "yes"))
	}
	mustClose(t, l)
	files, err := Files(path)
	if err != nil || len(files) < 10 {
		t.Fatalf("there are %d files (%v)", len(files), err)
	}
	if took, from := runsOf(t, path, Options{Runs: time.Hour}); len(took) != 100 || time.Since(from) < time.Hour {
		t.Errorf("%d calls ran, back to %s", len(took), from)
	}
	took, from := runsOf(t, path, Options{Runs: time.Hour, RunsMost: 3 << 10})
	if len(took) == 0 || len(took) > 50 || time.Since(from) >= time.Hour {
		t.Errorf("%d calls ran, back to %s", len(took), from)
	}
	if found, err := Try(path, Options{Runs: time.Hour, RunsMost: 3 << 10}); err != nil || len(found.Runs) != 100 || time.Since(found.RunsFrom) < time.Hour {
		t.Errorf("all files are read for their calls, and %d of these ran, back to %s (%v)", len(found.Runs), found.RunsFrom, err)
	}
	if err := os.Remove(files[0]); err != nil { // whoever moved it away has those calls too
		t.Fatal(err)
	}
	if took, _ := runsOf(t, path, Options{Runs: time.Hour}); len(took) >= 100 || len(took) < 80 {
		t.Errorf("%d calls ran", len(took))
	}
}
