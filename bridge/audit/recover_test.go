package audit

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	engine "github.com/mcpx-protocol/mcpx-bridge/bridge/engine/replay"
)

// abandon lets go of a log as a crash does: no last record, nothing synced.
func abandon(t testing.TB, l *Log) {
	t.Helper()
	l.isClosed(true)
	l.once.Do(func() { close(l.quit) })
	<-l.keepEnded
}

func TestATornTailIsCutAndNoted(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{Lag: time.Hour})
	note := read(t, path+".head")
	mustAppend(t, l, whole(1)...)
	abandon(t, l)
	text := read(t, path)
	at := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	for cut := at + 1; cut < len(text); cut++ {
		write(t, path, text[:cut])
		write(t, path+".head", note)
		l, found := open(t, path, Options{Mode: Never})
		mustClose(t, l)
		if found.Torn != int64(cut-at) || found.Fault != nil || found.Lost != "" {
			t.Fatalf("%+v", found)
		}
		wantEvents(t, path, "opened, decided 1, started 1, recovered, closed")
		if !bytes.Contains(read(t, path), fmt.Appendf(nil, `"reason":"the log was not closed","last_call":1,"open":[1],"allowed":[],"torn":%d,"log":`, cut-at)) {
			t.Fatal(string(read(t, path)))
		}
		if r := verified(t, path); !slices.Equal(r.Unfinished, []string{"1"}) || r.Recoveries != 1 {
			t.Fatalf("%+v", r)
		}
	}
}

// Whoever cuts a torn tail off may be killed before its first record, which names it.
func TestATornTailIsNamedHoweverOftenItsCutIsKilled(t *testing.T) {
	for _, mode := range []Mode{Decisions, Never} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, first record %v", mode, first), func(t *testing.T) {
				path := newPath(t)
				l, _ := open(t, path, Options{Lag: time.Hour})
				mustAppend(t, l, whole(1)...)
				abandon(t, l)
				text := read(t, path)
				if first {
					text = nil
					write(t, path+".head", Note{Log: l.id}.text())
				}
				half := []byte(`{"seq":9,"ts":"20`)
				write(t, path, append(text, half...))
				for range 3 {
					faults := &faultyDisk{plan: plan{failWrite: 1, stay: true}}
					if _, _, err := Open(path, Options{Mode: mode, Wrap: faults.wrap}); err == nil {
						t.Fatal("the first record was written")
					}
				}
				l, found := open(t, path, Options{Mode: mode})
				if found.Torn != int64(len(half)) || found.Lost != "" || found.Fault != nil {
					t.Errorf("%+v", found)
				}
				mustClose(t, l)
				if n := bytes.Count(read(t, path), fmt.Appendf(nil, `"torn":%d,`, len(half))); n != 1 {
					t.Errorf("named %d times in\n%s", n, read(t, path))
				}
				verified(t, path)
				if _, found := open(t, path, Options{}); found.Torn != 0 {
					t.Errorf("it is named again: %+v", found)
				}
			})
		}
	}
}

func TestWhatWasUnfinishedIsFound(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	mustAppend(t, l, decided(2, "allow"), started(2))
	mustAppend(t, l, decided(3, "ask"))
	mustAppend(t, l, decided(4, "deny"), `{"event":"rejected","call":4}`)
	mustAppend(t, l, decided(5, "allow"), started(5), `{"event":"withdrawn","call":5}`)
	mustAppend(t, l, `{"event":"rejected","env":"e-x","from":"bob","reason":"busy"}`, `{"event":"dropped","env":"e-y","from":"bob"}`)
	abandon(t, l)
	l, found := open(t, path, Options{})
	var got []string
	for _, c := range found.Calls {
		got = append(got, fmt.Sprintf("%s %s/%s %s %s started=%v ended=%v", c.ID, c.From, c.Env, c.Tool, c.Body, c.Started, c.Ended))
	}
	slices.Sort(got)
	want := []string{
		" bob/e-x   started=false ended=true",
		"1 ana/e-1 read_file b-1 started=true ended=true",
		"2 ana/e-2 read_file b-2 started=true ended=false",
		"3 ana/e-3 read_file b-3 started=false ended=false",
		"4 ana/e-4 read_file b-4 started=false ended=true",
		"5 ana/e-5 read_file b-5 started=true ended=false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if found.LastCall != 5 || found.Head != l.Head() || found.Calls[0].At.IsZero() {
		t.Errorf("%+v", found)
	}
	for _, c := range found.Calls {
		if c.Started && !c.Ended {
			mustAppend(t, l, fmt.Sprintf(`{"event":"ended","call":%s,"outcome":"unknown"}`, c.ID))
		}
	}
	mustAppend(t, l, `{"event":"rejected","call":3,"reason":"expired"}`)
	mustClose(t, l)
	if r := verified(t, path); len(r.Unfinished) > 0 {
		t.Errorf("%+v", r)
	}
	l, found = open(t, path, Options{})
	defer mustClose(t, l)
	if i := slices.IndexFunc(found.Calls, func(c Call) bool { return !c.Ended }); i >= 0 {
		t.Errorf("still unfinished: %+v", found.Calls[i])
	}
}

