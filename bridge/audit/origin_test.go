package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// bridgeLog is a closed log of a bridge with two calls.
func bridgeLog(t *testing.T, bridge string) string {
	t.Helper()
	path := newPath(t)
	l, _ := open(t, path, Options{Bridge: bridge})
	mustAppend(t, l, slices.Concat(whole(1), whole(2))...)
	mustClose(t, l)
	return path
}

// moved puts the log at from, with its note or without, in the place of to.
func moved(t *testing.T, from, to string, note bool) {
	t.Helper()
	write(t, to, read(t, from))
	if note {
		write(t, to+".head", read(t, from+".head"))
	}
}

// A tail that was cut off together with the note, and another bridge's log in the
// place of ours, were "whole" (FINDINGS L1).
func TestALogWithoutItsNoteIsNotWhole(t *testing.T) {
	for name, c := range map[string]struct {
		do  func(t *testing.T, path string)
		why string
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"tail and note": {func(t *testing.T, path string) {
			write(t, path, bytes.Join(lines(read(t, path))[:4], nil))
			must(t, os.Remove(path+".head"))
		}, "x.jsonl.head is gone, or cannot be read: nothing shows whether records after record 4 were cut off"},
		"note emptied":         {func(t *testing.T, path string) { write(t, path+".head", nil) }, "x.jsonl.head is gone"},
		"note of another":      {func(t *testing.T, path string) { write(t, path+".head", read(t, bridgeLog(t, "files")+".head")) }, "not the record 8 that x.jsonl.head knows"},
		"log of another":       {func(t *testing.T, path string) { moved(t, bridgeLog(t, "files"), path, false) }, "not the record 8 that x.jsonl.head knows"},
		"both of another":      {func(t *testing.T, path string) { moved(t, bridgeLog(t, "mail"), path, true) }, `it is the record of the bridge "mail", and not of "files"`},
		"note without its ids": {func(t *testing.T, path string) { write(t, path+".head", oldNote(t, path)) }, "it names none, and this log is"},
		"new, with the old note": {func(t *testing.T, path string) {
			other := newPath(t)
			l, _ := open(t, other, Options{Bridge: "files"})
			for call := range 9 {
				mustAppend(t, l, whole(call+1)...)
			}
			mustClose(t, l)
			note, err := ReadHeadFile(other)
			must(t, err)
			kept, err := ReadHeadFile(path)
			must(t, err)
			note.Log = kept.Log
			moved(t, other, path, false)
			write(t, path+".head", note.text())
		}, "x.jsonl.head belongs to another log"},
	} {
		t.Run(name, func(t *testing.T) {
			path := bridgeLog(t, "files")
			c.do(t, path)
			r, err := VerifyLog(path, Checks{Bridge: "files"})
			must(t, err)
			if c.why == "" && (!r.OK || !r.Noted || r.Bridge != "files" || len(r.Log) != 32) ||
				c.why != "" && (r.OK || !strings.Contains(r.Fault.Why, c.why)) {
				t.Errorf("%+v %v, want %s", r, r.Fault, c.why)
			}
		})
	}
}

// oldNote is the note beside path as earlier builds wrote it.
func oldNote(t *testing.T, path string) []byte {
	note, err := ReadHeadFile(path)
	must(t, err)
	text := fmt.Appendf(nil, `{"seq":%d,"hash":"%x"}`, note.Head.Seq, note.Head.Hash)
	return append(append(text, bytes.Repeat([]byte{' '}, 127-len(text))...), '\n')
}

// earlier makes of a log what a build before FINDINGS L1 would have written.
func earlier(t *testing.T, path string) {
	t.Helper()
	text := regexp.MustCompile(`,"log":"[0-9a-f]*"(,"bridge":"[^"]*")?`).ReplaceAll(read(t, path), nil)
	text = anew(regexp.MustCompile(`,"allowed":\[[^]]*\]`).ReplaceAll(text, nil))
	write(t, path, text)
	all := lines(text)
	h := Head{Seq: uint64(len(all)) - 1}.next(bytes.TrimSuffix(all[len(all)-1], []byte{'\n'}))
	write(t, path+".head", fmt.Appendf(nil, "%-127s\n", fmt.Sprintf(`{"seq":%d,"hash":"%x"}`, h.Seq, h.Hash)))
}

func TestALogOfAnEarlierBuildVerifies(t *testing.T) {
	path := bridgeLog(t, "files")
	earlier(t, path)
	if r := verified(t, path); r.Log != "" || !r.Noted || r.Checked != 1 {
		t.Errorf("%+v", r)
	}
	l, found := open(t, path, Options{Bridge: "files"})
	if found.Lost != "" {
		t.Error(found.Lost)
	}
	mustAppend(t, l, whole(3)...)
	mustClose(t, l)
	r := verified(t, path) // from now on it has an id
	if note, err := ReadHeadFile(path); err != nil || len(r.Log) != 32 || note.Log != r.Log || r.Bridge != "files" {
		t.Errorf("%+v %+v %v", r, note, err)
	}
	must(t, os.Remove(path+".head"))
	if r, err := VerifyLog(path, Checks{}); err != nil || r.OK {
		t.Errorf("without its note: %+v %v", r, err)
	}
}

