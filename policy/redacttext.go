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
		if !strings.ContainsRune(gives, c) || i < from || !p.names(text[from:i]) {
			continue
		}
		value := i + utf8.RuneLen(c)
		end := value + valueEnd(text[value:])
		if strings.TrimSpace(text[value:end]) == "" {
			continue
		}
		out.WriteString(text[from:value] + "[redacted]")
		from = end
	}
	return out.String() + text[from:]
}

// gives are the marks between a key and its value, as other keyboards write them too.
const gives = "=:＝：﹦﹕"

// names reports whether text ends with a key whose value is hidden.
func (p *Policy) names(text string) bool {
	text = strings.TrimRightFunc(text, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("\"'`\\", c) })
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
	start := spaces(text)
	for _, scheme := range []string{"bearer", "basic"} {
		after := start + len(scheme)
		if after < len(text) && strings.EqualFold(text[start:after], scheme) && spaces(text[after:]) > 0 {
			start = after + spaces(text[after:])
		}
	}
	rest := text[start:]
	if rest != "" && strings.ContainsRune("\"'`", rune(rest[0])) {
		return start + quotedEnd(rest)
	}
	if end := strings.IndexFunc(rest, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(",;&", c) }); end >= 0 {
		return start + end
	}
	return len(text)
}

// spaces is how many bytes of white space text begins with.
func spaces(text string) int { return len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace)) }

// quotedEnd is where a text ends that begins with a quotation mark. One after a backslash
// is part of it.
func quotedEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

// LooksSecret reports whether a text names a secret, by the usual names of such.
func LooksSecret(text string) bool {
	p := Policy{redact: usualSecrets}
	return p.RedactText(text) != text
}
