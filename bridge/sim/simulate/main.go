// Command simulate lets simulated worlds be: see package sim.
//
//	go run ./bridge/sim/simulate -seeds 20000
//	go run ./bridge/sim/simulate -seed 4711 -trace
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/sim"
)

func main() {
	seed := flag.Uint64("seed", 0, "only this `seed`, with its options")
	trace := flag.Bool("trace", false, "with -seed: everything that happens")
	seeds := flag.Uint64("seeds", 1000, "`how many` worlds")
	from := flag.Uint64("from", 1, "the first `seed` of them")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "`how many` at one time")
	strict := flag.Bool("strict", false, "fail unless every fault struck 1000 times, and in a million worlds or more every situation was met 100 times")
	brief := flag.Bool("brief", false, "say only which seed broke a promise, and stop there")
	flag.Parse()
	debug.SetGCPercent(400) // worlds are small and short
	if *seed != 0 {
		os.Exit(replay(*seed, *trace))
	}
	os.Exit(run(&season{first: *from, seeds: *seeds, workers: *workers, brief: *brief}, *strict))
}

// replay shows one seed.
func replay(seed uint64, trace bool) int {
	var t sim.Tally
	var r sim.Result
	if trace {
		r = sim.Run(seed, &t, os.Stdout)
	} else {
		r = sim.Run(seed, &t, nil)
	}
	fmt.Printf("%v\ntrace %016x\n", r.Options, r.Hash)
	if r.Violations != "" {
		fmt.Println(r.Violations)
		return 1
	}
	return 0
}

// A season is many worlds.
type season struct {
	first, seeds uint64
	workers      int
	brief        bool

	next  atomic.Uint64
	mu    sync.Mutex
	tally sim.Tally
	bad   []sim.Result
}

func run(s *season, strict bool) int {
	began := time.Now()
	var all sync.WaitGroup
	for range s.workers {
		all.Go(s.work)
	}
	all.Wait()
	if s.brief {
		return s.verdict()
	}
	s.tally.Write(os.Stdout)
	seldom := uint64(1)
	if s.seeds >= 1_000_000 {
		seldom = 100
	}
	rare := s.tally.Rare(1000, seldom)
	for _, r := range rare {
		fmt.Println(r)
	}
	fmt.Printf("\n%d violations in %v\n", len(s.bad), time.Since(began).Round(time.Second))
	if strict && len(rare) > 0 && (seldom > 1 || strings.HasPrefix(rare[0], "the fault")) {
		fmt.Println("too little happened")
		return 1
	}
	return s.verdict()
}

func (s *season) verdict() int {
	for _, r := range s.bad {
		fmt.Printf("seed %d: %s\n", r.Options.Seed, r.Violations)
	}
	if len(s.bad) > 0 {
		return 1
	}
	return 0
}

func (s *season) work() {
	var t sim.Tally
	for !s.over() {
		n := s.next.Add(1) - 1
		if n >= s.seeds {
			break
		}
		if r := sim.Run(s.first+n, &t, nil); r.Violations != "" {
			s.mu.Lock()
			s.bad = append(s.bad, r)
			s.mu.Unlock()
		}
	}
	s.mu.Lock()
	s.tally.Add(&t)
	s.mu.Unlock()
}

// over: nobody wants to know more.
func (s *season) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bad) >= 20 || s.brief && len(s.bad) > 0
}