func TestOnlyRecentCallsAreRemembered(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	mustAppend(t, l, decided(2, "allow"), started(2))
	mustClose(t, l)
	l, found := open(t, path, Options{Memory: time.Nanosecond})
	defer mustClose(t, l)
	if len(found.Calls) != 1 || found.Calls[0].ID != "2" || found.LastCall != 2 {
		t.Errorf("%+v", found)
	}
}

func TestRotation(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 2 << 10})
	mustAppend(t, l, decided(1, "allow"), started(1)) // open until the end
	for i := range 30 {
		mustAppend(t, l, whole(i+2)...)
	}
	mustClose(t, l)
	r := verified(t, path)
	if r.Files < 5 || !slices.Equal(r.Unfinished, []string{"1"}) {
		t.Fatalf("%+v", r)
	}
	files, err := Files(path)
	must(t, err)
	for i, file := range files {
		text := read(t, file)
		if len(text) > 2<<10 {
			t.Errorf("%s has %d bytes", file, len(text))
		}
		if i > 0 && !strings.Contains(string(lines(text)[0]), `"event":"rotated","last_call":`) {
			t.Errorf("%s begins with %s", file, lines(text)[0])
		}
	}
	// A call that began in the first file is found, whatever is old.
	l, found := open(t, path, Options{MaxSize: 2 << 10, Memory: time.Nanosecond})
	if len(found.Calls) != 1 || found.Calls[0].Env != "e-1" || !found.Calls[0].Started || found.LastCall != 31 {
		t.Errorf("%+v", found)
	}
	mustAppend(t, l, ended(1))
	mustClose(t, l)
	if r := verified(t, path); len(r.Unfinished) > 0 {
		t.Errorf("%+v", r)
	}
	// Any file that is missing shows.
	files, err = Files(path)
	must(t, err)
	for i, file := range files[:len(files)-1] {
		must(t, os.Rename(file, file+".away"))
		r, err := VerifyLog(path, Checks{})
		if err != nil || r.OK || r.Fault.Line != 1 || r.Fault.File != files[i+1] {
			t.Errorf("without %s: %v %v", file, r.Fault, err)
		}
		must(t, os.Rename(file+".away", file))
	}
}

