package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestALineIsWrittenAsDocumented(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, `{"event":"started","call":3,"args":{"a":"<&>\u2028"},`+"\n"+`"n":9007199254740993}`)
	mustClose(t, l)
	lines := strings.Split(string(read(t, path)), "\n")
	first := regexp.MustCompile(`^\{"seq":1,"ts":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z","mono_ms":\d+,"prev":"0{64}","event":"opened","log":"[0-9a-f]{32}"\}$`)
	if !first.MatchString(lines[0]) {
		t.Errorf("first line: %s", lines[0])
	}
	prev := fmt.Sprintf("%x", Head{}.next([]byte(lines[0])).Hash)
	if want := `"prev":"` + prev + `","event":"started","call":3,"args":{"a":"<&>\u2028"}, "n":9007199254740993}`; !strings.HasSuffix(lines[1], want) {
		t.Errorf("second line: %s\nwant it to end with %s", lines[1], want)
	}
}

func TestWhatIsNoRecordIsRefusedAndHarmsNothing(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	for _, rec := range []string{``, `{}`, `[]`, `{"call":1,"event":"x"}`, `{"event":"X"}`, `{"event":""}`, `{"event":"x"`, `{"event":"x","call":`, ` {"event":"x"}`} {
		if err := l.Append([]byte(`{"event":"fine"}`), []byte(rec)); err == nil || l.Err() != nil {
			t.Errorf("%q: %v, log: %v", rec, err, l.Err())
		}
	}
	mustClose(t, l)
	wantEvents(t, path, "opened, closed")
}

func TestTheChainGoesOnOverRestarts(t *testing.T) {
	path := newPath(t)
	for i := range 3 {
		l, found := open(t, path, Options{})
		if found.LastCall != uint64(i) {
			t.Errorf("last call %d, want %d", found.LastCall, i)
		}
		mustAppend(t, l, whole(i+1)...)
		mustClose(t, l)
	}
	r := verified(t, path)
	if r.Records != 15 || r.Starts != 3 || !r.Closed || len(r.Unfinished) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestManyAppendAtOnce(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 8 << 10})
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 50 {
				if err := l.Append(raw(whole(1000*w + i))...); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					if err := trySync(l); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	mustClose(t, l)
	if r := verified(t, path); r.Starts != 400 || r.Files < 10 {
		t.Errorf("%+v", r)
	}
}

func TestSyncedFollowsHead(t *testing.T) {
	l, _ := open(t, newPath(t), Options{Lag: time.Hour})
	before := l.Synced()
	mustAppend(t, l, whole(1)...)
	if l.Synced() != before || l.Head().Seq != before.Seq+3 {
		t.Errorf("synced %d, head %d", l.Synced().Seq, l.Head().Seq)
	}
	syncNow(t, l)
	if l.Synced() != l.Head() {
		t.Errorf("synced %d, head %d", l.Synced().Seq, l.Head().Seq)
	}
}

func TestWhatNobodyWaitsForIsSyncedToo(t *testing.T) {
	l, _ := open(t, newPath(t), Options{Lag: time.Millisecond})
	mustAppend(t, l, whole(1)...)
	eventually(t, "synced", func() bool { return l.Synced() == l.Head() })
}

func TestModes(t *testing.T) {
	for text, waits := range map[string][2]bool{"decisions": {true, false}, "always": {true, true}, "never": {false, false}} {
		m, err := ParseMode(text)
		if err != nil || m.String() != text || m.Waits(true) != waits[0] || m.Waits(false) != waits[1] {
			t.Errorf("%s: %v, %v, waits %v %v", text, err, m, m.Waits(true), m.Waits(false))
		}
	}
	if _, err := ParseMode("sometimes"); err == nil {
		t.Error("sometimes is a mode")
	}
}

func TestNeverSyncs(t *testing.T) {
	d := &faultyDisk{plan: plan{failSync: 1}}
	l, _ := open(t, newPath(t), Options{Mode: Never, Wrap: d.wrap})
	mustAppend(t, l, whole(1)...)
	syncNow(t, l)
	mustClose(t, l)
}

func TestTwoWriters(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	if _, _, err := Open(path, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("second writer: %v", err)
	}
	os.Remove(path + ".head") // the lock of the log itself remains
	if _, _, err := Open(path, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("second writer without the head file: %v", err)
	}
	mustClose(t, l)
	l, _ = open(t, path, Options{})
	mustClose(t, l)
	verified(t, path)
}

func TestFilesAreOursAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing here")
	}
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 1})
	mustAppend(t, l, whole(1)...)
	mustClose(t, l)
	for name, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + ".head": 0o600, path + ".000000000001": 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestWhatOthersCanReachIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing here")
	}
	for name, c := range map[string]struct {
		prepare func(path string) error
		want    string
	}{
		"readable": {func(path string) error { return os.WriteFile(path, nil, 0o644) }, "mode 0644"},
		"link":     {func(path string) error { return os.Symlink("elsewhere", path) }, "no regular file"},
		"full":     {func(path string) error { return os.Symlink("/dev/full", path) }, "no regular file"},
		"dir":      {func(path string) error { return os.Mkdir(path, 0o700) }, "no regular file"},
		"open dir": {func(path string) error { return os.Chmod(filepath.Dir(path), 0o777) }, "mode 0777"},
		"head":     {func(path string) error { return os.WriteFile(path+".head", nil, 0o640) }, "mode 0640"},
	} {
		path := newPath(t)
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.prepare(path); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestDevicesAreRefused(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	if _, _, err := Open("/dev/full", Options{}); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
	if _, err := os.Stat("/dev/full.head"); err == nil {
		t.Error("something was left beside the device")
	}
}

func TestADirectoryThatCannotBeWritten(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("nothing stops us here")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(filepath.Join(dir, "x.jsonl"), Options{}); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
}

func TestAClosedLogAdmitsNothing(t *testing.T) {
	l, _ := open(t, newPath(t), Options{})
	mustClose(t, l)
	mustClose(t, l)
	if err := l.Append([]byte(`{"event":"x"}`)); !errors.Is(err, ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if err := trySync(l); !errors.Is(err, ErrClosed) {
		t.Errorf("Sync: %v", err)
	}
}

func TestClockJump(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	l.turn <- struct{}{}
	l.wall = func() time.Time { return time.Now().Add(-time.Hour) }
	l.done()
	mustAppend(t, l, whole(2)...)
	mustAppend(t, l, whole(3)...)
	mustClose(t, l)
	if r := verified(t, path); r.Jumps != 1 || !strings.Contains(string(read(t, path)), `"event":"clock_jump","by_ms":-`) {
		t.Errorf("%+v", r)
	}
}

func TestHeads(t *testing.T) {
	h := Head{}.next([]byte("x"))
	got, err := ParseHead(h.String())
	if err != nil || got != h {
		t.Errorf("%v: %v %v", h, got, err)
	}
	for _, text := range []string{"", "1", "1:ab", "0:" + strings.Repeat("0", 64), "x:" + strings.Repeat("0", 64), "1:" + strings.Repeat("g", 64), h.String() + "0"} {
		if _, err := ParseHead(text); err == nil {
			t.Errorf("%q is a head", text)
		}
	}
}
