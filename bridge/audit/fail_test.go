package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A ledger is what the log owes us: what it acknowledged must be there, what
// it refused must not.
type ledger struct {
	kept, refused []string
}

func (g *ledger) append(l *Log, recs ...string) error {
	err := l.Append(raw(recs)...)
	if err == nil {
		g.kept = append(g.kept, recs...)
	} else {
		g.refused = append(g.refused, recs...)
	}
	return err
}

func (g *ledger) check(t *testing.T, path string) {
	t.Helper()
	text := dump(t, path)
	for _, rec := range g.kept {
		if strings.Count(text, rec[1:]) != 1 {
			t.Fatalf("it was acknowledged and is there %d times: %s\n%s", strings.Count(text, rec[1:]), rec, text)
		}
	}
	for _, rec := range g.refused {
		if strings.Contains(text, rec[1:]) {
			t.Fatalf("it was refused and is there: %s\n%s", rec, text)
		}
	}
}

// work does some calls, half of them synced, and goes on after failures once
// the disk is well.
func (g *ledger) work(t *testing.T, l *Log, d *faultyDisk) (failures int) {
	t.Helper()
	for call := range 8 {
		call++
		err := g.append(l, decided(call, "allow"), started(call))
		if err == nil && call%2 == 0 {
			err = trySync(l)
		}
		end := g.append(l, ended(call))
		if err == nil && end == nil {
			continue
		}
		failures++
		if err := g.append(l, fmt.Sprintf(`{"event":"never","call":%d}`, call)); err == nil {
			t.Fatal("it was admitted while the log was down")
		}
		d.heal()
		if err := l.Retry(); err != nil {
			t.Fatalf("retry: %v", err)
		}
		if end != nil && err == nil {
			g.append(l, strings.Replace(ended(call), `"ok"`, `"unknown"`, 1))
		}
	}
	return failures
}

// TestEveryWriteFailsOnce makes each write of a session fail in turn, in every
// way a write can.
func TestEveryWriteFailsOnce(t *testing.T) {
	for name, p := range map[string]plan{
		"nothing of it":          {},
		"one byte of it":         {part: 1},
		"half of a line":         {part: 150},
		"a line and a half":      {part: 500},
		"all of it":              {part: 1 << 20},
		"half of it, silently":   {part: 40, silent: true},
		"and cannot be undone":   {part: 500, failTruncate: 1},
		"all, and cannot undone": {part: 1 << 20, failTruncate: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 1; everyWrite(t, p, n); n++ {
			}
		})
	}
}

// everyWrite reports whether the n-th write was reached.
func everyWrite(t *testing.T, p plan, n int) bool {
	t.Helper()
	p.failWrite = n
	d := &faultyDisk{plan: p}
	path := newPath(t)
	o := Options{RetryEvery: -1, Wrap: d.wrap, MaxSize: 3 << 10}
	l, _, err := Open(path, o)
	if n == 1 {
		if !errors.Is(err, errDisk) && !errors.Is(err, os.ErrInvalid) && err == nil {
			t.Fatal("a log was opened that cannot be written")
		}
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	var g ledger
	failures := g.work(t, l, d)
	err = l.Close()
	d.mu.Lock()
	reached := d.writes >= n
	d.mu.Unlock()
	if failures == 0 && reached != (err != nil) {
		t.Fatalf("write %d of %d failed without anybody hearing of it", n, d.writes)
	}
	g.check(t, path)
	verified(t, path)
	return reached
}

// TestEverySyncFailsOnce: what waited for it is not told that it is safe, and
// the log goes on in a new file.
func TestEverySyncFailsOnce(t *testing.T) {
	for n := 2; ; n++ {
		path := newPath(t)
		d := &faultyDisk{plan: plan{failSync: n}}
		l, _ := open(t, path, Options{RetryEvery: -1, Lag: time.Hour, Wrap: d.wrap})
		var g ledger
		failures := g.work(t, l, d)
		err := l.Close()
		if err == nil && failures == 0 {
			if d.syncs >= n {
				t.Fatalf("sync %d failed and nobody heard of it", n)
			}
			return
		}
		g.check(t, path)
		if r := verified(t, path); failures > 0 && (r.Files != 2 || r.Recoveries != 1) {
			t.Fatalf("sync %d: %+v", n, r)
		}
	}
}

// TestADiskThatStaysBroken: nothing is admitted until it is well again, and
// nothing is left behind by the attempts.
func TestADiskThatStaysBroken(t *testing.T) {
	for name, d := range map[string]*faultyDisk{
		"writes": {plan: plan{failWrite: 3, part: 7, stay: true}},
		"syncs":  {plan: plan{failSync: 3, stay: true}},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			l, _ := open(t, path, Options{RetryEvery: -1, Lag: time.Hour, Wrap: d.wrap})
			var g ledger
			g.append(l, whole(1)...)
			syncNow(t, l)
			if err := g.append(l, whole(2)...); err == nil {
				err = trySync(l)
				if !errors.Is(err, errDisk) {
					t.Fatal(err)
				}
			}
			for range 5 {
				if err := l.Retry(); !errors.Is(err, errDisk) {
					t.Fatalf("retry: %v", err)
				}
				if err := g.append(l, whole(3)...); !errors.Is(err, errDisk) {
					t.Fatalf("append: %v", err)
				}
				if err := trySync(l); !errors.Is(err, errDisk) {
					t.Fatalf("sync: %v", err)
				}
			}
			d.heal()
			if err := l.Retry(); err != nil {
				t.Fatal(err)
			}
			g.append(l, whole(4)...)
			mustClose(t, l)
			g.check(t, path)
			if r := verified(t, path); r.Recoveries != 1 || r.Files > 2 {
				t.Fatalf("%+v", r)
			}
		})
	}
}

