package audit

import (
	"fmt"
	"strings"
	"testing"
)

// Every byte of the name of an event, and of the numbers in a line (FINDINGS T3).
func TestEveryByteOfAnEvent(t *testing.T) {
	for c := range 0x80 {
		char := string(rune(c))
		want := c >= 'a' && c <= 'z' || c == '_'
		if _, err := subjectOf([]byte(`{"event":"x` + char + `","call":"c"}`)); (err == nil) != want && char != `"` {
			t.Errorf("%q in an event: %v", char, err)
		}
		number := cursor{rest: []byte("1" + char + ",")}
		if n := number.number(); (n > 1) != (c >= '0' && c <= '9') || number.bad {
			t.Errorf("1%s is read as %d", char, n)
		}
		first := cursor{rest: []byte(char + ",")}
		if first.number(); first.bad == (c >= '0' && c <= '9') {
			t.Errorf("%q begins a number: %v", char, !first.bad)
		}
	}
	for text, fits := range map[string]bool{"0": true, "00": false, "01": false, "10": true, "18446744073709551615": true, "18446744073709551616": false, "": false, "-1": false, "+1": false} {
		c := cursor{rest: []byte(text)}
		if c.number(); c.bad == fits {
			t.Errorf("%q is a number: %v", text, !c.bad)
		}
	}
}

// The names of full files, with the least number of digits and the greatest number that can be no date.
func TestNamesOfFullFiles(t *testing.T) {
	for name, want := range map[string]uint64{
		"a.jsonl.000000000001": 1, "a.jsonl.009999999999": 9999999999,
		"a.jsonl.010000000000": 0, "a.jsonl.1000000000000": 0, "a.jsonl.9223372036854775808": 0, "a.jsonl.00000000001": 0, "a.jsonl.": 0, "a.jsonl": 0, "b.jsonl.000000000001": 0, "a.jsonl.00000000000/": 0, "a.jsonl.00000000000:": 0, "a.jsonl.00000000000a": 0, "a.jsonl.+00000000001": 0, "a.jsonl.-00000000001": 0,
	} {
		if got := firstOf("/var/log/a.jsonl", name); got != want {
			t.Errorf("%s begins with %d, want %d", name, got, want)
		}
		if want > 0 && fullName("a.jsonl", want) != name {
			t.Errorf("%s is called %s", name, fullName("a.jsonl", want))
		}
	}
}

// What the log's note says of whose it is, as long as that is an id; a note is always as wide.
func TestHowLongANameInANoteIs(t *testing.T) {
	for n, kept := range map[int]bool{1: true, 63: true, 64: true, 65: false} {
		id := strings.Repeat("x", n)
		text := string(Note{Head: Head{Seq: 1<<64 - 1}, Log: strings.Repeat("f", 32), Bridge: id}.text())
		if strings.Contains(text, fmt.Sprintf("%q", id)) != kept || len(text) != slotWidth || !strings.HasSuffix(text, "\n") {
			t.Errorf("an id of %d: %q of %d bytes", n, text, len(text))
		}
	}
	for _, id := range []string{strings.Repeat("\x01", 64), strings.Repeat("\x01", 20), strings.Repeat(`"`, 64)} {
		if text := (Note{Head: Head{Seq: 1<<64 - 1}, Log: strings.Repeat("f", 32), Bridge: id}).text(); len(text) != slotWidth {
			t.Errorf("%q: a note of %d bytes", id, len(text))
		}
	}
}
