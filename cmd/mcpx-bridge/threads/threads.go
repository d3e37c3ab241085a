// Package threads has the program begin on one thread. Each processor that takes
// part while the libraries prepare themselves keeps memory of every size for
// itself, which is over before main runs: a gateway that nobody calls has 3.7 MiB
// of its own so, and 4.3 without (make bench AGAINST=, private memory). Packages
// come in the order of their names, as far as they need no other: this one must
// import nothing but runtime.
package threads

import "runtime"

// Before is how many threads there would be, by the environment or the machine.
// It is for whoever wants more than one.
var Before = runtime.GOMAXPROCS(1)
