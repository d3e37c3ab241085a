package policy

import (
	"regexp"
	"sync"
)

// lazily compiles a pattern when it is first used: most starts have no use for most.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
