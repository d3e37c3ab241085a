// Package watchdog ends a run of tests in which one waits in vain, and says which and
// for what. The time-out of go test is for all tests of a package together: what hangs
// holds up everybody for half an hour, and then it takes a reader to find out where
// (FINDINGS T6).
package watchdog

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Patience is how long a test may wait at one place. What has to come comes within
// seconds; a test that waits for many things begins to wait anew with each. Since when
// it waits is marked by the collection of garbage, two minutes later at most.
const Patience = 5 * time.Minute

// Start watches the tests of this process until it ends. It keeps no goroutine.
func Start() { look(30 * time.Second) }

func look(every time.Duration) {
	time.AfterFunc(every, func() {
		if why := Stuck(stacks(), Patience); why != "" {
			fmt.Fprintln(os.Stderr, why)
			os.Exit(2)
		}
		look(every)
	})
}

func stacks() string {
	for size := 1 << 20; ; size *= 2 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size {
			return string(b[:n])
		}
	}
}

var (
	header = regexp.MustCompile(`^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\],]*)(?:, (\d+) minutes)?`)
	callee = regexp.MustCompile(`(?m)^(\S+)\(.*\)\n\t(\S+)`)
)

// Stuck looks through the stacks of all goroutines for that of a test which has waited
// for so long, and says which test, for how long and where; the rest of its stack
// follows. "" means that there is none. A test that waits for its subtests, or for its
// turn, is not stuck.
func Stuck(stacks string, patience time.Duration) string {
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		head := header.FindStringSubmatch(stack)
		if head == nil || strings.HasPrefix(head[1], "run") || !strings.Contains(stack, "\ntesting.tRunner(") {
			continue
		}
		if minutes, _ := strconv.Atoi(head[2]); time.Duration(minutes)*time.Minute < patience {
			continue
		}
		if test, at := waiting(stack); test != "" {
			return fmt.Sprintf("watchdog: %s has waited for %s minutes at %s (%s)\n\n%s", test, head[2], at, head[1], stack)
		}
	}
	return ""
}

// waiting is the function that a test is, and the line of ours at which it waits, if it
// waits for anything but other tests.
func waiting(stack string) (test, at string) {
	for _, frame := range callee.FindAllStringSubmatch(stack, -1) {
		name, line := frame[1], frame[2]
		switch {
		case name == "testing.tRunner":
			return test, at
		case strings.HasPrefix(name, "testing.") && at == "":
			return "", ""
		case !strings.Contains(name, "/") || strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "os/") || strings.HasPrefix(name, "net/"):
			continue // the library's
		case at == "":
			at = line
		}
		test = name
	}
	return "", ""
}
