package audit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// What is cut off is counted once, wherever whoever cuts it off is killed and however often.
func TestATornTailIsCountedOnce(t *testing.T) {
	cut, record := plan{failTruncate: 1, stay: true}, plan{failWrite: 1, stay: true}
	half := func(part int) plan { return plan{failWrite: 1, part: part, failTruncate: 2, stay: true} } // of the first record
	for name, c := range map[string]struct {
		kills []plan
		more  int64 // bytes of first records that were half written
	}{
		"before the cut":                   {[]plan{cut, cut, cut}, 0},
		"before the cut and after it":      {[]plan{cut, record, record}, 0},
		"in the first record":              {[]plan{half(5)}, 5},
		"in it, before its cut, and again": {[]plan{cut, half(5), cut, cut, half(7), cut, record}, 12},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			l, _ := open(t, path, Options{})
			mustAppend(t, l, whole(1)...)
			abandon(t, l)
			const tail = `{"seq":9,"ts":"20`
			write(t, path, append(read(t, path), tail...))
			for _, p := range c.kills {
				faults := &faultyDisk{plan: p}
				if _, _, err := Open(path, Options{Wrap: faults.wrap}); err == nil {
					t.Fatal("it was not killed")
				}
			}
			l, found := open(t, path, Options{})
			if found.Torn != int64(len(tail))+c.more || found.Lost != "" || found.Fault != nil {
				t.Errorf("%+v", found)
			}
			mustClose(t, l)
			if !bytes.Contains(read(t, path), fmt.Appendf(nil, `"torn":%d,`, found.Torn)) {
				t.Error("it is not named")
			}
			verified(t, path)
		})
	}
}

// fullNote is a disk that has no room for what is noted beside the log.
type fullNote struct{ private.OS }

func (d fullNote) Open(path string, flag int) (private.File, error) {
	f, err := d.OS.Open(path, flag)
	if err == nil && strings.HasSuffix(path, ".head") {
		f = fullFile{f}
	}
	return f, err
}

type fullFile struct{ private.File }

func (fullFile) WriteAt([]byte, int64) (int, error) { return 0, errDisk }

// What cannot be noted before it is cut off is not cut off.
func TestATornTailThatCannotBeNotedStays(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	abandon(t, l)
	text := append(read(t, path), `{"seq":9,"ts":"20`...)
	write(t, path, text)
	faults := &faultyDisk{plan: plan{failWrite: 1, stay: true}}
	if _, _, err := Open(path, Options{Wrap: faults.wrap, Disk: fullNote{}}); err == nil {
		t.Fatal("the first record was written")
	}
	l, found := open(t, path, Options{})
	mustClose(t, l)
	if found.Torn != 17 {
		t.Errorf("%+v", found)
	}
}

// A note that says what no note of ours does is none.
func TestATornTailIsNotTakenFromAForgedNote(t *testing.T) {
	for _, torn := range []string{"-1", "9223372036854775807", "9223372036854775808", `"17"`, "1.5", "null"} {
		path := newPath(t)
		l, _ := open(t, path, Options{})
		mustAppend(t, l, whole(1)...)
		mustClose(t, l)
		text := fmt.Appendf(nil, `{"seq":%d,"hash":"%x","log":"%s","torn":%s`, l.head.Seq, l.head.Hash, l.id, torn)
		text = fmt.Appendf(text, `,"sum":"%s"}`, sumOf(text))
		text = append(append(text, bytes.Repeat([]byte{' '}, slotWidth-1-len(text))...), '\n')
		write(t, path+".head", append(bytes.Clone(text), text...))
		write(t, path, append(read(t, path), `{"seq":9`...))
		l, found := open(t, path, Options{})
		mustClose(t, l)
		if found.Torn != 8 || bytes.Contains(read(t, path), []byte(`"torn":-`)) {
			t.Errorf("torn %s: %+v", torn, found)
		}
	}
}
