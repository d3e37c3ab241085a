package audit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private/powercut"
)

// A promise is what a log has said to be on the disk, and when.
type promise struct {
	step int
	rec  string
}

// A life is what a log does on a disk that will lose power.
type life struct {
	t        *testing.T
	disk     *powercut.Disk
	dirs     string
	path     string
	o        Options
	promises []promise
	said     []string // records that were appended and not yet promised
}

func newLife(t *testing.T, o Options) *life {
	root := ramDir(t)
	d := powercut.On(root)
	o.Disk, o.RetryEvery, o.Bridge = d, -1, "files"
	if o.Lag == 0 {
		o.Lag = time.Hour
	}
	return &life{t: t, disk: d, dirs: ramDir(t), path: filepath.Join(root, "state", "audit", "x.jsonl"), o: o}
}

// ramDir is a directory on no disk where there is such a thing: what is synced is
// the model's to say.
func ramDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "powercut-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (f *life) open() *Log {
	f.t.Helper()
	l, found, err := Open(f.path, f.o)
	if err != nil || found.Lost != "" || found.Fault != nil {
		f.t.Fatalf("%v %+v", err, found)
	}
	return l
}

func (f *life) append(l *Log, recs ...string) {
	f.t.Helper()
	mustAppend(f.t, l, recs...)
	f.said = append(f.said, recs...)
}

// sync makes of what was said a promise: whoever waited may act upon it now.
func (f *life) sync(l *Log) {
	f.t.Helper()
	syncNow(f.t, l)
	f.promised()
}

func (f *life) close(l *Log) {
	f.t.Helper()
	mustClose(f.t, l)
	f.promised()
}

// soon does something in no time, however long it sleeps.
func (f *life) soon(do func()) {
	outer := f.t
	synctest.Test(outer, func(t *testing.T) {
		f.t = t
		do()
	})
	f.t = outer
}

func (f *life) promised() {
	for _, rec := range f.said {
		f.promises = append(f.promises, promise{f.disk.Steps(), rec})
	}
	f.said = nil
}

// lives are what a log goes through, each with a power cut at every step.
var lives = map[string]struct {
	o  Options
	do func(f *life)
}{
	"append, sync, close": {Options{}, func(f *life) {
		l := f.open()
		f.append(l, decided(1, "allow"))
		f.sync(l)
		f.append(l, started(1))
		f.append(l, ended(1))
		f.append(l, whole(2)...)
		f.sync(l)
		f.close(l)
		l = f.open()
		f.append(l, whole(3)...)
		f.close(l)
	}},
	// The first file ends before the last eighth of it, which keep would sync too, or not in
	// time: then a sync of the full file that is left out is noticed on a quick machine alone.
	"rotate": {Options{MaxSize: 1360}, func(f *life) {
		l := f.open()
		for call := range 6 {
			f.append(l, decided(call+1, "allow"))
			f.append(l, started(call+1))
			if call%2 == 0 {
				f.sync(l)
			}
			f.append(l, ended(call+1))
		}
		f.close(l)
	}},
	"recover": {Options{MaxSize: 3000}, func(f *life) {
		faults := &faultyDisk{plan: plan{failWrite: 4, part: 700, failTruncate: 1}}
		f.o.Wrap = faults.wrap
		l := f.open()
		f.append(l, whole(1)...)
		f.sync(l)
		f.append(l, decided(2, "allow"))
		if err := l.Append(raw(whole(3))...); err == nil {
			f.t.Fatal("the write did not fail")
		}
		faults.heal()
		must(f.t, l.Retry())
		f.append(l, started(2))
		f.sync(l)
		f.close(l)
	}},
	"torn": {Options{}, func(f *life) {
		l := f.open()
		f.append(l, whole(1)...)
		f.sync(l)
		abandon(f.t, l)
		// It was killed while it wrote two records: nobody has synced the first.
		text := l.head.appendLine(nil, l.stamp, []byte(decided(2, "allow")))
		text = append(text, "\n"+`{"seq":6,"ts":"20`...)
		file, err := f.disk.Open(f.path, os.O_WRONLY|os.O_APPEND)
		must(f.t, err)
		_, err = file.Write(text)
		must(f.t, errors.Join(err, file.Close()))
		l = f.open()
		f.append(l, started(2))
		f.sync(l)
		f.close(l)
	}},
	"lost": {Options{}, func(f *life) {
		l := f.open()
		f.append(l, whole(1)...)
		f.sync(l)
		must(f.t, f.disk.Rename(f.path, fullName(f.path, 1))) // somebody else rotates
		forgetCheck(l)
		if err := l.Append(raw(whole(2))...); err == nil {
			f.t.Fatal("it was not missed")
		}
		must(f.t, f.disk.SyncDir(filepath.Dir(f.path)))
		must(f.t, l.Retry())
		f.append(l, whole(2)...)
		f.sync(l)
		f.close(l)
	}},
	"remove": {Options{MaxSize: 1200, Least: time.Nanosecond}, func(f *life) {
		l := f.open()
		for call := range 6 {
			mustAppend(f.t, l, whole(call+1)...) // they may be removed: no promise
		}
		mustClose(f.t, l)
		files, err := Files(f.path)
		must(f.t, err)
		_, total, err := sizesOf(files)
		must(f.t, err)
		f.o.KeepSize = total - 2200 // two files less
		l = f.open()
		gone := fullName(f.path, firstOf(f.path, filepath.Base(files[1])))
		eventually(f.t, "two files are removed", func() bool {
			trace := f.disk.Trace()
			i := slices.Index(trace, "remove state/audit/"+filepath.Base(gone))
			return i >= 0 && slices.Contains(trace[i:], "sync state/audit/")
		})
		f.append(l, decided(10, "allow"))
		f.sync(l)
		f.append(l, started(10))
		f.close(l)
	}},
	"head": {Options{}, func(f *life) {
		f.soon(func() {
			l := f.open()
			for call := range 5 {
				if call%2 == 0 {
					time.Sleep(headFileSync) // the note on the disk is old: the log syncs the next one
				}
				f.append(l, whole(call+1)...)
				f.sync(l)
				synctest.Wait() // the log has synced the note, or left it
			}
			f.close(l)
		})
	}},
}

