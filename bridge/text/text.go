// Package text makes what others wrote fit to be put before people and models.
// It is the only room that says which characters may be seen: what a stranger
// wrote moves no cursor, hides nothing and is on record as what it is
// (RELIABILITY AI-15, FINDINGS M6 and L8, LEAN 4.13). Controls (C0, DEL, C1), what
// turns the direction of writing, zero-width, tag, private-use, unassigned and
// blank characters, variation selectors, odd spaces and more than four combining
// characters on one letter are written as \u{…}, and counted where [Marks] are
// kept. All that comes back is printable, and what is shown once comes back as it
// is when it is shown again.
//
// Values are not to be changed this way: a name that must be sent back as it is, a
// record, a frame. JSON for programs goes through [EscapeJSON], which keeps values.
//
// Beside that it has what every room that speaks to people needs: how wide a line is at a
// terminal ([Width], [Fit], [Fill]), what stands in a row ([Cell]), numbers and lists in words
// ([Counted], [Series], [Some], [Summary]), how people write sizes and lengths of time ([Bytes],
// [Duration], [Days]), and how they read times ([Moment], [Exact], [Span], [Left]).
package text

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s as it may be put before a person, on one line. Printable ASCII
// comes back without allocation.
func Line(s string) string {
	if plain(s) {
		return s
	}
	var m Marks
	return string(m.AppendLine(nil, s))
}

// Lines is [Line] for text that may have lines and tabs; CRLF becomes LF.
func Lines(s string) string {
	if plain(s) {
		return s
	}
	var m Marks
	out := make([]byte, 0, len(s)+len(s)/8)
	for line := range strings.Lines(s) {
		body, feed := strings.CutSuffix(line, "\n")
		if feed {
			body = strings.TrimSuffix(body, "\r")
		}
		for i, cell := range strings.Split(body, "\t") {
			if i > 0 {
				out = append(out, '\t')
			}
			out = m.AppendLine(out, cell)
		}
		if feed {
			out = append(out, '\n')
		}
	}
	return string(out)
}

// Cell is [Line] for what stands beside other words, in a table or a line that has columns: of
// several spaces in a row all but the first are written as \u{20}, and those at both ends, so
// that nothing in it looks like the next column.
func Cell(s string) string {
	s = Line(s)
	if !strings.Contains(s, "  ") && !strings.HasPrefix(s, " ") && !strings.HasSuffix(s, " ") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if s[i] == ' ' && (i == 0 || s[i-1] == ' ' || i == len(s)-1) {
			b.WriteString(`\u{20}`)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// Cut is [Line] for at most so many characters of s; that there were more is shown
// by an ellipsis.
func Cut(s string, most int) string {
	head, cut := first(s, most)
	if cut {
		return Line(head) + "…"
	}
	return Line(s)
}

// Quote is [Cut] in quotes, quotes and backslashes within escaped. What was cut is
// followed by the length of the whole in bytes and the first 8 digits of its SHA-256,
// by which two long ones are told apart.
func Quote(s string, most int) string {
	var m Marks
	head, cut := first(s, most)
	out := m.AppendQuoted(nil, head)
	if !cut {
		return string(out)
	}
	sum := sha256.Sum256([]byte(s))
	return string(out) + "… (" + strconv.Itoa(len(s)) + " bytes, sha256 " + hex.EncodeToString(sum[:4]) + ")"
}

// first returns the first characters of s, at most so many. The work is bounded by
// most, not by s.
func first(s string, most int) (head string, cut bool) {
	if len(s) <= most {
		return s, false
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i], true
		}
		n++
	}
	return s, false
}

// Strip returns a person's words without what could not be seen, without white
// space around them, and at most limit characters of them (WIRE 7.2).
func Strip(s string, limit int) string {
	out := make([]rune, 0, min(len(s), limit))
	for _, r := range s {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		if Hidden(r) || r == ' ' && len(out) == 0 {
			continue
		}
		if len(out) == limit {
			break
		}
		out = append(out, r)
	}
	for len(out) > 0 && out[len(out)-1] == ' ' {
		out = out[:len(out)-1]
	}
	return string(out)
}

// Plain reports whether s can be shown as it is: [Line] changes nothing.
func Plain(s string) bool { return plain(s) || Line(s) == s }

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7F {
			return false
		}
	}
	return true
}

