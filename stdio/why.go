package stdio

import (
	"slices"
	"strings"
)

// whyMost is how many lines are quoted of what a server said before it ended.
const whyMost = 3

// whyOf are the lines that seem to tell why a program ended, in their order: those with the
// most signs of that, no line twice. Where no line has any, the last ones may tell.
func whyOf(lines []string) []string {
	var best []string
	most := 0
	for _, line := range lines {
		switch n := signsIn(line); {
		case n > most:
			best, most = []string{line}, n
		case n == most && n > 0 && len(best) < whyMost && best[len(best)-1] != line:
			best = append(best, line)
		}
	}
	if most == 0 {
		return lines[max(0, len(lines)-whyMost):]
	}
	return best
}

// signs are what the line that tells why has in most programs, in lower case.
var signs = []string{"error:", "error ", "err!", "exception", "panic", "fatal", "fail", "404", "enoent", "eacces", "eaddrinuse", "not found", "not in this registry",
	"no such", "no module", "cannot ", "can't ", "could not ", "unable to ", "missing", "required", "denied", "refused", "invalid", "unknown", "does not exist"}

// frames are how lines of a stack trace begin, in lower case, which quote words without meaning them.
var frames = []string{"at ", `file "`, "goroutine ", "throw ", "raise "}

func signsIn(line string) (n int) {
	line = strings.ToLower(line)
	if slices.ContainsFunc(frames, func(start string) bool { return strings.HasPrefix(line, start) }) {
		return 0
	}
	for _, s := range signs {
		if strings.Contains(line, s) {
			n++
		}
	}
	return n
}