// A start after the note was taken away goes on, and says so for good.
func TestAStartDoesNotHideThatTheNoteWasGone(t *testing.T) {
	path := bridgeLog(t, "files")
	write(t, path, bytes.Join(lines(read(t, path))[:4], nil))
	must(t, os.Remove(path+".head"))
	l, found := open(t, path, Options{Bridge: "files"})
	if found.Lost == "" {
		t.Errorf("%+v", found)
	}
	mustClose(t, l)
	broken(t, path, 5, noteGone)
}

// A log of a bridge in the place of another's, with its note left: both are told of.
func TestAnotherLogAtTheStartIsToldOf(t *testing.T) {
	path, other := newPath(t), bridgeLog(t, "mail")
	l, _ := open(t, path, Options{Bridge: "files"})
	mustClose(t, l)
	moved(t, other, path, false)
	l, found := open(t, path, Options{Bridge: "files"})
	if found.Lost == "" {
		t.Errorf("%+v", found)
	}
	mustClose(t, l)
	if r, err := VerifyLog(path, Checks{}); err != nil || r.OK {
		t.Errorf("%+v %v", r, err)
	}
}

// A part of a log has calls that began before it: at the server, and with leave to go
// there. Neither is a fault of the part (FINDINGS C4), and what is missing within it
// still shows.
func TestAPartialLogRaisesNoAlarmForWhatBeganBefore(t *testing.T) {
	for name, old := range map[string]bool{"this build": false, "an earlier build": true} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			l, _ := open(t, path, Options{MaxSize: 900})
			mustAppend(t, l, decided(1, "allow"))
			mustAppend(t, l, decided(2, "allow"), started(2))
			mustAppend(t, l, decided(3, "ask"))
			mustAppend(t, l, started(1)) // the cut falls before it
			mustAppend(t, l, ended(1), ended(2))
			mustAppend(t, l, decided(3, "allow"), started(3), ended(3))
			mustClose(t, l)
			files, err := Files(path)
			must(t, err)
			if len(files) < 3 {
				t.Fatal(dump(t, path))
			}
			if old {
				for i, file := range files {
					write(t, file, regexp.MustCompile(`,"allowed":\[[^]]*\]`).ReplaceAll(read(t, file), nil))
					if i > 0 {
						rechain(t, files[i-1], file)
					}
				}
			}
			for cut := 1; cut < len(files); cut++ {
				r, err := verifyFiles(files[cut:], Checks{Partial: true})
				if err != nil || !r.OK || len(r.Unfinished) > 0 {
					t.Errorf("from %s: %v %v %+v", filepath.Base(files[cut]), r.Fault, err, r)
				}
			}
			rest := bytes.Join([][]byte{read(t, files[1]), read(t, files[2])}, nil)
			all := lines(rest)
			for i := 1; i < len(all)-1; i++ {
				without := bytes.Join(slices.Concat(all[:i], all[i+1:]), nil)
				if r := check(t, without, Checks{Partial: true}); r.OK || r.Fault.Line != i+1 {
					t.Errorf("line %d is missing: %v", i+1, r.Fault)
				}
			}
		})
	}
}

// rechain calculates the hashes of a file anew that follows another.
func rechain(t *testing.T, before, file string) {
	t.Helper()
	joined := anewAfter(lines(read(t, before)), lines(read(t, file)))
	write(t, file, joined)
}

func anewAfter(before, all [][]byte) (out []byte) {
	h := Head{}.next(bytes.TrimSuffix(before[len(before)-1], []byte{'\n'}))
	for _, line := range all {
		at := bytes.Index(line, []byte(`"prev":"`)) + len(`"prev":"`)
		line = fmt.Appendf(bytes.Clone(line[:at]), "%x%s", h.Hash, line[at+prevWidth:])
		h = h.next(line[:len(line)-1])
		out = append(out, line...)
	}
	return out
}

// In a part of this build a start whose decision is nowhere is a fault as ever.
func TestAPartialLogStillNeedsLeaveToStart(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 600})
	mustAppend(t, l, whole(1)...)
	mustAppend(t, l, started(7))
	mustClose(t, l)
	files, err := Files(path)
	must(t, err)
	r, err := verifyFiles(files[len(files)-1:], Checks{Partial: true})
	if err != nil || r.OK || !strings.Contains(r.Fault.Why, "call 7 started without a decision") {
		t.Errorf("%v %v\n%s", r.Fault, err, dump(t, path))
	}
}

