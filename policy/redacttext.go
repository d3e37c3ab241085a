package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// RedactText returns what somebody wrote in words, as the reason for a withdrawal,
// with the value after a key that the file hides replaced: of "password=abc" or
// "token: abc" the abc. It knows secrets by their names alone, so it is a help and no
// promise.
func (p *Policy) RedactText(text string) string {
	var out strings.Builder
	from := 0
	for i, c := range text {
		if c != '=' && c != ':' || i < from || !p.names(text[from:i]) {
			continue
		}
		end := i + 1 + valueEnd(text[i+1:])
		if strings.TrimSpace(text[i+1:end]) == "" {
			continue
		}
		out.WriteString(text[from:i+1] + "[redacted]")
		from = end
	}
	return out.String() + text[from:]
}

// names reports whether text ends with a key whose value is hidden.
func (p *Policy) names(text string) bool {
	text = strings.TrimRight(text, " \t\"'`")
	start := strings.LastIndexFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-.", c)
	})
	if start >= 0 {
		_, size := utf8.DecodeRuneInString(text[start:])
		text = text[start+size:]
	}
	return text != "" && newHider(p.redact).stops([]string{text})
}

// valueEnd is where a value ends: at its second quotation mark, else at white space or a mark
// that separates.
func valueEnd(text string) int {
	start := len(text) - len(strings.TrimLeft(text, " \t"))
	rest := text[start:]
	if scheme := strings.ToLower(rest); strings.HasPrefix(scheme, "bearer ") || strings.HasPrefix(scheme, "basic ") {
		start += strings.Index(rest, " ") + 1
		rest = text[start:]
	}
	if rest != "" && strings.ContainsRune("\"'`", rune(rest[0])) {
		if end := strings.IndexByte(rest[1:], rest[0]); end >= 0 {
			return start + end + 2
		}
		return len(text)
	}
	if end := strings.IndexAny(rest, " \t\r\n,;&"); end >= 0 {
		return start + end
	}
	return len(text)
}

// LooksSecret reports whether a text names a secret, by the usual names of such.
func LooksSecret(text string) bool {
	p := Policy{redact: usualSecrets}
	return p.RedactText(text) != text
}
