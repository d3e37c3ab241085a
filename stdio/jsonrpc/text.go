package jsonrpc

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the text of a JSON string. It reports false if raw is
// anything but one whole, valid JSON string.
func Unquote(raw []byte) (string, bool) {
	s, end, ok := String(raw, 0)
	if !ok || end != len(raw) {
		return "", false
	}
	return s, true
}

// String reads the JSON string that begins at i, of a text that need not have been scanned,
// as strictly as [Scan] does under [Judged], and returns what it says and the offset after it.
func String(text []byte, i int) (s string, end int, ok bool) {
	sc := scanner{data: text, keys: new(keyring)}
	if sc.peek(i) != '"' {
		return "", i, false
	}
	end, has := sc.str(i)
	switch {
	case end < 0:
		return "", i, false
	case has&escaped == 0:
		return string(text[i+1 : end-1]), end, true
	}
	inner := text[i+1 : end-1]
	return string(appendDecoded(make([]byte, 0, len(inner)), inner)), end, true
}

// Scalar is the offset after the string, number, true, false or null that begins at i, of a
// text that need not have been scanned; it is negative where none does.
func Scalar(text []byte, i int) int {
	sc := scanner{data: text, keys: new(keyring)} // whose rules allow nothing that holds others
	return sc.value(i, 1, nil)
}

// Mend returns a text of JSON in which bytes that are not UTF-8 and halves of
// surrogate pairs are U+FFFD. It returns text itself where there are none, and
// changes nothing else, so text that is no JSON becomes none.
func Mend(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	whole := text
	for i := 0; ; {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return text
		}
		i += next
		if i+1 >= len(text) || text[i+1] != 'u' {
			i += 2
			if i >= len(text) {
				return text
			}
			continue
		}
		r := hex4(text, i+2)
		switch {
		case r < 0:
			i += 2
		case !utf16.IsSurrogate(r):
			i += 6
		case pair(r, text[i+6:]) != utf8.RuneError:
			i += 12
		default:
			if &whole[0] == &text[0] {
				text = bytes.Clone(text)
			}
			copy(text[i+2:], "fffd")
			i += 6
		}
	}
}

// AppendQuote appends s as a JSON string. Only what must be escaped is: quote,
// backslash and control characters, not <, >, & or U+2028. Bytes that are not
// UTF-8 become U+FFFD.
func AppendQuote(dst []byte, s string) []byte {
	at := len(dst) + 1
	dst = append(append(dst, '"'), s...)
	end := plain(dst, at)
	if end == len(dst) { // as nearly all are
		return append(dst, '"')
	}
	dst = dst[:end]
	start := end - at
	for i := start; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				dst = append(dst, s[start:i]...)
				dst = appendEscape(dst, c)
				start = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			start = i + 1
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// EscapeBreaks returns a message in which U+2028 and U+2029 are written as escapes.
// JSON lets them stand in strings as they are, but some readers of lines end one
// there, Node's readline among them, and so lose the message (FINDINGS L6). It is the
// one change to bytes of a caller's: what they mean, which is what was judged and
// shown, is the same, and a digest is that of the bytes as they came. Where there are
// none, message itself comes back.
func EscapeBreaks(message []byte) []byte {
	line, paragraph := bytes.Index(message, []byte("\u2028")), bytes.Index(message, []byte("\u2029"))
	if line < 0 && paragraph < 0 {
		return message
	}
	out := make([]byte, 0, len(message)+len(message)/8+64)
	done := 0
	for i := max(0, min(line, paragraph)); i+2 < len(message); i++ {
		// Byte by byte: a text may be full of characters that begin alike (FINDINGS M3).
		if message[i] != 0xe2 || message[i+1] != 0x80 || message[i+2]&^1 != 0xa8 {
			continue
		}
		if done < i {
			out = append(out, message[done:i]...)
		}
		done = i + 3
		if cap(out)-len(out) < 6 { // there are many, and the rest may be nothing else
			out = slices.Grow(out, 6+2*(len(message)-done))
		}
		out = append(out, '\\', 'u', '2', '0', '2', '8'+message[i+2]&1)
		i += 2
	}
	return append(out, message[done:]...)
}