// AppendLine appends [Line] of s and counts what it had to escape.
func (m *Marks) AppendLine(dst []byte, s string) []byte { return m.append(dst, s, appendBraced, false) }

// AppendQuoted appends s like AppendLine, as a JSON string would be written: in
// quotes, and quotes and backslashes within it escaped.
func (m *Marks) AppendQuoted(dst []byte, s string) []byte {
	return append(m.append(append(dst, '"'), s, appendBraced, true), '"')
}

// AppendJSONString appends s as a real JSON string in which what people could not
// see is escaped; its value is s. s must be UTF-8.
func AppendJSONString(dst []byte, s string) []byte {
	var m Marks
	return append(m.append(append(dst, '"'), s, appendJSONEscape, true), '"')
}

// EscapeJSON returns JSON in which what a terminal would act upon or people could
// not see is written as \uXXXX; no value is changed by that. An invalid byte becomes
// U+FFFD, as readers take it. JSON that needs nothing comes back as it is.
func EscapeJSON(json []byte) []byte {
	at := plainASCII(json)
	if at == len(json) {
		return json
	}
	out := append(make([]byte, 0, len(json)+64), json[:at]...)
	for at < len(json) {
		r, n := utf8.DecodeRune(json[at:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case r >= 0x7F && Hidden(r):
			out = appendJSONEscape(out, r)
		default:
			out = append(out, json[at:at+n]...)
		}
		at += n
	}
	return out
}

// plainASCII is how many bytes at the beginning of b are below 0x7F. It looks at eight at
// a time: every event passes here.
func plainASCII(b []byte) (n int) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(b)-n >= 8; n += 8 {
		if w := binary.LittleEndian.Uint64(b[n:]); (w|(w+ones))&tops != 0 {
			break
		}
	}
	for n < len(b) && b[n] < 0x7F {
		n++
	}
	return n
}

// maxStack is how many combining characters may stand on one letter.
const maxStack = 4

// append appends s, what must not be seen as escape writes it. quoted says
// that s stands inside quotes.
func (m *Marks) append(dst []byte, s string, escape func([]byte, rune) []byte, quoted bool) []byte {
	stack := maxStack // nothing to stand on yet
	for len(s) > 0 {
		if n := run(s); n > 0 {
			dst, s, stack = append(dst, s[:n]...), s[n:], maxStack
			if last := dst[len(dst)-1] | 0x20; last >= 'a' && last <= 'z' || last >= '0' && last <= '9' {
				stack = 0
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		bad := r == utf8.RuneError && n == 1
		was := s[0]
		s = s[n:]
		switch sort, hidden, combines := look(r); {
		case bad:
			m[broken]++
			dst, stack = escape(dst, rune(was)), maxStack
		case quoted && short(r) != 0:
			dst, stack = append(dst, '\\', short(r)), maxStack
		case hidden:
			m[sort]++
			dst, stack = escape(dst, r), maxStack
		case combines:
			if stack++; stack > maxStack {
				m[combining]++
				dst = escape(dst, r)
				continue
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = utf8.AppendRune(dst, r)
			stack = maxStack
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				stack = 0
			}
		}
	}
	return dst
}

// run is how many bytes at the beginning of s are letters and the like in ASCII, which
// are copied as they are. Quotes and backslashes are none.
func run(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7F || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}

// short is how a character is escaped inside quotes, where people know it so.
func short(r rune) byte {
	switch r {
	case '"', '\\':
		return byte(r)
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return 0
}

func appendBraced(dst []byte, r rune) []byte {
	dst = append(dst, `\u{`...)
	return append(strconv.AppendInt(dst, int64(r), 16), '}')
}

func appendJSONEscape(dst []byte, r rune) []byte {
	if r <= 0xFFFF {
		return appendUnit(dst, r)
	}
	r -= 0x10000
	return appendUnit(appendUnit(dst, 0xD800+r>>10), 0xDC00+r&0x3FF)
}

// appendUnit appends one unit of UTF-16.
func appendUnit(dst []byte, u rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
}

// Count counts what AppendLine would escape, apart from stacks, and breaks between
// lines and tabs.
func (m *Marks) Count(s string) {
	for i, r := range s {
		if r >= ' ' && r < 0x7F || r == '\n' || r == '\r' || r == '\t' {
			continue
		}
		if r == utf8.RuneError && s[i] != 0xEF {
			m[broken]++
		} else if sort, hidden := sortOf(r); hidden {
			m[sort]++
		}
	}
}
