package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// memory is how many bytes parts hold.
type memory struct {
	private      int64 // pages of no file, in memory or swapped out: what the parts cost
	proportional int64 // all pages in memory, each divided by how many processes have it
	resident     int64 // all pages in memory, those of program files too, which all processes share and the system drops as it likes
}

// memoryOf is what the parts hold together, nothing where the system does not say so
// in /proc.
func memoryOf(parts ...*stage.Process) (sum memory) {
	for _, p := range parts {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/smaps_rollup")
		if err != nil {
			return memory{}
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, ":")
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err != nil {
				continue // the heading
			}
			switch key {
			case "Anonymous", "Swap":
				sum.private += kib << 10
			case "Pss":
				sum.proportional += kib << 10
			case "Rss":
				sum.resident += kib << 10
			}
		}
	}
	return sum
}

// busy is how many nanoseconds the threads of the parts have had a processor, 0 where
// the system does not say so in /proc.
func busy(parts []*stage.Process) float64 {
	var sum float64
	for _, p := range parts {
		threads, _ := filepath.Glob("/proc/" + strconv.Itoa(p.PID) + "/task/*/schedstat") // the pattern is a good one
		for _, file := range threads {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // the thread has ended
			}
			ran, _, _ := strings.Cut(string(text), " ")
			ns, err := strconv.ParseFloat(ran, 64)
			if err != nil {
				return 0
			}
			sum += ns
		}
	}
	return sum
}
