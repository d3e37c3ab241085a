package main

import (
	"os"
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