// TestAPowerCutAtEveryStep: whatever a log said to be on the disk is there
// afterwards, and it verifies when it has been opened again, also when the power is
// cut once more meanwhile.
func TestAPowerCutAtEveryStep(t *testing.T) {
	for name := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := lived(t, name)
			if worst := f.cuts(tries()); worst != "" {
				t.Fatal(worst)
			}
			t.Logf("%d steps, %d promises", f.disk.Steps(), len(f.promises))
		})
	}
}

// tries is how often the power is cut at one step, each time with other remains.
func tries() int {
	if testing.Short() {
		return 1
	}
	return 4
}

// dir is an empty directory.
func (f *life) dir() string {
	f.t.Helper()
	dir, err := os.MkdirTemp(f.dirs, "")
	must(f.t, err)
	return dir
}

// cuts cuts the power after each step, and says what is wrong with what is found.
func (f *life) cuts(tries int, without ...int) string {
	first := 0
	if len(without) > 0 {
		first = without[0] // before, nothing is missing
	}
	for step := first; step <= f.disk.Steps(); step++ {
		for try := range tries {
			seed := uint64(step*1000 + try)
			dice := rand.New(rand.NewPCG(seed, 1))
			root := f.dir()
			must(f.t, f.disk.At(step, dice.IntN, root, without...))
			if why := f.revive(root, step, dice, len(without) == 0); why != "" {
				return fmt.Sprintf("cut after step %d, seed %d: %s\n%s", step, seed, why, dumpIn(f.t, root))
			}
			must(f.t, os.RemoveAll(root))
		}
	}
	return ""
}

