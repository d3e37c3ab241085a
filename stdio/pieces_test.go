package stdio

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// cutAll reads all lines; too long ones are shown as "!" and their head.
func cutAll(r io.Reader, max int) (out []string, err error) {
	in := newLines(r, max, func() {})
	for {
		line, err := in.next()
		switch {
		case err == nil:
			out = append(out, string(line))
		case errors.Is(err, errTooLong):
			out = append(out, "!"+string(line))
		default:
			return append(out, string(line)), err
		}
	}
}

func TestLinesAreTheSameHoweverTheyArrive(t *testing.T) {
	text := strings.Join([]string{
		"a", "", strings.Repeat("b", chunk-1), strings.Repeat("c", chunk), strings.Repeat("d", chunk+1), "e",
		strings.Repeat("f", 3*chunk), "g\r", strings.Repeat("h", 5*chunk), "i", strings.Repeat("j", 12*chunk), "k", "last",
	}, "\n")
	want, err := cutAll(strings.NewReader(text), 4*chunk)
	if err != io.EOF {
		t.Fatal(err)
	}
	long := func(c string) string { return "!" + strings.Repeat(c, headSize) }
	if len(want) != 13 || want[8] != long("h") || want[10] != long("j") || want[12] != "last" || len(want[6]) != 3*chunk {
		t.Fatalf("lines are cut wrongly: %d of them, %.300q", len(want), want)
	}
	for name, r := range map[string]io.Reader{
		"portions":    &portions{strings.NewReader(text), []byte{6, 90, 250}, 0},
		"halves":      iotest.HalfReader(strings.NewReader(text)),
		"data at EOF": iotest.DataErrReader(strings.NewReader(text)),
	} {
		if got, err := cutAll(r, 4*chunk); err != io.EOF || !slices.Equal(got, want) {
			t.Errorf("%s: lines differ (%v)", name, err)
		}
	}
}

func TestLinesHaveBytesOfTheirOwn(t *testing.T) {
	in := newLines(strings.NewReader("one\ntwo\n"+strings.Repeat("x", 2*chunk)+"\nthree\n"), 4*chunk, func() {})
	var got [][]byte
	for {
		line, err := in.next()
		if err != nil {
			break
		}
		got = append(got, line)
		_ = append(line, "overwritten"...)
		for i := range line {
			line[i] = 'z'
		}
	}
	if want := []int{3, 3, 2 * chunk, 5}; len(got) != len(want) || len(got[3]) != 5 {
		t.Fatalf("lines are %q", got)
	}
	for _, line := range got {
		if !bytes.Equal(line, bytes.Repeat([]byte("z"), len(line))) {
			t.Errorf("a line was changed by reading on: %.20q", line)
		}
	}
}

func TestLineWithoutEndIsGivenUpAfterFourTimesTheLimit(t *testing.T) {
	read := 0
	endless := readerFunc(func(p []byte) (int, error) {
		read += len(p)
		return copy(p, bytes.Repeat([]byte("x"), len(p))), nil
	})
	_, err := cutAll(endless, chunk)
	if !errors.Is(err, errEndless) || read > 8*chunk {
		t.Errorf("gave up with %v after %d bytes", err, read)
	}
}

func TestReaderThatReadsNothingIsAnError(t *testing.T) {
	_, err := cutAll(readerFunc(func([]byte) (int, error) { return 0, nil }), chunk)
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error is %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzLines holds the cutting against the obvious way of doing it, with reads
// of any sizes.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nlong line\nend"), []byte{1, 2, 3}, uint8(5))
	f.Add(bytes.Repeat([]byte("x"), 3*chunk), []byte{255}, uint8(0))
	for _, n := range []int{headSize - 1, headSize, headSize + 1, 4 * headSize} { // at the limit and beside it
		f.Add([]byte(strings.Repeat("x", n)+"\n"+strings.Repeat("y", n)), []byte{7}, uint8(0))
	}
	f.Fuzz(func(t *testing.T, data, sizes []byte, max uint8) {
		limit := int(max) + headSize
		var want []string
		for line := range strings.SplitSeq(string(data), "\n") {
			if len(line) > 4*limit {
				return // may be the end or not, depending on the reads
			}
			if len(line) > limit {
				line = "!" + line[:headSize]
			}
			want = append(want, line)
		}
		got, err := cutAll(&portions{bytes.NewReader(data), sizes, 0}, limit)
		if last := want[len(want)-1]; strings.HasPrefix(last, "!") || len(last) > limit {
			want[len(want)-1], got = "", append(got[:len(got)-1:len(got)-1], "") // cut either way
			got = got[:len(want)]
		}
		if err != io.EOF || !slices.Equal(got, want) {
			t.Errorf("%q in portions of %v, limit %d:\n got %q (%v)\nwant %q", data, sizes, limit, got, err, want)
		}
	})
}

// portions reads as many bytes at a time as its sizes say.
type portions struct {
	r     io.Reader
	sizes []byte
	i     int
}

func (p *portions) Read(b []byte) (int, error) {
	n := len(b)
	if len(p.sizes) > 0 {
		n = min(n, int(p.sizes[p.i%len(p.sizes)])+1)
		p.i++
	}
	return p.r.Read(b[:n])
}

func TestBudgetDoublesWaitsAndRunsOut(t *testing.T) {
	f := failures{Budget: Budget{}.withDefaults()}
	now := time.Now()
	for i, want := range []time.Duration{250, 500, 1000, 2000, 4000} {
		wait, ok := f.spend(now, 0)
		if !ok || wait != want*time.Millisecond {
			t.Errorf("restart %d: wait %v (%v), want %v ms", i+1, wait, ok, want)
		}
		now = now.Add(time.Second)
	}
	if _, ok := f.spend(now, 0); ok {
		t.Error("a sixth restart within five minutes was granted")
	}
	if _, ok := f.spend(now.Add(5*time.Minute-time.Second), 0); !ok {
		t.Error("a restart was refused when the first had left the window")
	}
}

