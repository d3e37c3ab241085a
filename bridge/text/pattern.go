package text

import (
	"regexp"
	"sync"
)

// Pattern returns a regular expression that is compiled when it is first asked for, so that
// nobody pays for those (10 KB each) that a process has no use for. It panics then where the
// expression is none. The function may be called by many at a time.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