// TestACrashBetweenRenames leaves no file at the path itself.
func TestACrashBetweenRenames(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{Lag: time.Hour})
	mustAppend(t, l, whole(1)...)
	mustAppend(t, l, decided(2, "allow"), started(2))
	abandon(t, l)
	must(t, os.Rename(path, fullName(path, 1)))
	write(t, path+".new", []byte("left over"))
	l, found := open(t, path, Options{MaxSize: 1})
	if found.LastCall != 2 || found.Lost != "" {
		t.Errorf("%+v", found)
	}
	mustAppend(t, l, ended(2))
	mustClose(t, l)
	if r := verified(t, path); r.Starts != 2 || len(r.Unfinished) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestAFileThatIsGoneAtTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, path string)
		lost string
		line int
		why  string
	}{
		"deleted": {func(t *testing.T, path string) { must(t, os.Remove(path)) }, "records 1 to 5 are gone", 1, "begins with record 6"},
		"cut": {func(t *testing.T, path string) {
			write(t, path, bytes.Join(lines(read(t, path))[:3], nil))
		}, "records 4 to 5 are gone", 4, "records 4 to 5 are missing before it"},
		"written anew": {func(t *testing.T, path string) {
			write(t, path, anew(bytes.Replace(read(t, path), []byte("ana"), []byte("eve"), 1)))
		}, "record 5 is not the one that was written", 5, "was changed"},
		"swapped for a longer one": {func(t *testing.T, path string) {
			other := newPath(t)
			l, _ := open(t, other, Options{})
			mustAppend(t, l, slices.Concat(whole(7), whole(8))...)
			mustClose(t, l)
			write(t, path, read(t, other))
		}, "record 5 is not the one that was written", 8, "was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			l, _ := open(t, path, Options{})
			mustAppend(t, l, whole(1)...)
			mustClose(t, l)
			c.do(t, path)
			l, found := open(t, path, Options{})
			if found.Lost != c.lost {
				t.Errorf("%+v", found)
			}
			mustAppend(t, l, whole(20)...)
			mustClose(t, l)
			broken(t, path, c.line, c.why)
		})
	}
}

// TestAChangedLogGoesOn, and says what it found.
func TestAChangedLogGoesOn(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, slices.Concat(whole(1), whole(2))...)
	mustClose(t, l)
	for name, edit := range map[string]func([]byte) []byte{
		"a word":         func(b []byte) []byte { return bytes.Replace(b, []byte("ana"), []byte("eve"), 1) },
		"a line removed": func(b []byte) []byte { return bytes.Join(slices.Delete(lines(b), 2, 3), nil) },
		"garbage":        func(b []byte) []byte { return bytes.Join(slices.Insert(lines(b), 3, []byte("garbage\n")), nil) },
		"garbage at the end": func(b []byte) []byte {
			return append(bytes.Clone(b), "garbage\n"...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := newPath(t)
			must(t, os.MkdirAll(filepath.Dir(other), 0o700))
			write(t, other, edit(read(t, path)))
			write(t, other+".head", read(t, path+".head"))
			l, found := open(t, other, Options{})
			mustAppend(t, l, whole(3)...)
			mustClose(t, l)
			r, err := VerifyLog(other, Checks{})
			if err != nil || r.OK || found.Fault == nil || *found.Fault != *r.Fault || found.LastCall != 2 {
				t.Errorf("found %v, verified %v %v", found.Fault, r.Fault, err)
			}
			if text := string(read(t, other)); !strings.Contains(text, `"event":"recovered","reason":`) && !strings.Contains(text, `"event":"file_lost","reason":`) {
				t.Error(string(read(t, other)))
			}
		})
	}
}

func TestFilesOfALog(t *testing.T) {
	path := newPath(t)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for _, name := range []string{"", ".head", ".new", ".1", ".000000000020", ".000000000003", ".1000000000000", ".00000000000x", ".old"} {
		write(t, path+name, nil)
	}
	first := func(seq uint64) []byte {
		return append(Head{Seq: seq - 1}.appendLine(nil, appendStamp(nil, time.Now(), 0), []byte(`{"event":"tick"}`)), '\n')
	}
	write(t, path+".112720261030", first(1)) // a copy, named after its time
	write(t, path+".202611271030", first(1))
	write(t, path+".010000000000", first(10_000_000_000))
	write(t, strings.Replace(path, "x.jsonl", "y.jsonl", 1), nil)
	files, err := Files(path)
	want := []string{path + ".000000000003", path + ".000000000020", path + ".010000000000", path}
	if err != nil || !slices.Equal(files, want) {
		t.Errorf("%v %v", files, err)
	}
}

