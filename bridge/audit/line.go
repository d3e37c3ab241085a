package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Head is one record of a log: its number, and the SHA-256 of its line
// without the newline. The zero Head is that of an empty log.
type Head struct {
	Seq  uint64
	Hash [sha256.Size]byte
}

// String is the form in which heads are told to others: number, colon, 64 hex
// digits.
func (h Head) String() string { return fmt.Sprintf("%d:%x", h.Seq, h.Hash) }

// ParseHead reads what String wrote.
func ParseHead(text string) (Head, error) {
	seq, hash, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	h := Head{Seq: n}
	if err != nil || n == 0 || len(hash) != hex.EncodedLen(len(h.Hash)) {
		return Head{}, fmt.Errorf("%q is no head: it takes a number, a colon and 64 hex digits", text)
	}
	if _, err := hex.Decode(h.Hash[:], []byte(hash)); err != nil {
		return Head{}, fmt.Errorf("%q is no head: what follows the colon is not hexadecimal", text)
	}
	return h, nil
}

// next is the head after one more line.
func (h Head) next(line []byte) Head { return Head{h.Seq + 1, sha256.Sum256(line)} }

const (
	timeForm  = "2006-01-02T15:04:05.000000Z"
	prevWidth = 2 * sha256.Size
)

// appendLine writes the line that follows h, without its newline.
func (h Head) appendLine(dst, stamp, rec []byte) []byte {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, h.Seq+1, 10)
	dst = append(dst, stamp...)
	dst = hex.AppendEncode(dst, h.Hash[:])
	dst = append(dst, `",`...)
	at := len(dst)
	dst = append(dst, rec[1:]...)
	unbroken(dst[at:])
	return dst
}

// appendStamp writes what all lines of a batch have between their numbers and hashes.
func appendStamp(dst []byte, now time.Time, mono time.Duration) []byte {
	dst = append(dst, `,"ts":"`...)
	dst = appendTime(dst, now)
	dst = append(dst, `","mono_ms":`...)
	dst = strconv.AppendInt(dst, mono.Milliseconds(), 10)
	return append(dst, `,"prev":"`...)
}

// appendTime appends a time in timeForm, cut to microseconds. RFC 3339 is the form that
// package time writes fast.
func appendTime(dst []byte, at time.Time) []byte {
	at = at.UTC()
	dst = at.AppendFormat(dst, time.RFC3339)
	dst[len(dst)-1] = '.' // was Z
	for micros, unit := at.Nanosecond()/1000, 100_000; unit > 0; unit /= 10 {
		dst = append(dst, byte('0'+micros/unit%10))
	}
	return append(dst, 'Z')
}

// unbroken makes one line of JSON that may have several: within strings there
// are no raw line breaks.
func unbroken(text []byte) {
	for _, c := range []byte("\n\r") {
		for i := bytes.IndexByte(text, c); i >= 0; i = bytes.IndexByte(text, c) {
			text[i] = ' '
		}
	}
}

// A header is what is read of a line without parsing all of it.
type header struct {
	seq   uint64
	at    time.Time // ts
	prev  []byte    // hex
	event []byte
	call  []byte // raw token; nil if there is none
}

// readHeader reads the members that every line begins with. It accepts only
// what appendLine writes.
func readHeader(line []byte) (header, error) {
	var h header
	c := cursor{rest: line}
	c.skip(`{"seq":`)
	h.seq = c.number()
	c.skip(`,"ts":"`)
	h.at, _ = time.Parse(timeForm, string(c.text()))
	c.skip(`,"mono_ms":`)
	c.number()
	c.skip(`,"prev":"`)
	h.prev = c.text()
	c.skip(`,`)
	h.event, h.call = c.subject()
	switch {
	case c.bad:
		return header{}, errors.New("it is not a line of this log: it does not begin with seq, ts, mono_ms, prev, event")
	case len(h.prev) != prevWidth:
		return header{}, errors.New("its prev has not 64 digits")
	case h.at.IsZero():
		return header{}, errors.New("its ts is no time")
	}
	return h, nil
}

