package sim_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var (
	mutantSeeds = flag.Uint64("mutants", 0, "let every mutant live for at most so many `seeds`; 0: only see that the patches apply")
	mutantOnly  = flag.String("mutant", "", "only the mutants whose `name` contains this")
)

// A mutant is a bridge with one line broken. It is built from a patch, as data
// under testdata/mutants, and never ships.
type mutant struct {
	name, why string
	broken    map[string][]byte // by file: its text with the mistake in it
	killed    uint64            // by which seed; 0: by none
}

// root is where the module is.
const root = "../.."

func mutants(t *testing.T) (all []*mutant) {
	t.Helper()
	files, err := filepath.Glob("testdata/mutants/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil || len(a.Files) == 0 || len(a.Files)%2 != 0 {
			t.Fatalf("%s is no patch: %v", file, err)
		}
		m := &mutant{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), why: strings.TrimSpace(string(a.Comment)), broken: map[string][]byte{}}
		for pair := range slices.Chunk(a.Files, 2) {
			m.apply(t, pair[0], pair[1])
		}
		if strings.Contains(m.name, *mutantOnly) {
			all = append(all, m)
		}
	}
	return all
}

// apply replaces the lines in old, which is named like the file they stand in.
func (m *mutant) apply(t *testing.T, old, broken txtar.File) {
	t.Helper()
	text, again := m.broken[old.Name]
	if !again {
		var err error
		if text, err = os.ReadFile(filepath.Join(root, old.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(string(text), string(old.Data)); n != 1 {
		t.Errorf("%s: its lines stand %d times in %s; look what has become of them", m.name, n, old.Name)
	}
	m.broken[old.Name] = []byte(strings.Replace(string(text), string(old.Data), string(broken.Data), 1))
}

// The simulator must notice when the bridge is broken; else that it finds
// nothing says little.
func TestMutantsDie(t *testing.T) {
	all := mutants(t)
	if *mutantOnly == "" && len(all) < 40 {
		t.Errorf("there are only %d mutants", len(all))
	}
	if *mutantSeeds == 0 {
		return
	}
	var each sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range all {
		each.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			m.live(t)
		})
	}
	each.Wait()
	report(t, all)
}

// live builds a mutant and lets it live until a seed kills it.
func (m *mutant) live(t *testing.T) {
	program, err := m.build(t.TempDir())
	if err != nil {
		t.Errorf("%s cannot be built: %v", m.name, err)
		return
	}
	out, err := exec.Command(program, "-brief", "-workers=1", fmt.Sprint("-seeds=", *mutantSeeds)).CombinedOutput()
	if err == nil {
		t.Errorf("%s lives: %s", m.name, m.why)
		return
	}
	text, _, _ := strings.Cut(string(out), "\n")
	if _, err := fmt.Sscanf(text, "seed %d:", &m.killed); err != nil {
		t.Errorf("%s died of something else: %s", m.name, out)
		return
	}
	t.Logf("%-28s %.160s", m.name, text)
}

// build makes the simulator with the mutant in it.
func (m *mutant) build(dir string) (program string, err error) {
	replace := map[string]string{}
	for name, text := range m.broken {
		real, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		replace[real] = filepath.Join(dir, fmt.Sprintf("broken%d.go", len(replace)))
		if err := os.WriteFile(replace[real], text, 0o600); err != nil {
			return "", err
		}
	}
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulate.exe")
	plan, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, plan, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", program, "./simulate").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

func report(t *testing.T, all []*mutant) {
	var seeds []uint64
	for _, m := range all {
		if m.killed > 0 {
			seeds = append(seeds, m.killed)
		}
	}
	slices.Sort(seeds)
	if len(seeds) > 0 {
		t.Logf("%d of %d mutants killed, half of them within %d seeds, the last by seed %d", len(seeds), len(all), seeds[len(seeds)/2], seeds[len(seeds)-1])
	}
}
