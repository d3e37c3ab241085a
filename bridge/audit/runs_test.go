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

func runsOf(t *testing.T, path string, since time.Time, most int64) (took []string, reached time.Time) {
	t.Helper()
	runs, reached, err := Runs(path, since, most)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		took = append(took, r.Call+string(r.Took))
	}
	return took, reached
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
	took, reached := runsOf(t, path, time.Now().Add(-time.Hour), 1<<20)
	if want := []string{"1[1]", "2[2]", "4[4]"}; !slices.Equal(took, want) {
		t.Errorf("%q ran, not %q", took, want)
	}
	if reached.After(time.Now().Add(-time.Hour)) {
		t.Errorf("all was read, and it says that it came to %s", reached)
	}
	if took, _ := runsOf(t, path, time.Now(), 1<<20); len(took) > 0 {
		t.Errorf("%q ran before", took)
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
	since := time.Now().Add(-time.Hour)
	if took, reached := runsOf(t, path, since, 1<<20); len(took) != 100 || reached.After(since) {
		t.Errorf("%d calls ran, back to %s", len(took), reached)
	}
	took, reached := runsOf(t, path, since, 3<<10)
	if len(took) == 0 || len(took) > 50 || !reached.After(since) {
		t.Errorf("%d calls ran, back to %s", len(took), reached)
	}
	if err := os.Remove(files[0]); err != nil { // whoever moved it away has those calls too
		t.Fatal(err)
	}
	if took, _ := runsOf(t, path, since, 1<<20); len(took) >= 100 || len(took) < 80 {
		t.Errorf("%d calls ran", len(took))
	}
}
