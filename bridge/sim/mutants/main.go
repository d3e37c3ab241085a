// Command mutants lets bridges with one mistake each be in simulated worlds,
// until a world notices: see package sim.
//
//	go run ./bridge/sim/mutants -v
//
// The mistakes are patches, data that never ships. All are built into one
// program, and an environment variable chooses which one it makes.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

func main() {
	seeds := flag.Uint64("seeds", 20000, "give up on a mutant after so many `worlds`")
	only := flag.String("only", "", "only those whose `name` contains it")
	verbose := flag.Bool("v", false, "say of each which world noticed, and what")
	flag.Parse()
	if err := run(*seeds, *only, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(seeds uint64, only string, verbose bool) error {
	all, err := read(".")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := build(".", dir, all)
	if err != nil {
		return err
	}
	if all = slices.DeleteFunc(all, func(m *mutant) bool { return !strings.Contains(m.name, only) }); len(all) == 0 {
		return fmt.Errorf("no mutant's name contains %q", only)
	}
	live(program, seeds, all)
	return report(all, verbose)
}

// live lets mutants be, as many at one time as there are processors.
func live(program string, seeds uint64, all []*mutant) {
	var each sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range all {
		free <- struct{}{}
		each.Go(func() {
			defer func() { <-free }()
			m.live(program, seeds)
		})
	}
	each.Wait()
}

// live lets a mutant be in worlds from the first on, until one notices.
func (m *mutant) live(program string, seeds uint64) {
	cmd := exec.Command(program, "-brief", "-workers=1", fmt.Sprint("-seeds=", seeds))
	cmd.Env = append(os.Environ(), fmt.Sprint(variable, "=", m.number))
	out, err := cmd.CombinedOutput()
	m.last, _, _ = strings.Cut(string(out), "\n")
	if err == nil {
		m.last = "lives: " + m.why
	} else if _, wrong := fmt.Sscanf(m.last, "seed %d:", &m.killed); wrong != nil {
		m.last = fmt.Sprintf("died of something else: %v: %s", err, out)
	}
}

// report says what became of mutants; an error, if not all were noticed.
func report(all []*mutant, verbose bool) error {
	var by []uint64
	for _, m := range all {
		if m.killed > 0 {
			by = append(by, m.killed)
		}
		if verbose || m.killed == 0 {
			fmt.Printf("%-34s %.160s\n", m.name, m.last)
		}
	}
	slices.Sort(by)
	if len(by) > 0 {
		fmt.Printf("mutants killed %d/%d, median seeds to kill %d, the most %d\n", len(by), len(all), by[len(by)/2], by[len(by)-1])
	}
	if len(by) < len(all) {
		return fmt.Errorf("%d mutants were not noticed", len(all)-len(by))
	}
	return nil
}

// build makes one simulator of all mutants.
func build(root, dir string, all []*mutant) (program string, err error) {
	overlay, err := weave(root, dir, all)
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "simulate.exe")
	cmd := exec.Command("go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", program, "./bridge/sim/simulate")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the mutants cannot be built: %w\n%s", err, out)
	}
	return program, nil
}
