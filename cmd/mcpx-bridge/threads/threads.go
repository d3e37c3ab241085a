// Package threads has the program run on fewer threads at a time than there are
// cores. It does so by being imported, and does it early: packages are made ready
// in the order of their names as far as their own imports allow, and this one
// imports next to nothing. By the time main runs, each core that took part would
// have memory of its own set apart, some 0.4 MB, which is never given back.
package threads

import (
	"os"
	"runtime"
	"strings"
)

// What a bridge does for a call it does in a row, under one lock; each further
// thread is woken only to find nothing to do, which takes longer than the work,
// and the core from the server and the callers. A gateway may serve many.
// GOMAXPROCS in the environment says otherwise. Tests take what they get.
func init() {
	if os.Getenv("GOMAXPROCS") != "" || len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.") {
		return
	}
	threads := 1
	if os.Args[1] == "gateway" {
		threads = max(1, runtime.GOMAXPROCS(0)/2)
	}
	runtime.GOMAXPROCS(threads)
}
