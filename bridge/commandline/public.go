package commandline

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What in a command line is likely to be a secret: the value of something that
// is called one, and what stands before the host of a URL: a password, or a token alone.
var (
	secretName  = `(?:[\w.-]*(?:token|secret|passw|api[-_]?key|credential|authorization)[\w.-]*|(?:\w+[-_.])*(?:pass|pwd|pw|pat|key|dsn|auth|bearer|cookie)(?:[-_.]\w+)*)`
	secretFlag  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^--?` + secretName + `$`) })
	secretValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)((?:^|[^\w.-])-{0,2}` + secretName + `\s*[=:]\s*).+`)
	})
	userOfURL   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`://[^/\s]*@`) })
	secretInDSN = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[\s='"])([^\s:@/='"]+:)[^\s@/]+@`) })
	secretShape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:AKIA[0-9A-Z]{12,}|gh[a-z]_\w{8,}|github_pat_\w{8,}|sk-[\w-]{8,}|xox[a-z]-[\w-]{8,}|glpat-[\w-]{8,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)`)
	})
)

const unsaid = "[hidden]"

// Public is a command line as it is shown to people at this machine and stands in
// files, without what looks like a secret. What is one cannot always be told (FINDINGS
// M4), so the topic sees the program's name alone; see [Program].
func Public(argv []string) string { return strings.Join(PublicWords(argv), " ") }

// PublicWords is [Public] word by word. It keeps what is passed.
func PublicWords(argv []string) []string {
	words := make([]string, len(argv))
	for i, word := range argv {
		if i > 0 && strings.HasPrefix(argv[i-1], "-") && secretFlag().MatchString(argv[i-1]) && !strings.HasPrefix(word, "-") {
			words[i] = unsaid
			continue
		}
		words[i] = withoutSecrets(word)
	}
	return words
}

func withoutSecrets(word string) string {
	if !strings.ContainsAny(word, "=:@") && !hasShape(word) {
		return word // as most are: nothing has to be compiled for it
	}
	word = secretValue().ReplaceAllString(word, "${1}"+unsaid)
	word = userOfURL().ReplaceAllStringFunc(word, withoutUser)
	word = secretInDSN().ReplaceAllString(word, "${1}${2}"+unsaid+"@")
	return secretShape().ReplaceAllString(word, unsaid)
}

// withoutUser is ://USER:PASSWORD@ without the password, and without the user where that
// may be the secret: alone, before no password, or before what GitHub takes for none.
func withoutUser(in string) string {
	info := in[len("://") : len(in)-len("@")]
	user, password, both := strings.Cut(info, ":")
	mark := strings.IndexAny(user, "@?#")
	switch {
	case mark < 0 && both && password != "" && password != "x-oauth-basic":
		return "://" + user + ":" + unsaid + "@"
	case mark >= 0 && user[mark] != '@' && !both:
		return in // the host ended at the mark, and the @ is of a query
	}
	return "://" + unsaid + "@"
}

// shapes are how what secretShape knows begins.
var shapes = []string{"AKIA", "gh", "github_pat_", "sk-", "xox", "glpat-", "eyJ"}

func hasShape(word string) bool {
	return slices.ContainsFunc(shapes, func(shape string) bool { return strings.Contains(word, shape) })
}
