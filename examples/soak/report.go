//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"
)

// What a process may hold more of at the end than when it was warm. A bridge
// remembers each call for 15 minutes, so that none runs twice; a gateway keeps
// 4 MiB of history, and 256 frames (here 4 MiB) for who does not read. What is
// resident is several times what is alive: the runtime collects late.
const (
	spareDescriptors = 2
	spareGoroutines  = 4
	spareHeap        = 12 << 20
	spareResident    = 48 << 20
	heapPerCall      = 512
	residentPerCall  = 2 << 10
	remembered       = 15 * time.Minute
)

// report prints how it went and returns how often something was wrong.
func (w *world) report() (violations int, err error) {
	a, err := w.settle()
	if err != nil {
		return 0, err
	}
	made, _ := w.book.count()
	fmt.Fprintf(w.out, "\ncalls     %d: %s\n", made, tally(a.outcomes))
	fmt.Fprintf(w.out, "lost      %d without an answer, each while something was broken: %s\n", a.outcomes["no answer"], tally(a.lost))
	fmt.Fprintf(w.out, "late      %d answers, when the caller had gone; %d calls had theirs when they were sent once more\n", w.book.late, w.book.second)
	fmt.Fprintf(w.out, "ran       %d, by what the server wrote down\n", a.executed)
	fmt.Fprintf(w.out, "faults    %d: %s\n", w.struck(), tally(w.faults))
	fmt.Fprintf(w.out, "readers   %d of %d that stalled were cut off\n", w.cut, w.faults["reader stalled"])
	fmt.Fprintf(w.out, "record    %d records in %d files, %d recoveries, whole and closed: %v\n", a.verified.Records, a.verified.Files, a.verified.Recoveries, a.verified.OK && a.verified.Closed)
	w.holdings()
	fmt.Fprintf(w.out, "\n%d violations, seed %d\n", len(w.wrong), w.plan.seed)
	for i, wrong := range w.wrong {
		if i == 50 {
			fmt.Fprintln(w.out, "  …")
			break
		}
		fmt.Fprintln(w.out, " ", wrong)
	}
	return len(w.wrong), nil
}

// holdings prints what bridge and gateway held when they were warm and at the
// end, and complains of what is too much.
func (w *world) holdings() {
	fmt.Fprintf(w.out, "\n%-10s%-14s%10s%12s%12s   over %s and %d calls, %d samples\n", "", "", "warm", "at the end", "at most",
		w.after.at.Sub(w.before.at).Round(time.Second), w.after.calls-w.before.calls, len(w.samples))
	calls := w.callsIn(remembered)
	for _, one := range []struct {
		name string
		of   func(*sample) *holding
	}{
		{"bridge", func(s *sample) *holding { return &s.bridge }},
		{"gateway", func(s *sample) *holding { return &s.gateway }},
	} {
		before, after := one.of(&w.before), one.of(&w.after)
		line := func(what string, was, is, most int) {
			fmt.Fprintf(w.out, "%-10s%-14s%10d%12d%12d\n", one.name, what, was, is, most)
			if is > most {
				w.complain("%s: %d %s, warm %d", one.name, is, what, was)
			}
		}
		line("descriptors", before.descriptors, after.descriptors, before.descriptors+spareDescriptors)
		line("goroutines", before.goroutines, after.goroutines, before.goroutines+spareGoroutines)
		line("children", before.children, after.children, before.children)
		w.memory(one.name, "heap, MiB", spareHeap+heapPerCall*calls, func(s *sample) int64 { return one.of(s).heap })
		w.memory(one.name, "resident, MiB", spareResident+residentPerCall*calls, func(s *sample) int64 { return one.of(s).resident })
	}
}

// memory prints a line: medians of the first and the last tenth of the samples,
// and what was added per minute by the line of least squares through all.
func (w *world) memory(name, what string, spare int, of func(*sample) int64) {
	if len(w.samples) == 0 {
		return
	}
	var x, y []float64
	for i := range w.samples {
		s := &w.samples[i]
		x, y = append(x, s.at.Sub(w.samples[0].at).Minutes()), append(y, float64(of(s))/(1<<20))
	}
	tenth := max(1, len(y)/10)
	was, is := middle(y[:tenth]), middle(y[len(y)-tenth:])
	most := was + float64(spare)/(1<<20)
	fmt.Fprintf(w.out, "%-10s%-14s%10.1f%12.1f%12.1f   %+.2f a minute\n", name, what, was, is, most, slope(x, y))
	if is > most {
		w.complain("%s: %s %.1f, warm %.1f", name, what, is, was)
	}
}

// callsIn is how many calls were sampled in the last so long.
func (w *world) callsIn(d time.Duration) int {
	if len(w.samples) == 0 {
		return 0
	}
	last := w.samples[len(w.samples)-1]
	for _, s := range w.samples {
		if last.at.Sub(s.at) <= d {
			return last.calls - s.calls
		}
	}
	return 0
}

func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
