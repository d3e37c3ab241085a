package main

import (
	"regexp"
	"strings"
)

// What in a command line is likely to be a secret: the value of something that
// is called one, and a password in a URL.
var (
	secretName  = `(?:[\w.-]*(?:token|secret|passw|api[-_]?key|credential|authorization)[\w.-]*|(?:\w+[-_.])*(?:pass|pwd|pw|pat|key|dsn|auth|bearer|cookie)(?:[-_.]\w+)*)`
	secretFlag  = regexp.MustCompile(`(?i)^--?` + secretName + `$`)
	secretValue = regexp.MustCompile(`(?is)((?:^|[^\w.-])-{0,2}` + secretName + `\s*[=:]\s*).+`)
	secretInURL = regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`)
	secretInDSN = regexp.MustCompile(`(^|[\s='"])([^\s:@/='"]+:)[^\s@/]+@`)
	secretShape = regexp.MustCompile(`\b(?:AKIA[0-9A-Z]{12,}|gh[a-z]_\w{8,}|github_pat_\w{8,}|sk-[\w-]{8,}|xox[a-z]-[\w-]{8,}|glpat-[\w-]{8,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)`)
)

const unsaid = "[hidden]"

// inPublic is a command line as it is shown to people at this machine and stands in
// files, without what looks like a secret. What is one cannot always be told (FINDINGS
// M4), so the topic sees the program's name alone; see [target.program].
func inPublic(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		if i > 0 && secretFlag.MatchString(argv[i-1]) && !strings.HasPrefix(word, "-") {
			words[i] = unsaid
			continue
		}
		words[i] = withoutSecrets(word)
	}
	return strings.Join(words, " ")
}

func withoutSecrets(word string) string {
	word = secretValue.ReplaceAllString(word, "${1}"+unsaid)
	word = secretInURL.ReplaceAllString(word, "${1}"+unsaid+"@")
	word = secretInDSN.ReplaceAllString(word, "${1}${2}"+unsaid+"@")
	return secretShape.ReplaceAllString(word, unsaid)
}
