package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// An allocation is what the Engine asks of the runtime for one call or reject.
type allocation struct{ times, bytes int }

var benchmark = regexp.MustCompile(`(?m)^Benchmark(\w+)\S*\s.*?\s(\d+) B/op\s+(\d+) allocs/op`)

// countAllocations runs the benchmarks of package engine, so often each, and prints a line.
// The counts hold what a benchmark itself allocates to make a frame and a line.
func countAllocations(ctx context.Context, _ *stage.Stage, r *report) error {
	if r.plan.allocs == 0 {
		return nil
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-trimpath", "-vet=off", "-run", "^$", "-bench", "^BenchmarkCall$/^1024$|^BenchmarkReject$",
		"-benchtime", strconv.Itoa(r.plan.allocs)+"x", "-benchmem", "github.com/mcpx-protocol/mcpx-bridge/bridge/engine").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test -bench: %w\n%s", err, out)
	}
	all := allocationsIn(string(out))
	if len(all) != 2 {
		return fmt.Errorf("go test -bench says\n%s", out)
	}
	call, reject := all["Call"], all["Reject"]
	fmt.Fprintf(r.out, "allocations            %d per call of 1 KiB both ways (%d bytes), %d per reject (%d bytes); some are the benchmark's own\n",
		call.times, call.bytes, reject.times, reject.bytes)
	return nil
}

func allocationsIn(out string) map[string]allocation {
	all := map[string]allocation{}
	for _, m := range benchmark.FindAllStringSubmatch(out, -1) {
		bytes, _ := strconv.Atoi(m[2])
		times, _ := strconv.Atoi(m[3])
		all[m[1]] = allocation{times, bytes}
	}
	return all
}
