package audit

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample is a log of a dozen lines, and its head.
func sample(t testing.TB, recs ...string) ([]byte, Head) {
	t.Helper()
	path := newPath(t)
	l, _ := open(t, path, Options{Mode: Never})
	if recs == nil {
		recs = slices.Concat(whole(1), []string{decided(2, "ask"), decided(2, "allow")}, []string{started(2), decided(3, "deny"), `{"event":"rejected","call":3,"env":"e-3","from":"ana"}`, ended(2)})
	}
	mustAppend(t, l, recs...)
	mustClose(t, l)
	return read(t, path), l.Head()
}

func check(t testing.TB, text []byte, c Checks) Report {
	t.Helper()
	r, err := Verify(bytes.NewReader(text), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func knows(h Head) Checks { return Checks{Witnesses: []Witness{{h, "the witness"}}} }

func TestAWholeLog(t *testing.T) {
	text, head := sample(t)
	r := check(t, text, knows(head))
	if !r.OK || r.Records != 11 || r.First != 1 || r.Last != 11 || r.Head != head.String() || r.Starts != 2 || r.Checked != 1 || !r.Closed || r.From.After(r.To) {
		t.Errorf("%+v, %v", r, r.Fault)
	}
	if r := check(t, nil, Checks{}); !r.OK || r.Records != 0 {
		t.Errorf("an empty log: %+v", r)
	}
}

// TestEveryFlippedByteIsNamed changes each byte of a log in several ways. The
// line in which it is must be named.
func TestEveryFlippedByteIsNamed(t *testing.T) {
	text, head := sample(t, whole(1)...)
	for i := range text {
		line := linesIn(text[:i]) + 1
		for _, flip := range []byte{0x01, 0x04, 0x20, 0x80, text[i] ^ '\n', text[i] ^ '1', text[i] ^ '"'} {
			if flip == 0 {
				continue
			}
			changed := bytes.Clone(text)
			changed[i] ^= flip
			r := check(t, changed, knows(head))
			if r.OK || r.Fault.Line != line {
				t.Fatalf("byte %d of line %d, %q for %q: %v", i, line, changed[i], text[i], r.Fault)
			}
		}
	}
}

func FuzzAnyChangeIsNoticed(f *testing.F) {
	text, head := sample(f)
	f.Add(0, 1, []byte("x"))
	f.Add(200, 0, []byte("\n"))
	f.Add(len(text)-1, 1, []byte{})
	f.Add(300, 300, []byte(`{"seq":3}`+"\n"))
	f.Add(2142, 215, []byte("0")) // into the last line but one
	f.Fuzz(func(t *testing.T, at, cut int, with []byte) {
		if at < 0 || at > len(text) || cut < 0 || cut > len(text)-at {
			return
		}
		changed := slices.Concat(text[:at], with, text[at+cut:])
		r := check(t, changed, knows(head))
		if r.OK != bytes.Equal(changed, text) {
			t.Fatalf("OK is %v for\n%s", r.OK, changed)
		}
		first := linesIn(changed[:commonLen(text, changed)]) + 1
		if !r.OK && r.Fault.Line < first && !(r.Fault.Line == first-1 && strings.Contains(r.Fault.Why, "or the next one")) {
			t.Fatalf("%v; the first that differs is %d", r.Fault, first)
		}
	})
}

func commonLen(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Nothing that can be read makes Verify fall over.
func FuzzVerify(f *testing.F) {
	text, head := sample(f)
	f.Add(text)
	f.Add([]byte(`{"seq":1,"ts":"2026-01-31T12:00:00.000000Z","mono_ms":0,"prev":"` + strings.Repeat("0", 64) + `","event":"started","call":}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := check(t, text, knows(head))
		if r.OK == (r.Fault != nil) {
			t.Fatalf("%+v", r)
		}
	})
}

func lines(text []byte) [][]byte {
	return slices.Collect(bytes.Lines(text))
}

func TestLinesRemovedMovedAndRepeated(t *testing.T) {
	text, head := sample(t)
	all := lines(text)
	for i := range all {
		without := slices.Concat(all[:i], all[i+1:])
		r := check(t, bytes.Join(without, nil), knows(head))
		if want := i + 1; r.OK || r.Fault.Line != want || i > 0 && i < len(all)-1 && !strings.Contains(r.Fault.Why, fmt.Sprintf("record %d is missing before it", i+1)) {
			t.Errorf("without line %d: %v", i+1, r.Fault)
		}
		twice := slices.Concat(all[:i+1], all[i:])
		if r := check(t, bytes.Join(twice, nil), knows(head)); r.OK || r.Fault.Line != i+2 || !strings.Contains(r.Fault.Why, "is out of place") {
			t.Errorf("line %d twice: %v", i+1, r.Fault)
		}
		for j := i + 1; j < len(all); j++ {
			moved := slices.Clone(all)
			moved[i], moved[j] = moved[j], moved[i]
			if r := check(t, bytes.Join(moved, nil), knows(head)); r.OK || r.Fault.Line != i+1 {
				t.Errorf("lines %d and %d exchanged: %v", i+1, j+1, r.Fault)
			}
		}
	}
}

func TestACutTail(t *testing.T) {
	text, head := sample(t)
	all := lines(text)
	for n := range all {
		r := check(t, bytes.Join(all[:n], nil), knows(head))
		if r.OK || r.Fault.Line != n+1 || !strings.Contains(r.Fault.Why, fmt.Sprintf("ends with record %d, but the witness knows record %d", n, len(all))) {
			t.Errorf("cut to %d lines: %v", n, r.Fault)
		}
		if r := check(t, bytes.Join(all[:n], nil), Checks{}); !r.OK {
			t.Errorf("the chain alone sees a cut: %v", r.Fault)
		}
	}
	for n := 1; n < len(text); n++ {
		if text[n-1] == '\n' {
			continue
		}
		r := check(t, text[:n], Checks{})
		if r.OK || r.Fault.Line != linesIn(text[:n])+1 || !strings.Contains(r.Fault.Why, "torn") {
			t.Fatalf("torn at %d: %v", n, r.Fault)
		}
	}
}

// TestWrittenAnew: whoever changes a line and calculates all hashes anew is
// seen by a witness alone, and then for certain.
func TestWrittenAnew(t *testing.T) {
	text, head := sample(t)
	forged := anew(bytes.Replace(text, []byte(`"from":"ana"`), []byte(`"from":"eve"`), 1))
	if r := check(t, forged, Checks{}); !r.OK {
		t.Fatalf("the forgery is not good: %v", r.Fault)
	}
	r := check(t, forged, knows(head))
	if r.OK || r.Fault.Line != 11 || !strings.Contains(r.Fault.Why, "not the record 11 that the witness knows") {
		t.Errorf("%v", r.Fault)
	}
	early := Head{}
	for _, line := range lines(text)[:5] {
		early = early.next(bytes.TrimSuffix(line, []byte{'\n'}))
	}
	if r := check(t, forged, knows(early)); r.OK || r.Fault.Line != 5 {
		t.Errorf("%v", r.Fault)
	}
}

// anew calculates all hashes.
func anew(text []byte) []byte {
	var out []byte
	var h Head
	for _, line := range lines(text) {
		at := bytes.Index(line, []byte(`"prev":"`)) + len(`"prev":"`)
		line = fmt.Appendf(bytes.Clone(line[:at]), "%x%s", h.Hash, line[at+prevWidth:])
		h = h.next(line[:len(line)-1])
		out = append(out, line...)
	}
	return out
}

func TestALogThatBeginsLate(t *testing.T) {
	text, head := sample(t)
	late := bytes.Join(lines(text)[4:], nil)
	if r := check(t, late, Checks{}); r.OK || r.Fault.Line != 1 || !strings.Contains(r.Fault.Why, "begins with record 5") {
		t.Errorf("%v", r.Fault)
	}
	c := knows(head)
	c.Partial = true
	c.Witnesses = append(c.Witnesses, Witness{Head{Seq: 2}, "old"})
	if r := check(t, late, c); !r.OK || r.First != 5 || r.Checked != 1 || r.Unchecked != 1 {
		t.Errorf("%+v", r)
	}
}

func TestOrderOfACall(t *testing.T) {
	again := strings.Replace(started(2), "e-2", "e-1", 1)
	for name, c := range map[string]struct {
		recs []string
		line int // 0: nothing is wrong
		why  string
	}{
		"allowed":             {whole(1), 0, ""},
		"asked, allowed":      {[]string{decided(1, "ask"), decided(1, "allow"), started(1), ended(1)}, 0, ""},
		"denied":              {[]string{decided(1, "deny"), `{"event":"rejected","call":1}`}, 0, ""},
		"under way":           {[]string{decided(1, "allow"), started(1)}, 0, ""},
		"withdrawn under way": {[]string{decided(1, "allow"), started(1), `{"event":"withdrawn","call":1}`, ended(1)}, 0, ""},
		"call by name":        {[]string{`{"event":"decided","call":"c-1","verdict":"allow"}`, `{"event":"started","call":"c-1"}`, `{"event":"ended","call":"c-1"}`}, 0, ""},
		"no decision":         {[]string{started(1)}, 2, "without a decision"},
		"asked only":          {[]string{decided(1, "ask"), started(1)}, 3, "the decision was no"},
		"denied all the same": {[]string{decided(1, "allow"), decided(1, "deny"), started(1)}, 4, "the decision was no"},
		"of another":          {[]string{decided(1, "allow"), started(2)}, 3, "without a decision"},
		"7 and \"7\"":         {[]string{decided(7, "allow"), `{"event":"started","call":"7"}`}, 3, "without a decision"},
		"after rejection":     {[]string{decided(1, "allow"), `{"event":"rejected","call":1}`, started(1)}, 4, "without a decision"},
		"twice":               {[]string{decided(1, "allow"), started(1), started(1)}, 4, "started twice"},
		"twice, one ended":    {slices.Concat(whole(1), []string{started(1)}), 5, "without a decision"},
		"same envelope":       {slices.Concat(whole(1), []string{decided(2, "allow"), again}), 6, "started twice within 15m"},
		"decided late":        {[]string{decided(1, "allow"), started(1), decided(1, "allow")}, 4, "after it had started"},
		"end alone":           {[]string{ended(1)}, 2, "without having started"},
		"end of undecided":    {[]string{decided(1, "allow"), ended(1)}, 3, "without having started"},
		"end twice":           {slices.Concat(whole(1), []string{ended(1)}), 5, "without having started"},
		"start of nothing":    {[]string{`{"event":"started"}`}, 2, "names no call"},
		"no JSON":             {[]string{`{"event":"x","a":}`}, 2, "not valid JSON"},
		"twice the same key":  {[]string{`{"event":"x","seq":7}`}, 2, "not valid JSON"},
		"twice one within":    {[]string{`{"event":"decided","call":1,"verdict":"allow","args":{"a":1,"a":2}}`}, 2, "not valid JSON"},
		"cut within":          {[]string{`{"event":"decided","call":1,"verdict":7,"args":{"a":}}`}, 2, "not valid JSON"},
		"wrong kind":          {[]string{`{"event":"started","call":1,"env":7}`}, 2, "wrong kind"},
	} {
		t.Run(name, func(t *testing.T) {
			text, _ := sample(t, c.recs...)
			r := check(t, text, Checks{})
			if c.line == 0 && !r.OK || c.line > 0 && (r.OK || r.Fault.Line != c.line || !strings.Contains(r.Fault.Why, c.why)) {
				t.Errorf("%v, want line %d: %s", r.Fault, c.line, c.why)
			}
		})
	}
}

func TestUnfinishedCallsAreNamed(t *testing.T) {
	text, _ := sample(t, decided(10, "allow"), decided(9, "allow"), started(10), started(9), decided(8, "allow"))
	if r := check(t, text, Checks{}); !slices.Equal(r.Unfinished, []string{"9", "10"}) {
		t.Errorf("%+v", r)
	}
}

// checkpoint is the record that says that a head was told to others.
func checkpoint(h Head) []byte {
	return fmt.Appendf(nil, `{"event":"checkpoint","head_seq":%d,"head":"%x"}`, h.Seq, h.Hash)
}

func TestCheckpoints(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	syncNow(t, l)
	told := l.Synced()
	mustAppend(t, l, whole(2)...)
	must(t, l.Append(checkpoint(told)))
	wrong := told
	wrong.Hash[0]++
	mustClose(t, l)
	if r := verified(t, path); r.Checked != 2 { // and the head file
		t.Errorf("%+v", r)
	}
	for rec, why := range map[string]string{
		string(checkpoint(wrong)):                       "does not agree with record 4",
		string(checkpoint(Head{Seq: 99})):               "comes later",
		`{"event":"checkpoint"}`:                        "cannot be read",
		`{"event":"checkpoint","head_seq":1,"head":""}`: "cannot be read",
	} {
		text := anew(slices.Concat(read(t, path), fmt.Appendf(nil, `{"seq":10,"ts":"2026-01-31T12:00:00.000000Z","mono_ms":1,"prev":"%064d",%s`+"\n", 0, rec[1:])))
		if r := check(t, text, Checks{}); r.OK || r.Fault.Line != 10 || !strings.Contains(r.Fault.Why, why) {
			t.Errorf("%s: %v, want %s", rec, r.Fault, why)
		}
	}
}

// TestTheHeadFileKnows: the end of a log that was closed cannot be cut off
// without a trace, nor while it is open.
func TestTheHeadFileKnows(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	mustClose(t, l)
	verified(t, path)
	all := lines(read(t, path))
	write(t, path, bytes.Join(all[:3], nil))
	broken(t, path, 4, "ends with record 3, but x.jsonl.head knows record 5")
	write(t, path, nil)
	broken(t, path, 1, "ends with record 0")
	if err := os.Remove(path + ".head"); err != nil {
		t.Fatal(err)
	}
	verified(t, path) // it is empty: that something was cut off, nobody can know
	write(t, path, bytes.Join(all[:3], nil))
	broken(t, path, 4, "x.jsonl.head is gone, or cannot be read")
}

func TestVerifyWhileItIsWritten(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{Mode: Never, MaxSize: 64 << 10, Lag: time.Millisecond})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 2000 {
			if err := l.Append(raw(whole(i))...); err != nil {
				t.Error(err)
			}
		}
	}()
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		default:
		}
		verified(t, path)
	}
	if r := verified(t, path); r.Starts != 2000 || r.Files < 10 {
		t.Errorf("%+v", r)
	}
}

// People copy a log to a name with the time in it, which may have as many digits as the name of a full file.
func TestACopyNamedAfterItsTimeIsNoPartOfTheLog(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	mustClose(t, l)
	for _, at := range []string{".202611271030", ".20261127103000"} {
		write(t, path+at, read(t, path))
	}
	verified(t, path)
	l, found := open(t, path, Options{})
	if found.Fault != nil || found.Lost != "" {
		t.Errorf("%v %q", found.Fault, found.Lost)
	}
	mustClose(t, l)
	verified(t, path)
}
