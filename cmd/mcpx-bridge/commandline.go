package main

import (
	"regexp"
	"strings"
)

// What in a command line is likely to be a secret: the value of something that
// is called one, and a password in a URL.
var (
	secretName  = `[\w.-]*(?:token|secret|passw|api[-_]?key|credential|authorization)[\w.-]*`
	secretFlag  = regexp.MustCompile(`(?i)^--?` + secretName + `$`)
	secretValue = regexp.MustCompile(`(?is)(` + secretName + `\s*[=:]\s*).+`)
	secretInURL = regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`)
)

const unsaid = "[hidden]"

// inPublic is a command line as questions show it, which the whole topic can
// read, without what looks like a secret. Secrets belong in the environment.
func inPublic(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		if i > 0 && secretFlag.MatchString(argv[i-1]) && !strings.HasPrefix(word, "-") {
			words[i] = unsaid
			continue
		}
		words[i] = secretInURL.ReplaceAllString(secretValue.ReplaceAllString(word, "${1}"+unsaid), "${1}"+unsaid+"@")
	}
	return strings.Join(words, " ")
}