// TestItGoesOnByItself: no restart, nobody asks, and OnChange hears of both.
func TestItGoesOnByItself(t *testing.T) {
	d := &faultyDisk{plan: plan{failWrite: 2, part: 10, stay: true}}
	heard := make(chan error, 10)
	l, _ := open(t, newPath(t), Options{RetryEvery: time.Millisecond, Wrap: d.wrap, OnChange: func(err error) { heard <- err }})
	if err := l.Append(raw(whole(1))...); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	if err := <-heard; !errors.Is(err, errDisk) {
		t.Fatalf("heard %v", err)
	}
	d.heal()
	if err := <-heard; err != nil {
		t.Fatalf("heard %v", err)
	}
	mustAppend(t, l, whole(1)...)
	mustClose(t, l)
	verified(t, l.Path())
	if len(heard) > 0 {
		t.Errorf("also heard %v", <-heard)
	}
}

// TestAWriteThatHangs is given up after two seconds if the disk was slow
// before, and nothing of it counts when it ends after all.
func TestAWriteThatHangs(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		d := &faultyDisk{plan: plan{failWrite: 2, slowWrite: func() { time.Sleep(10 * time.Second) }}}
		l, _ := open(t, path, Options{RetryEvery: -1, Lag: time.Hour, Wrap: d.wrap})
		l.suspectDisk()
		var g ledger
		began := time.Now()
		if err := g.append(l, whole(1)...); !errors.Is(err, ErrSlow) || time.Since(began) != patience {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := g.append(l, whole(2)...); !errors.Is(err, ErrSlow) || time.Since(began) != patience {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := l.Retry(); !errors.Is(err, ErrSlow) {
			t.Errorf("retry while the write hangs: %v", err)
		}
		time.Sleep(10 * time.Second)
		if err := l.Retry(); err != nil {
			t.Errorf("retry: %v", err)
		}
		g.append(l, whole(3)...)
		mustClose(t, l)
		g.check(t, path)
	})
	verified(t, path)
}

// TestTheFirstWriteThatHangs holds its caller, because it is written where the
// caller is, but nobody else is admitted and nothing of it counts.
func TestTheFirstWriteThatHangs(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		d := &faultyDisk{plan: plan{failWrite: 2, slowWrite: func() { time.Sleep(3 * time.Second) }}}
		heard := make(chan error, 10)
		l, _ := open(t, path, Options{RetryEvery: -1, Lag: time.Hour, Wrap: d.wrap, OnChange: func(err error) { heard <- err }})
		var g ledger
		began := time.Now()
		refused := make(chan error, 2)
		for _, when := range []time.Duration{500 * time.Millisecond, 2500 * time.Millisecond} {
			time.AfterFunc(when, func() { refused <- l.Append(raw(whole(2))...) })
		}
		if err := g.append(l, whole(1)...); !errors.Is(err, ErrSlow) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := <-heard; !errors.Is(err, ErrSlow) {
			t.Errorf("heard %v", err)
		}
		for range 2 {
			if err := <-refused; !errors.Is(err, ErrSlow) {
				t.Error(err)
			}
		}
		if err := l.Retry(); err != nil {
			t.Errorf("retry: %v", err)
		}
		mustClose(t, l)
		g.check(t, path)
	})
	verified(t, path)
}

// TestAWriteThatHangsAfterOthersWentWell is noticed as soon, whenever the watch
// was set last, and those that went well fail nothing.
func TestAWriteThatHangsAfterOthersWentWell(t *testing.T) {
	for pace := 150 * time.Millisecond; pace < 5*time.Second; pace += 370 * time.Millisecond {
		path := newPath(t)
		synctest.Test(t, func(t *testing.T) {
			d := &faultyDisk{plan: plan{failWrite: 12, slowWrite: func() { time.Sleep(3 * time.Second) }}}
			heard := make(chan time.Time, 10)
			l, _ := open(t, path, Options{RetryEvery: -1, Lag: time.Hour, Wrap: d.wrap, OnChange: func(error) { heard <- time.Now() }})
			for n := range 10 {
				mustAppend(t, l, whole(n+1)...)
				time.Sleep(pace)
			}
			began := time.Now()
			if err := l.Append(raw(whole(11))...); !errors.Is(err, ErrSlow) {
				t.Errorf("%v between writes: %v", pace, err)
			}
			if at := (<-heard).Sub(began); at != patience || len(heard) > 0 {
				t.Errorf("%v between writes: heard of it after %v, and %d times more", pace, at, len(heard))
			}
			if err := l.Retry(); err != nil {
				t.Errorf("retry: %v", err)
			}
			mustClose(t, l)
		})
		verified(t, path)
	}
}

