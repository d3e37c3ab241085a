package main

import (
	"fmt"
	"strings"
)

// Contenders, by the names of the tables.
const (
	ours    = "ours"    // gateway and bridge
	bare    = "bare"    // relay and bridge that check nothing
	hosting = "hosting" // a bridge that hosts its own gateway
	wrapper = "wrapper" // a WebSocket around the server, unread
	direct  = "direct"  // the server itself, over pipes
	logged  = "logged"  // the wrapper, which puts each message on record
)

// A plan says how much is measured.
type plan struct {
	goals  turns // in cells that a goal is set for
	others turns // in all others
	starts int   // how often a start is timed
	warmup int   // calls before the first turn, after which memory is read
	cells  []cell

	callers   int // whose calls are approved, eight each
	proposals int // that nobody can serve, one by one and again at a thousand in a second
	flows     int // proposals that the first is too busy for and the second serves

	crowd     turns // in which a crowd listens
	crowdRate int   // frames a second that it is told
	crowdFill int   // bytes that it is told before: more than two kernels keep for one who does not read
	allocs    int   // calls over which allocations are counted; 0 for not at all

	strains []strain
	holds   int // how often one that takes long is judged
	waits   int // rounds in which somebody waits beside the worst

	pairs turns // in which an earlier build takes part
}

// Turns are how often, and for how long, each contender has its turn.
type turns struct{ rounds, ms int }

func (p plan) turns(c cell) turns {
	if c.headline() {
		return p.goals
	}
	return p.others
}

// A cell is one line of the tables.
type cell struct{ size, inFlight int }

// headline reports whether a goal is set for this cell.
func (c cell) headline() bool {
	return c.size == 1<<10 && (c.inFlight == 1 || c.inFlight == 64) || c.size == 96<<10 && c.inFlight == 1
}

var (
	full = plan{goals: turns{11, 500}, others: turns{5, 300}, starts: 11, warmup: 10_000, cells: append(
		cells([]int{1 << 10, 96 << 10}, 1, 16, 64, 256), cells([]int{1 << 20}, 1, 16)...), callers: 64, proposals: 5000, flows: 100, crowd: turns{15, 1500}, crowdRate: 200, crowdFill: 6 << 20, allocs: 10_000, strains: strains(), holds: 5, waits: 5, pairs: turns{41, 300}}
	brief = plan{goals: turns{5, 300}, others: turns{3, 150}, starts: 5, warmup: 10_000, cells: full.cells,
		callers: 16, proposals: 1000, flows: 30, crowd: turns{7, 1500}, crowdRate: 200, crowdFill: 6 << 20, allocs: 10_000, strains: strains(), holds: 3, waits: 3, pairs: turns{11, 300}}
)

func cells(sizes []int, inFlight ...int) (all []cell) {
	for _, size := range sizes {
		for _, n := range inFlight {
			all = append(all, cell{size, n})
		}
	}
	return all
}

func (c cell) String() string { return fmt.Sprintf("%s, %d in flight", sizeText(c.size), c.inFlight) }

func sizeText(n int) string {
	return strings.Replace(fmt.Sprintf("%d KiB", n>>10), "1024 KiB", "1 MiB", 1)
}