// Whatever is in the file: the log opens, leaves all whole lines as they are,
// and goes on behind them.
func FuzzOpen(f *testing.F) {
	text, _ := sample(f)
	f.Add(text)
	f.Add(text[:700])
	f.Add(bytes.Replace(text, []byte(`"seq":4`), []byte(`"seq":18446744073709551615`), 1))
	f.Add([]byte("{}\n\n\x00\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := newPath(t)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		write(t, path, text)
		l, _ := open(t, path, Options{Mode: Never})
		mustAppend(t, l, `{"event":"behind"}`)
		mustClose(t, l)
		after := read(t, path)
		whole := text[:bytes.LastIndexByte(text, '\n')+1]
		if !bytes.HasPrefix(after, whole) || linesIn(after[len(whole):]) != 3 {
			t.Fatalf("%q became\n%s", text, after)
		}
		own := 0
		for _, line := range lines(after[len(whole):]) {
			if _, err := readHeader(bytes.TrimSuffix(line, []byte{'\n'})); err == nil {
				own++
			}
		}
		if own != 3 {
			t.Fatalf("what was written behind %q cannot be read:\n%s", text, after)
		}
	})
}

// How long a call is remembered counts from its start, however long people took
// to agree to it.
func TestACallIsFoundByItsStart(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, decided(1, "allow"))
	before := time.Now().UTC().Truncate(time.Microsecond)
	for asked := before; !before.After(asked); { // stamps have microseconds
		before = time.Now().UTC().Truncate(time.Microsecond)
	}
	mustAppend(t, l, started(1))
	abandon(t, l)
	_, found := open(t, path, Options{})
	if len(found.Calls) != 1 || found.Calls[0].At.Before(before) {
		t.Errorf("%+v, started after %v", found.Calls, before)
	}
}

// 67 000 refused calls of another participant, a restart, and the same frame ran
// again (FINDINGS M2).
func TestNobodyPushesACallOutOfTheMemoryOfTheLog(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	flood := make([]string, 1000)
	for i := range 67 {
		for j := range flood {
			flood[j] = fmt.Sprintf(`{"event":"rejected","env":"m-%d-%d","from":"mallory","reason":"busy"}`, i, j)
		}
		mustAppend(t, l, flood...)
	}
	abandon(t, l)
	_, found := open(t, path, Options{})
	if !slices.ContainsFunc(found.Calls, func(c Call) bool { return c.From == "ana" && c.Env == "e-1" && c.Started }) {
		t.Error("the call that ran is forgotten")
	}
	if n := len(found.Calls); n != 1+maxRefused {
		t.Errorf("%d calls are remembered", n)
	}
}

// As many calls are known after a restart as before it, those of many names together are
// not without bound, and nobody's are left out for what others sent.
func TestWhatIsKnownAgainAfterARestartIsBoundOverAllNames(t *testing.T) {
	if maxRun != engine.DefaultShare {
		t.Errorf("%d calls that ran are found again, and %d were known", maxRun, engine.DefaultShare)
	}
	of := func(runs ...string) (all []Call) { // "ana 3": three of ana's
		for _, run := range runs {
			var from string
			var n int
			fmt.Sscan(run, &from, &n)
			for range n {
				all = append(all, Call{From: from, Env: fmt.Sprint(len(all)), Started: true})
			}
		}
		return all
	}
	var crowd []string
	for i := range 30 {
		crowd = append(crowd, fmt.Sprintf("n%d 1", i))
	}
	for name, c := range map[string]struct {
		calls []Call
		most  bound
		want  string // how many of whom
	}{
		"room for all":      {of("ana 3", "bob 4"), bound{10, 10}, "ana 3 bob 4"},
		"one has too many":  {of("ana 12"), bound{10, 10}, "ana 10"},
		"each has a share":  {of("ana 5", "bob 9"), bound{4, 10}, "ana 4 bob 4"},
		"others' flood":     {of("ana 2", "bob 900", "eve 900"), bound{10, 10}, "ana 2 bob 4 eve 4"},
		"more names":        {of(append(crowd, "ana 5")...), bound{10, 10}, "ana 1 n21 1 n22 1 n23 1 n24 1 n25 1 n26 1 n27 1 n28 1 n29 1"},
		"nothing to recall": {nil, bound{10, 10}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kept := newestOfEach(c.calls, map[bool]bound{true: c.most, false: {1, 1}})
			counts := map[string]int{}
			for i, k := range kept {
				counts[k.From]++
				if i > 0 && len(kept[i-1].Env) > len(k.Env) {
					t.Error("they are out of order")
				}
			}
			var got []string
			for _, from := range slices.Sorted(maps.Keys(counts)) {
				got = append(got, fmt.Sprint(from, " ", counts[from]))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
}
