package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/sim"
)

const root = "../../.."

// The simulation must notice when the bridge is broken; else that it finds
// nothing says little. Here one does; `make mutants` has all.
func TestAMutantDies(t *testing.T) {
	all, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Errorf("there are only %d mutants", len(all))
	}
	program, err := build(root, t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.name != "ask-runs" {
			continue
		}
		if m.live(program, 20); m.killed == 0 {
			t.Errorf("%s: %s", m.name, m.last)
		}
	}
	right := &mutant{name: "right", why: "it makes no mistake"}
	if right.live(program, 20); right.killed != 0 {
		t.Errorf("without a mistake the bridge does not live: %s", right.last)
	}
	for seed := range uint64(5) {
		sameWorld(t, program, seed+1)
	}
}

// sameWorld: the mistakes that are not made change nothing.
func sameWorld(t *testing.T, program string, seed uint64) {
	t.Helper()
	out, err := exec.Command(program, fmt.Sprint("-seed=", seed)).CombinedOutput()
	var tally sim.Tally
	if want := fmt.Sprintf("\ntrace %016x\n", sim.Run(seed, &tally, nil).Hash); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("seed %d: %v: %s; want %s", seed, err, out, want)
	}
}

// What cannot be woven is said, and not left out.
func TestAMistakeOutsideOfAFunctionIsAnError(t *testing.T) {
	was := "package p\n\nconst most = 5\n\nfunc (a *A) do(_ int, more ...string) { use(most, more) }\n"
	for _, broken := range []string{strings.Replace(was, "= 5", "= 6", 1), strings.Replace(was, "_ int", "_ uint", 1), strings.Replace(was, "do", "done", 1),
		was + "func other() {}\n"} {
		m := &mutant{name: "m", number: 1, broken: map[string][]byte{"p.go": []byte(broken)}}
		if out, err := weaveFile("p.go", []byte(was), []*mutant{m}); err == nil {
			t.Errorf("%s was woven as\n%s", broken, out)
		}
	}
}

func TestAMistakeIsWoven(t *testing.T) {
	was := "package p\n\nfunc (a *A) do(_, b int, more ...string) (int, error) { return use(b, more) }\n"
	m := &mutant{name: "m", number: 3, broken: map[string][]byte{"p.go": []byte(strings.Replace(was, "use(b", "use(-b", 1))}}
	out, err := weaveFile("p.go", []byte(was), []*mutant{m})
	want := "package p\n\nimport \"" + module + switches + "\"\n" + `

func (a *A) do(unnamed0, b int, more ...string) (int, error) {
	if mistake.Now == 3 { return a.doMistake3(unnamed0, b, more...) }
 return use(b, more) }

func (a *A) doMistake3(_, b int, more ...string) (int, error) { return use(-b, more) }
`
	if err != nil || string(out) != want {
		t.Errorf("%v: woven as\n%s\nand not as\n%s", err, out, want)
	}
}