func TestBudgetForgetsAfterAHealthyWhile(t *testing.T) {
	f := failures{Budget: Budget{}.withDefaults()}
	now := time.Now()
	for range 5 {
		f.spend(now, 0)
	}
	if wait, ok := f.spend(now, time.Minute); !ok || wait != 250*time.Millisecond {
		t.Errorf("after a healthy minute: wait %v (%v)", wait, ok)
	}
}

func TestBudgetHasALongestWaitAndCanBeNone(t *testing.T) {
	f := failures{Budget: Budget{Restarts: 50}.withDefaults()}
	var wait time.Duration
	for range 50 {
		wait, _ = f.spend(time.Now(), 0)
	}
	if wait != 30*time.Second {
		t.Errorf("the longest wait is %v", wait)
	}
	none := failures{Budget: Budget{Restarts: -1}.withDefaults()}
	if _, ok := none.spend(time.Now(), time.Hour); ok {
		t.Error("a restart was granted out of none")
	}
}

func TestNoiseIsTooMuchOverAHundredInTenSeconds(t *testing.T) {
	now := time.Now()
	var slow, fast noiseMeter
	for i := range 1000 {
		if slow.add(now.Add(time.Duration(i) * 101 * time.Millisecond)) {
			t.Fatalf("line %d, ten a second, was too much", i+1)
		}
	}
	for i := range 101 {
		if tooMany := fast.add(now.Add(time.Duration(i) * time.Millisecond)); tooMany != (i == 100) {
			t.Fatalf("line %d: too many is %v", i+1, tooMany)
		}
	}
}

func TestStderrGoesToTheLogAtAHundredLinesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, text := logged()
		r, w := io.Pipe()
		tail := stderrTail{log: log}
		go tail.drain(r)
		for range 3 {
			w.Write(bytes.Repeat([]byte("line\n"), 250))
			time.Sleep(time.Second)
		}
		w.Write([]byte("without newline"))
		w.Close()
		synctest.Wait()
		if got := strings.Count(text(), "line=line"); got != 300 {
			t.Errorf("%d lines in three seconds went to the log, want 300", got)
		}
		if got := strings.Count(text(), "event=stderr_suppressed lines=150"); got != 3 {
			t.Errorf("suppressed lines were told %d times, want 3:\n%s", got, text())
		}
		if !strings.Contains(text(), "without newline") {
			t.Error("the last words without newline are lost")
		}
	})
}

// One long line is shown cut, once, and the lines after it are shown again, however it came
// in pieces (FINDINGS T4).
func TestTheLogGoesOnAfterOneLongLine(t *testing.T) {
	long := strings.Repeat("x", 3*shownLine) + "tail of it"
	for name, r := range map[string]io.Reader{
		"at once":      strings.NewReader("before\n" + long + "\nafter\n"),
		"in pieces":    io.MultiReader(strings.NewReader("before\n"+long[:2000]), strings.NewReader(long[2000:]), strings.NewReader("\nafter"), strings.NewReader("\n")),
		"byte by byte": iotest.OneByteReader(strings.NewReader("before\n" + long + "\nafter\n")),
	} {
		log, text := logged()
		tail := stderrTail{log: log}
		tail.drain(r)
		if strings.Count(text(), "server stderr\" line=") != 3 || !strings.Contains(text(), "line=after") || strings.Contains(text(), "tail of it") {
			t.Errorf("%s: %s", name, text())
		}
	}
}

func TestTailKeepsTheEndInBoundedMemory(t *testing.T) {
	log, text := logged()
	tail := stderrTail{log: log}
	tail.drain(io.MultiReader(
		strings.NewReader(strings.Repeat("x", 10<<20)), // one line
		strings.NewReader("\n\nsecond to last\r\n\x1b[2Jlast"),
	))
	if got, want := tail.all()[1:], []string{"second to last", `\u{1b}[2Jlast`}; !slices.Equal(got, want) {
		t.Errorf("last lines are %q, want %q", got, want)
	}
	if cap(tail.ring) > 4*tailSize {
		t.Errorf("the ring holds %d bytes", cap(tail.ring))
	}
	if len(text()) > 8<<10 {
		t.Errorf("%d bytes of one line went to the log", len(text()))
	}
	if got := tail.all(); len(got) != 3 || len(got[0]) != shownLine {
		t.Errorf("%d lines are kept", len(got))
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain, tab\tand ü€":      `plain, tab\u{9}and ü€`,
		"\x1b[31m\r\n":            `\u{1b}[31m\u{d}\u{a}`,
		"bidi \u202e zero \u200b": `bidi \u{202e} zero \u{200b}`,
		"bad \xff\xfe \ufffd":     `bad \u{ff}\u{fe} ` + "\ufffd",
		"\u2028\u009b":            `\u{2028}\u{9b}`,
	} {
		if got := text.Line(in); got != want {
			t.Errorf("text.Line(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestCommandIsShownInOneShortLine(t *testing.T) {
	if got, want := command([]string{"npx", "-y", "a b", "", "\x1b"}), `npx -y "a b" "" \u{1b}`; got != want {
		t.Errorf("shown as %s, want %s", got, want)
	}
	if got := command([]string{strings.Repeat("ü", 500)}); len(got) > 170 || !strings.HasSuffix(got, "ü…") {
		t.Errorf("shown as %s", got)
	}
}