// Whether a call was allowed says the record itself, and not what stands in its arguments
// or in the name of its tool; and of two verdicts the later counts.
func TestADenialWhoseArgumentsSayAllowIsNoLeave(t *testing.T) {
	const about = `{"event":"decided","call":7,"env":"e-7","from":"ana","from_verified":false,"tool":%s,"verdict":"%s","args":{"verdict":"allow"}}`
	allowed := fmt.Sprintf(about, `"x"`, "allow")
	for name, c := range map[string]struct {
		recs []string
		ok   bool
	}{
		"allowed":             {[]string{allowed}, true},
		"allowed, odd tool":   {[]string{fmt.Sprintf(about, `"x\\\",{}"`, "allow")}, true},
		"denied":              {[]string{fmt.Sprintf(about, `"x"`, "deny")}, false},
		"denied, odd tool":    {[]string{fmt.Sprintf(about, `"\",\"verdict\":\"allow\","`, "deny")}, false},
		"denied all the same": {[]string{allowed, fmt.Sprintf(about, `"x"`, "deny")}, false},
		"no verdict":          {[]string{`{"event":"decided","call":7,"args":{"verdict":"allow"}}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			l, _ := open(t, path, Options{MaxSize: 600})
			for _, rec := range c.recs {
				mustAppend(t, l, rec)
			}
			mustAppend(t, l, whole(1)...)
			mustAppend(t, l, started(7))
			mustClose(t, l)
			files, err := Files(path)
			must(t, err)
			if r, err := verifyFiles(files[len(files)-1:], Checks{Partial: true}); err != nil || r.OK != c.ok {
				t.Errorf("%v %v\n%s", r.Fault, err, dump(t, path))
			}
		})
	}
}

// Full files are removed when they are too many, or too old, and only then (FINDINGS M7).
func TestWhatIsMoreThanIsToBeKeptIsRemoved(t *testing.T) {
	path := newPath(t)
	o := Options{MaxSize: 2 << 10, KeepSize: 12 << 10, Least: time.Nanosecond, Lag: time.Hour}
	l, _ := open(t, path, o)
	for call := range 60 {
		mustAppend(t, l, whole(call+1)...)
		syncNow(t, l)
	}
	mustClose(t, l)
	files, err := Files(path)
	must(t, err)
	_, total, err := sizesOf(files)
	must(t, err)
	if r := verified(t, path); r.First == 1 || r.Removed != r.First-1 || total > o.KeepSize+2*o.MaxSize || // the file that is written to, and one that was full just now
		total < o.KeepSize/2 {
		t.Errorf("%d bytes in %d files, %+v", total, len(files), r)
	}
	must(t, os.Remove(files[0])) // one more than was told
	broken(t, path, 1, "those before are missing")
}

func TestWhatIsStillNeededIsNotRemoved(t *testing.T) {
	for name, o := range map[string]Options{
		"younger than a call is remembered": {MaxSize: 1 << 10, KeepSize: 4 << 10},
		"younger than is to be kept":        {MaxSize: 1 << 10, KeepFor: time.Hour, Least: time.Nanosecond},
		"nothing was told":                  {MaxSize: 1 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			l, _ := open(t, path, o)
			for call := range 30 {
				mustAppend(t, l, whole(call+1)...)
				syncNow(t, l)
			}
			mustClose(t, l)
			if r := verified(t, path); r.First != 1 || r.Starts != 30 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestWhatIsTooOldIsRemoved(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{MaxSize: 1 << 10})
	for call := range 10 {
		mustAppend(t, l, whole(call+1)...)
	}
	mustClose(t, l)
	l, _ = open(t, path, Options{KeepFor: time.Nanosecond, Least: time.Nanosecond})
	eventually(t, "the old files are removed", func() bool {
		files, err := Files(path)
		return err == nil && len(files) == 1
	})
	mustClose(t, l)
	if r := verified(t, path); r.Removed == 0 {
		t.Errorf("%+v", r)
	}
}

// A hole is cut off only behind what is noted: in a line that was on the disk it is
// somebody's doing, and stays to be seen.
func TestAHoleInWhatWasOnTheDiskIsAFault(t *testing.T) {
	path := bridgeLog(t, "files")
	text := read(t, path)
	at := bytes.Index(text, []byte(`"event":"ended"`))
	copy(text[at:], make([]byte, 8))
	write(t, path, text)
	l, found := open(t, path, Options{Bridge: "files"})
	mustClose(t, l)
	if found.Fault == nil || found.Torn > 0 || !bytes.HasPrefix(read(t, path), text) {
		t.Errorf("%+v", found)
	}
}

// What a full file may have lost is a failure of the log, not a rotation put off.
func TestAFullFileThatCannotBeSyncedIsAFailure(t *testing.T) {
	d := &faultyDisk{plan: plan{failSync: 2}}
	// It is not nearly full before: then keep would sync it, and that would fail.
	l, _ := open(t, newPath(t), Options{MaxSize: 1200, RetryEvery: -1, Lag: time.Hour, Wrap: d.wrap})
	mustAppend(t, l, whole(1)...)
	if err := l.Append(raw(whole(2))...); err == nil {
		t.Error("it went on behind a file of which nobody knows whether it is on the disk")
	}
	d.heal()
	must(t, l.Retry())
	mustAppend(t, l, whole(2)...)
	mustClose(t, l)
	verified(t, l.Path())
}
