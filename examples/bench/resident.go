package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// resident is how many bytes of memory the parts hold together, 0 where the
// system does not say so in /proc.
func resident(parts []*stage.Process) int64 {
	var sum int64
	for _, p := range parts {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/status")
		if err != nil {
			return 0
		}
		for line := range strings.Lines(string(status)) {
			rest, ok := strings.CutPrefix(line, "VmRSS:")
			if !ok {
				continue
			}
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				return 0
			}
			sum += kib << 10
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