// revive opens what a cut has left, and may cut the power while it does.
func (f *life) revive(root string, step int, dice *rand.Rand, again bool) string {
	path := filepath.Join(root, "state", "audit", "x.jsonl")
	d := powercut.On(root)
	o := f.o
	o.Disk = private.Disk(d)
	l, found, err := Open(path, o)
	if err != nil {
		return err.Error()
	}
	if err := l.Close(); err != nil {
		return err.Error()
	}
	if found.Lost != "" || found.Fault != nil {
		return fmt.Sprintf("lost %q, fault %v", found.Lost, found.Fault)
	}
	if again {
		second := f.dir()
		defer os.RemoveAll(second)
		must(f.t, d.At(dice.IntN(d.Steps()+1), dice.IntN, second))
		if why := f.revive(second, step, dice, false); why != "" {
			return "cut again: " + why + "\n" + dumpIn(f.t, second) + "\nbefore:"
		}
	}
	r, err := VerifyLog(path, Checks{Bridge: "files"})
	if err != nil {
		return err.Error()
	}
	if !r.OK || !r.Noted {
		return fmt.Sprintf("it does not verify: %v", r.Fault)
	}
	text := dumpIn(f.t, root)
	for _, p := range f.promises {
		if p.step <= step && !strings.Contains(text, p.rec[1:]) {
			return "it was said to be on the disk and is not: " + p.rec
		}
	}
	return ""
}

func dumpIn(t *testing.T, root string) string {
	t.Helper()
	path := filepath.Join(root, "state", "audit", "x.jsonl")
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err.Error()
	}
	return dump(t, path) + "\n-- head --\n" + headText(path)
}

func headText(path string) string {
	text, err := os.ReadFile(path + ".head")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func lived(t *testing.T, name string) *life {
	f := newLife(t, lives[name].o)
	lives[name].do(f)
	f.o.Wrap = nil
	return f
}

// TestAForgottenSyncIsNoticed leaves out one sync in a life, and expects that some
// power cut shows it: else the test above would say little.
func TestAForgottenSyncIsNoticed(t *testing.T) {
	const file, names, head = "sync state/audit/x.jsonl", "sync state/audit/", "sync state/audit/x.jsonl.head"
	for name, c := range map[string]struct {
		life, after, sync string // the first such sync after that step
	}{
		"of the directory above a new one":       {"append, sync, close", "", "sync state/"},
		"of what a person decided":               {"append, sync, close", head, file + " 2"},
		"of a file that is full":                 {"rotate", "rename state/audit/x.jsonl state/audit/x.jsonl.000000000001", file + " before"},
		"of the name of a full file":             {"rotate", "rename state/audit/x.jsonl state/audit/x.jsonl.000000000001", names},
		"of the name of a new file":              {"rotate", "rename state/audit/x.jsonl.new state/audit/x.jsonl", names},
		"of the note before the first record":    {"head", "", head},
		"of the name of the note":                {"head", head, names},
		"of the note before its other slot":      {"head", "write state/audit/x.jsonl", head},
		"of a file that was cut after failure":   {"recover", "truncate state/audit/x.jsonl", file},
		"of what a note of a torn tail is about": {"torn", "truncate state/audit/x.jsonl", file + " before"},
		"of the name of a file begun anew":       {"lost", "rename state/audit/x.jsonl state/audit/x.jsonl.000000000001", names + " 2"},
		"of the removal of one file before two":  {"remove", "remove state/audit/x.jsonl.000000000001", names},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := lived(t, c.life)
			left := which(f.disk.Trace(), c.after, c.sync)
			if left < 0 {
				t.Fatalf("there is no such sync:\n%s", strings.Join(f.disk.Trace(), "\n"))
			}
			why := f.cuts(60, left)
			if why == "" {
				t.Errorf("nobody notices that step %d, %s, is left out", left, c.sync)
			}
			t.Log(strings.SplitN(why, "\n", 2)[0])
		})
	}
}

// which is the first step sync behind the first step after; " 2" at its end: the
// second; " before": the last one before it.
func which(trace []string, after, sync string) int {
	if sync, before := strings.CutSuffix(sync, " before"); before {
		for i, what := range slices.Backward(trace[:slices.Index(trace, after)]) {
			if what == sync {
				return i
			}
		}
	}
	sync, second := strings.CutSuffix(sync, " 2")
	from := 0
	if after != "" {
		from = slices.Index(trace, after) + 1
	}
	i := from + slices.Index(trace[from:], sync)
	if second {
		i += 1 + slices.Index(trace[i+1:], sync)
	}
	if i < from || trace[i] != sync {
		return -1
	}
	return i
}
