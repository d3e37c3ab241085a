package audit

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A slowNote is a disk on which one of the syncs of the note beside the log hangs.
type slowNote struct {
	private.OS
	left *int // syncs until then
}

func (d slowNote) Open(path string, flag int) (private.File, error) {
	f, err := d.OS.Open(path, flag)
	if err == nil && strings.HasSuffix(path, ".head") {
		f = slowFile{f, d.left}
	}
	return f, err
}

type slowFile struct {
	private.File
	left *int
}

func (f slowFile) Sync() error {
	if *f.left--; *f.left == 0 {
		time.Sleep(10 * time.Second)
	}
	return f.File.Sync()
}

// Nobody's sync begins while the note of the newest record is on its way to the disk.
func TestANoteThatHungKeptThoseWaitingWhoSync(t *testing.T) {
	for which, when := range map[int]string{2: "after the start", 3: "later"} {
		path := newPath(t)
		synctest.Test(t, func(t *testing.T) {
			l, _ := open(t, path, Options{RetryEvery: -1, Lag: time.Hour, Disk: slowNote{left: &which}})
			if when == "later" {
				time.Sleep(2 * headFileSync)
				mustAppend(t, l, whole(1)...)
				syncNow(t, l)
			}
			synctest.Wait() // it hangs
			mustAppend(t, l, whole(2)...)
			began := time.Now()
			if err := trySync(l); !errors.Is(err, ErrSlow) || time.Since(began) != patience {
				t.Errorf("%s: %v after %v", when, err, time.Since(began))
			}
			if err := l.Append(raw(whole(3))...); !errors.Is(err, ErrSlow) {
				t.Errorf("%s: %v", when, err)
			}
			time.Sleep(10 * time.Second)
			if err := l.Retry(); err != nil {
				t.Errorf("%s: retry: %v", when, err)
			}
			mustAppend(t, l, whole(4)...)
			syncNow(t, l)
			mustClose(t, l)
		})
		verified(t, path)
	}
}

// slowRemoval is a disk that takes its time to take a file away.
type slowRemoval struct{ private.OS }

func (d slowRemoval) Remove(path string) error {
	if firstOf(strings.TrimSuffix(path, filepath.Ext(path)), filepath.Base(path)) > 0 {
		time.Sleep(10 * time.Second)
	}
	return d.OS.Remove(path)
}

// Nor while a full file is taken away.
func TestARemovalThatHungKeptThoseWaitingWhoSync(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		l, _ := open(t, path, Options{RetryEvery: -1, Memory: time.Minute, MaxSize: 1 << 10, KeepSize: 4 << 10, Disk: slowRemoval{}})
		for n := 1; l.Err() == nil; n++ {
			mustAppend(t, l, whole(n)...)
			if n == 100 {
				t.Fatal("nothing is removed")
			}
			time.Sleep(time.Minute)
		}
		if err := l.Err(); !errors.Is(err, ErrSlow) || l.Retry() != nil {
			t.Error(err)
		}
		mustClose(t, l)
	})
	verified(t, path)
}
