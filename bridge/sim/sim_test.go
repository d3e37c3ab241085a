package sim_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/sim"
)

var sameSeeds = flag.Uint64("same", 40, "how many `seeds` must give the same trace again and again")

// A few worlds with every test run; `make sim` has many.
func TestNoPromiseIsBroken(t *testing.T) {
	var tally sim.Tally
	for seed := range uint64(60) {
		if r := sim.Run(seed+1, &tally, nil); r.Violations != "" {
			t.Errorf("%v\n%s", r.Options, r.Violations)
		}
	}
	if tally.Runs == 0 || tally.Asked == 0 {
		t.Errorf("in these worlds nothing happened: %+v", tally)
	}
}

// One seed is one trace, whatever the machine does meanwhile.
func TestASeedGivesTheSameTrace(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	var tally sim.Tally
	for seed := range *sameSeeds {
		var traces [4]uint64
		for i := range traces {
			runtime.GOMAXPROCS(1 + i%2)
			traces[i] = sim.Run(seed+1, &tally, nil).Hash
		}
		if traces[0] == 0 || traces != [4]uint64{traces[0], traces[0], traces[0], traces[0]} {
			t.Errorf("seed %d gave the traces %x", seed+1, traces)
		}
	}
}

// The program replays a seed in another process, and shows it.
func TestASeedIsReplayed(t *testing.T) {
	program := filepath.Join(t.TempDir(), "simulate.exe")
	if out, err := exec.Command("go", "build", "-o", program, "./simulate").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	short, long := run("-seed", "7"), run("-seed", "7", "-trace")
	if !strings.HasPrefix(short, "seed=7 ") || !strings.Contains(short, "\ntrace ") || !strings.HasSuffix(long, short) {
		t.Errorf("a seed and its trace say different things:\n%s\n%s", short, long[max(0, len(long)-2000):])
	}
	if strings.Count(long, "\n") < 50 {
		t.Errorf("the trace has next to nothing: %s", long)
	}
	if out := run("-seeds", "20"); !strings.Contains(out, "0 violations") {
		t.Error(out)
	}
}
