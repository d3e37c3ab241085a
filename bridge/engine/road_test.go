package engine

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A road is how many files execute code for one call, from its frame to its answer: of
// this room, and of its parts. A number may only become smaller: at most five for
// an allowed call (issue 15).
type road struct{ here, parts int }

var roads = map[string]road{
	"allowed":  {5, 10},
	"asked":    {9, 10},
	"proposal": {11, 11},
}

// TestHowManyFilesACallCrosses has another process travel each road, and another come to
// its beginning only: what the former executes more is the road.
func TestHowManyFilesACallCrosses(t *testing.T) {
	if os.Getenv("MCPX_ROAD") != "" {
		t.Skip("this is such a process")
	}
	program := filepath.Join(t.TempDir(), "travel.test")
	build := exec.Command("go", "test", "-c", "-o", program, "-covermode=atomic",
		"-coverpkg=github.com/mcpx-protocol/mcpx-bridge/bridge/engine/...", ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for kind, most := range roads {
		before, after := travel(t, program, kind, "yes"), travel(t, program, kind, "")
		files := map[string]bool{}
		var got road
		for block, count := range after {
			if before[block] != count {
				name, _, _ := strings.Cut(block, ":")
				files[strings.TrimPrefix(name, "github.com/mcpx-protocol/mcpx-bridge/")] = true
			}
		}
		for name := range files {
			if filepath.Dir(name) != "bridge/engine" {
				got.parts++
			} else {
				got.here++
			}
		}
		if got.here > most.here || got.parts > most.parts {
			t.Errorf("a call that is %s executes code in %+v files, known are %+v:\n%s", kind, got, most, strings.Join(slices.Sorted(maps.Keys(files)), "\n"))
		}
	}
}

// travel returns how often each block of code was executed.
func travel(t *testing.T, program, kind, stay string) map[string]string {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	cmd := exec.Command(program, "-test.run=^TestTravel$", "-test.coverprofile="+profile)
	cmd.Env = append(os.Environ(), "MCPX_ROAD="+kind, "MCPX_ROAD_STAY="+stay)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", kind, err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && !strings.HasPrefix(line, "mode:") {
			counts[line[:at]] = line[at:]
		}
	}
	return counts
}

// TestTravel is one road, or the way to its beginning.
func TestTravel(t *testing.T) {
	kind := os.Getenv("MCPX_ROAD")
	rule, ok := map[string]string{"allowed": "allow", "asked": "ask", "proposal": "ask"}[kind]
	if !ok {
		t.Skip("for TestHowManyFilesACallCrosses")
	}
	s := askingStageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, "version: 1\ndefault: "+rule+"\n"), Local: true})
	if os.Getenv("MCPX_ROAD_STAY") != "" {
		return
	}
	if kind == "proposal" {
		s.proposes("bob", "p1", "fs", "write_file", `{"path":"/a","text":"x"}`, "")
	} else {
		s.write()
	}
	if kind != "allowed" {
		s.agreeHere()
	}
	for i, frame := range s.frames { // our own request for a proposal comes back to us
		if env, err := s.dialect.Decode([]byte(frame)); err == nil && env.Kind == wire.Request && slices.Contains(env.To, "fs") {
			s.frames = slices.Delete(s.frames, i, i+1)
			s.do(Arrived{&env})
			break
		}
	}
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"content":[]}}`)
	if s.asked() != 1 {
		t.Fatalf("it ran %d times", s.asked())
	}
}
