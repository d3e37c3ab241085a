package jsonrpc

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the text of a JSON string. It reports false if raw is
// anything but one whole, valid JSON string.
func Unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	s := scanner{data: raw, keys: new(keyring)}
	end, look := s.str(0)
	if end != len(raw) {
		return "", false
	}
	inner := raw[1 : end-1]
	if look&escaped == 0 {
		return string(inner), true
	}
	return string(appendDecoded(make([]byte, 0, len(inner)), inner)), true
}

// appendDecoded appends the inside of a valid JSON string with its escapes
// resolved.
func appendDecoded(dst, inner []byte) []byte {
	for {
		i := bytes.IndexByte(inner, '\\')
		if i < 0 {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:i]...)
		if c := inner[i+1]; c != 'u' {
			dst = append(dst, unescape(c))
			inner = inner[i+2:]
			continue
		}
		r := hex4(inner, i+2)
		inner = inner[i+6:]
		if utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, hex4(inner, 2))
			inner = inner[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// AppendQuote appends s as a JSON string. Only what must be escaped is: quote,
// backslash and control characters, not <, >, & or U+2028. Bytes that are not
// UTF-8 become U+FFFD.
func AppendQuote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
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