// A cursor reads a line from left to right. What does not fit makes it bad.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) skip(text string) {
	if !bytes.HasPrefix(c.rest, []byte(text)) {
		c.bad = true
		return
	}
	c.rest = c.rest[len(text):]
}

func (c *cursor) number() uint64 {
	i := 0
	for i < len(c.rest) && '0' <= c.rest[i] && c.rest[i] <= '9' {
		i++
	}
	n, err := strconv.ParseUint(string(c.rest[:i]), 10, 64)
	c.bad = c.bad || err != nil || c.rest[0] == '0' && i > 1
	c.rest = c.rest[i:]
	return n
}

// text takes what comes before the next quotation mark, and that.
func (c *cursor) text() []byte {
	i := bytes.IndexByte(c.rest, '"')
	if i < 0 {
		c.bad = true
		return nil
	}
	text := c.rest[:i]
	c.rest = c.rest[i+1:]
	return text
}

// current is the name that an event has today. Logs of builds before 2026-11-25 go on being
// read, verified and added to; a person's answer never was the end of a call.
func current(event []byte) []byte {
	switch string(event) {
	case "start":
		return []byte("started")
	case "end":
		return []byte("ended")
	case "answered":
		return []byte("answer")
	}
	return event
}

// EventName is the name that an event of a log, of whatever age, has today.
func EventName(event string) string { return string(current([]byte(event))) }

// subject reads event, by the name that it has today, and call if that comes next.
func (c *cursor) subject() (event, call []byte) {
	c.skip(`"event":"`)
	event = c.text()
	for _, b := range event {
		c.bad = c.bad || (b < 'a' || b > 'z') && b != '_'
	}
	c.bad = c.bad || len(event) == 0
	event = current(event)
	if !bytes.HasPrefix(c.rest, []byte(`,"call":`)) {
		return event, nil
	}
	c.skip(`,"call":`)
	end := bytes.IndexAny(c.rest, ",}")
	if end <= 0 {
		c.bad = true
		return event, nil
	}
	return event, c.rest[:end]
}

// verdictOf reads the verdict of a decided record that is to be written: as the bridge
// writes them, members up to it have no others within. The name of a tool and the
// arguments can say anything.
func verdictOf(rec []byte) string {
	c := cursor{rest: rec}
	c.skip("{")
	if _, call := c.subject(); call != nil {
		c.rest = c.rest[len(call):]
	}
	for !c.bad {
		c.skip(`,"`)
		name := c.text()
		c.skip(":")
		if value := c.flat(); string(name) == "verdict" && !c.bad {
			return string(value)
		}
	}
	return ""
}

// flat takes a string, with its quotes, or another value that has none within.
func (c *cursor) flat() []byte {
	if len(c.rest) == 0 || c.rest[0] == '{' || c.rest[0] == '[' {
		c.bad = true
		return nil
	}
	end := bytes.IndexAny(c.rest, ",}")
	if c.rest[0] == '"' {
		end = 1
		for end < len(c.rest) && c.rest[end] != '"' {
			if c.rest[end] == '\\' {
				end++
			}
			end++
		}
		end++
	}
	if end < 0 || end > len(c.rest) {
		c.bad = true
		return nil
	}
	value := c.rest[:end]
	c.rest = c.rest[end:]
	return value
}

// A subject is what a record is of, as its bytes have it.
type subject struct{ event, call []byte }

// subjectOf reads event and call of a record that is to be written.
func subjectOf(rec []byte) (s subject, err error) {
	c := cursor{rest: rec}
	c.skip("{")
	s.event, s.call = c.subject()
	if c.bad || rec[len(rec)-1] != '}' {
		return subject{}, fmt.Errorf(`audit: a record must be a JSON object that begins with "event", not %.40q`, rec)
	}
	return s, nil
}

// subjectsOf appends those of recs.
func subjectsOf(dst []subject, recs [][]byte) ([]subject, error) {
	for _, rec := range recs {
		s, err := subjectOf(rec)
		if err != nil {
			return dst, err
		}
		dst = append(dst, s)
	}
	return dst, nil
}
