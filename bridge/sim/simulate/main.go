// Command simulate lets simulated worlds be: see package sim.
//
//	go run ./bridge/sim/simulate -seeds 20000
//	go run ./bridge/sim/simulate -seed 4711 -trace
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/sim"
)

func main() {
	seed := flag.Uint64("seed", 0, "only the world of this `seed`")
	trace := flag.Bool("trace", false, "with -seed: everything that happens there")
	seeds := flag.Uint64("seeds", 1000, "`how many` worlds")
	from := flag.Uint64("from", 1, "the first `seed` of them")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "`how many` at one time")
	strict := flag.Bool("strict", false, "of 20 000 seeds and more: fail unless every fault struck 1000 times, and every event was met 100 times in every situation in which it can be")
	same := flag.Uint64("same", 0, "first see that so many `seeds` give the same traces, twice with one processor and twice with two")
	digest := flag.Bool("digest", false, "print nothing but each seed and the hash of its trace: two bridges are alike whose digests are")
	brief := flag.Bool("brief", false, "say only which seed broke a promise, and stop there (for mutants)")
	flag.Parse()
	if *seed == 0 && *trace || *workers < 1 {
		fmt.Fprintln(os.Stderr, "simulate: -trace goes with -seed, and -workers is 1 or more")
		os.Exit(2)
	}
	debug.SetGCPercent(400) // worlds are small and short
	if *seed != 0 {
		os.Exit(replay(*seed, *trace))
	}
	if *same > 0 && !steady(*from, *same) {
		os.Exit(1)
	}
	if *digest {
		os.Exit(digests(*from, *seeds, *workers))
	}
	os.Exit(run(&season{first: *from, seeds: *seeds, workers: *workers, brief: *brief}, *strict))
}

// replay shows one seed.
func replay(seed uint64, trace bool) int {
	var t sim.Tally
	var to io.Writer
	if trace {
		to = os.Stdout
	}
	r := sim.Run(seed, &t, to)
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
	hashes       []uint64 // of the traces, if somebody wants them

	next atomic.Uint64 // world, counted from first

	mu    sync.Mutex
	tally sim.Tally
	bad   []sim.Result // those with violations
}

// run lets a season be, says what it was like, and returns the exit code. strict:
// too little happening is a failure too.
func run(s *season, strict bool) int {
	began := time.Now()
	s.live()
	if s.brief {
		return s.verdict()
	}
	fmt.Printf("%d seeds, ", s.seeds)
	s.tally.Write(os.Stdout)
	rare := s.tally.Rare(s.seeds)
	for _, r := range rare {
		fmt.Println(r)
	}
	fmt.Printf("\n%d violations in %v\n", len(s.bad), time.Since(began).Round(time.Second))
	verdict := s.verdict()
	if strict && len(rare) > 0 {
		fmt.Println("too little happened")
		return 1
	}
	return verdict
}

// live lets the worlds be, several at one time.
func (s *season) live() {
	var all sync.WaitGroup
	for range s.workers {
		all.Go(s.work)
	}
	all.Wait()
}

// digests prints the hash of each seed's trace, and returns the exit code.
func digests(first, seeds uint64, workers int) int {
	s := &season{first: first, seeds: seeds, workers: workers, hashes: make([]uint64, seeds)}
	s.live()
	for i, h := range s.hashes {
		fmt.Printf("%d %016x\n", first+uint64(i), h)
	}
	return s.verdict()
}

// steady reports whether each of some seeds gives the same trace again and
// again, whatever the machine does meanwhile.
func steady(first, seeds uint64) bool {
	var once []uint64
	for _, processors := range []int{1, 2, 1, 2} {
		before := runtime.GOMAXPROCS(processors)
		s := &season{first: first, seeds: seeds, workers: processors, hashes: make([]uint64, seeds)}
		s.live()
		runtime.GOMAXPROCS(before)
		if once == nil {
			once = s.hashes
		}
		for i, h := range s.hashes {
			if h != once[i] {
				fmt.Printf("seed %d gives the trace %016x, and with GOMAXPROCS=%d %016x\n", first+uint64(i), once[i], processors, h)
				return false
			}
		}
	}
	fmt.Printf("%d seeds gave the same traces twice with GOMAXPROCS=1 and twice with 2\n", seeds)
	return true
}

// verdict says which seeds broke a promise, and returns the exit code.
func (s *season) verdict() int {
	for _, r := range s.bad {
		fmt.Printf("seed %d: %s\n", r.Options.Seed, r.Violations)
	}
	if len(s.bad) > 0 {
		return 1
	}
	return 0
}

// work lets one world after the other be.
func (s *season) work() {
	var t sim.Tally
	for !s.over() {
		n := s.next.Add(1) - 1
		if n >= s.seeds {
			break
		}
		r := sim.Run(s.first+n, &t, nil)
		if s.hashes != nil {
			s.hashes[n] = r.Hash
		}
		if r.Violations != "" {
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
