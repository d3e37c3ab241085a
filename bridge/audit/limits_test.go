package audit

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAFileThatCannotBeTurnedOver grows on: that is no reason to stop.
func TestAFileThatCannotBeTurnedOver(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 1 << 10})
	write(t, fullName(path, 1), nil) // somebody has taken the name
	for i := range 10 {
		mustAppend(t, l, whole(i)...)
	}
	mustClose(t, l)
	if _, err := os.Stat(path + ".new"); err == nil {
		t.Error("a new file was left behind")
	}
	must(t, os.Remove(fullName(path, 1)))
	if r := verified(t, path); r.Files != 1 || r.Starts != 10 {
		t.Errorf("%+v", r)
	}
}

func TestTheHeadFileComesBack(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	must(t, os.Remove(path+".head"))
	mustAppend(t, l, whole(1)...)
	syncNow(t, l)
	if noted, err := ReadHeadFile(path); err != nil || noted.Head != l.Head() || !noted.There {
		t.Errorf("%v %v, want %v", noted, err, l.Head())
	}
	must(t, os.Remove(path+".head"))
	must(t, os.Mkdir(path+".head", 0o700)) // it cannot come back: the log goes on
	mustAppend(t, l, whole(2)...)
	syncNow(t, l)
	must(t, os.Remove(path+".head"))
	mustAppend(t, l, whole(3)...)
	syncNow(t, l)
	mustClose(t, l)
	if r := verified(t, path); r.Checked != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAHeadFileThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "{", `{"seq":1,"hash":"ab"}`, `{"seq":1,"hash":"` + strings.Repeat("x", 64) + `"}`} {
		path := newPath(t)
		l, _ := open(t, path, Options{})
		mustClose(t, l)
		write(t, path+".head", []byte(text))
		if noted, err := ReadHeadFile(path); err != nil || noted != (Note{}) {
			t.Errorf("%q: %v %v", text, noted, err)
		}
		l, found := open(t, path, Options{})
		mustClose(t, l)
		if found.Lost != noteGone {
			t.Errorf("%q: %+v", text, found)
		}
		broken(t, path, 3, "the note of its newest record was gone")
	}
}

// Verify remembers what it must, and not all that it ever read.
func TestMemoryOfVerifyIsBounded(t *testing.T) {
	var h hashes
	head := Head{}
	for range 5 * maxHashes {
		head = head.next([]byte("x"))
		h.add(head)
	}
	if got, ok := h.of(head.Seq - maxHashes + 1); !ok || got.Seq != head.Seq-maxHashes+1 {
		t.Errorf("%v %v", got, ok)
	}
	if _, ok := h.of(1); ok || len(h.heads) > 2*maxHashes {
		t.Errorf("%d heads are kept", len(h.heads))
	}
	now := time.Now()
	e := newEnvelopes()
	e.at["old"], e.at["new"] = now.Add(-time.Hour), now.Add(-time.Minute)
	if e.forget(now); len(e.at) != 1 || e.most != leastEnvelopes {
		t.Errorf("%v", e)
	}
}

// Nothing is old enough to be forgotten: to look for it with each start would take as good as for ever.
func TestManyStartsWithinAMomentAreSoonVerified(t *testing.T) {
	now := time.Now()
	e := newEnvelopes()
	for i := range 1 << 19 {
		if why := e.start(details{From: "ana", Env: strconv.Itoa(i)}, now); why != "" {
			t.Fatal(why)
		}
	}
	if why := e.start(details{From: "ana", Env: "0"}, now); !strings.Contains(why, "started twice") {
		t.Errorf("the first is forgotten: %q", why)
	}
}

func TestALineWithoutEnd(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustClose(t, l)
	must(t, os.Truncate(path, maxLine+1<<20))
	if _, err := VerifyLog(path, Checks{}); err == nil || !strings.Contains(err.Error(), ":3: a line longer than") {
		t.Errorf("%v", err)
	}
}

// A file is put on the disk before it is full, though nobody waits for that: whoever turns
// it over would wait for all of it.
func TestAFileWasSyncedOnlyWhenItWasFull(t *testing.T) {
	const most = 16 << 10
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		l, _ := open(t, path, Options{MaxSize: most, Lag: time.Hour})
		first := l.Synced()
		for n := 0; ; n++ {
			mustAppend(t, l, decided(n, "no"))
			synctest.Wait()
			size := len(read(t, path))
			if size >= most-most/8 {
				if l.Synced() != l.Head() || size > most {
					t.Errorf("of a file of %d bytes that has %d, record %d is on the disk, and %d is written", most, size, l.Synced().Seq, l.Head().Seq)
				}
				break
			}
			if l.Synced() != first {
				t.Fatalf("with %d bytes it is synced, and nobody waits for it", size)
			}
		}
		mustClose(t, l)
	})
}
