package jsonrpc

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// shortRun is how many bytes after an escape are looked at one by one. Where there was
// one escape there are usually more, and plain takes as long for two bytes as for thirty.
const shortRun = 4

// appendDecoded appends the inside of a valid JSON string with its escapes
// resolved.
func appendDecoded(dst, inner []byte) []byte {
	for len(inner) > 0 {
		if inner[0] != '\\' {
			n := beforeEscape(inner)
			dst = append(dst, inner[:n]...)
			inner = inner[n:]
			continue
		}
		if c := inner[1]; c != 'u' {
			dst = append(dst, unescaped[c])
			inner = inner[2:]
			continue
		}
		r := hex4(inner, 2)
		inner = inner[6:]
		if utf16.IsSurrogate(r) {
			if r = pair(r, inner); r != utf8.RuneError {
				inner = inner[6:]
			}
		}
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// beforeEscape is how many bytes there are before the next backslash, or in all. It looks at
// a few one by one, as afterEscape does.
func beforeEscape(inner []byte) int {
	for n := range min(4*shortRun, len(inner)) {
		if inner[n] == '\\' {
			return n
		}
	}
	if n := bytes.IndexByte(inner, '\\'); n >= 0 {
		return n
	}
	return len(inner)
}

// pair is what the escape of a surrogate makes with what follows it, U+FFFD if
// that is not its other half.
func pair(first rune, after []byte) rune {
	if len(after) < 6 || after[0] != '\\' || after[1] != 'u' {
		return utf8.RuneError
	}
	return utf16.DecodeRune(first, hex4(after, 2))
}

// unescaped is what a byte behind a backslash stands for: itself, mostly.
var unescaped = func() (t [256]byte) {
	for c := range t {
		t[c] = byte(c)
	}
	t['b'], t['f'], t['n'], t['r'], t['t'] = '\b', '\f', '\n', '\r', '\t'
	return t
}()

// hex4 returns the value of the four hex digits at i, or -1.
func hex4(d []byte, i int) rune {
	if i+4 > len(d) {
		return -1
	}
	var v rune
	for _, c := range d[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		v = v<<4 | rune(c)
	}
	return v
}