// TestASyncThatHangs has failed for all who wait after two seconds, and writes
// that come meanwhile do not hang with it.
func TestASyncThatHangs(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		d := &faultyDisk{plan: plan{failSync: 2, slowSync: func() { time.Sleep(5 * time.Second) }}}
		l, _ := open(t, path, Options{RetryEvery: -1, Lag: time.Hour, Wrap: d.wrap})
		mustAppend(t, l, whole(1)...)
		began := time.Now()
		answers := make(chan error, 3)
		l.Sync(func(err error) { answers <- err })
		synctest.Wait() // it hangs already
		l.Sync(func(err error) { answers <- err })
		time.Sleep(time.Second)
		mustAppend(t, l, whole(2)...)
		l.Sync(func(err error) { answers <- err })
		if !l.isSuspect() {
			t.Error("after a sync that takes long the disk is not suspect")
		}
		for range 3 {
			if err := <-answers; !errors.Is(err, ErrSlow) || time.Since(began) != patience {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		}
		if err := l.Append(raw(whole(3))...); !errors.Is(err, ErrSlow) {
			t.Error(err)
		}
		if err := l.Retry(); !errors.Is(err, ErrSlow) {
			t.Errorf("retry: %v", err)
		}
		time.Sleep(5 * time.Second)
		if err := l.Retry(); err != nil {
			t.Errorf("retry: %v", err)
		}
		syncNow(t, l)
		mustClose(t, l)
	})
	verified(t, path)
}

// What others do to the file while we write to it.
func TestTheFileIsTakenAway(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(t *testing.T, path string)
		reason string
		line   int
		why    string
	}{
		"deleted":   {func(t *testing.T, path string) { must(t, os.Remove(path)) }, "deleted", 1, "begins with record 5: those before are missing"},
		"all of it": {func(t *testing.T, path string) { must(t, os.RemoveAll(filepath.Dir(path))) }, "deleted", 1, "begins with record 5: those before are missing"},
		"replaced":  {replaced, "replaced", 1, "not a line of this log"},
		"cut":       {func(t *testing.T, path string) { must(t, os.Truncate(path, 380)) }, "cut", 2, "not valid JSON"},
		"written":   {written, "written to", 5, "not a line of this log"},
		"link":      {linked, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			l, _ := open(t, path, calm)
			var g ledger
			g.append(l, whole(1)...)
			syncNow(t, l)
			c.do(t, path)
			forgetCheck(l)
			if err := g.append(l, whole(2)...); !errors.Is(err, ErrLost) {
				t.Fatalf("append: %v", err)
			}
			if c.reason == "" {
				if err := l.Retry(); err == nil {
					t.Fatal("it went on through a link")
				}
				return
			}
			if err := l.Retry(); err != nil {
				t.Fatalf("retry: %v", err)
			}
			mustAppend(t, l, whole(3)...)
			mustClose(t, l)
			text := string(read(t, path))
			if !strings.Contains(text, `{"seq":5,`) || !strings.Contains(text, `"event":"file_lost","reason":"`+c.reason+`"`) {
				t.Fatal(text)
			}
			broken(t, path, c.line, c.why)
		})
	}
}

// forgetCheck makes the next batch look at the file, however recently one did.
func forgetCheck(l *Log) {
	l.turn <- struct{}{}
	l.checked = time.Time{}
	l.done()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func replaced(t *testing.T, path string) {
	write(t, path+".other", []byte("something else, without an end"))
	must(t, os.Rename(path+".other", path))
}

func written(t *testing.T, path string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("a line of my own\n")
	must(t, err)
}

func linked(t *testing.T, path string) {
	must(t, os.Rename(path, path+".moved"))
	must(t, os.Symlink(path+".moved", path))
}

// TestMovedAwayIsNotLost: somebody rotates our file. Given both, it is whole.
func TestMovedAwayIsNotLost(t *testing.T) {
	path := newPath(t)
	told := make(chan error, 8)
	l, _ := open(t, path, Options{OnChange: func(err error) { told <- err }})
	mustAppend(t, l, whole(1)...)
	must(t, os.Rename(path, path+".old"))
	forgetCheck(l)
	if err := l.Append(raw(whole(2))...); !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	for err := range told { // it goes on by itself
		if err == nil {
			break
		}
	}
	mustAppend(t, l, whole(2)...)
	mustClose(t, l)
	r, err := verifyFiles([]string{path + ".old", path}, Checks{})
	if err != nil || !r.OK || r.Losses != 1 || r.Starts != 2 {
		t.Fatalf("%+v %v, %v", r, err, r.Fault)
	}
	broken(t, path, 1, "those before are missing")
}
