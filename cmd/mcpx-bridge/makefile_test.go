package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAllTestsRunWithTheRaceDetectorAndWithoutIt: some of the program is built for one of
// the two alone (stdio/inbox, stdio/outbox), so neither run may leave a package or a test out.
func TestAllTestsRunWithTheRaceDetectorAndWithoutIt(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	makefile, ci, workflow := read("Makefile"), read(".ci/run"), read(".github/workflows/ci.yml")
	flags := regexp.MustCompile(`(?m)^(?:TESTFLAGS|LONG|AT_ONCE) = .*$`).FindAllString(makefile, -1)
	for target, detector := range map[string]bool{"test": false, "race": true} {
		recipe := regexp.MustCompile(`(?m)^` + target + `:.*\n((?:\t.*\n)+)`).FindStringSubmatch(makefile)
		if recipe == nil {
			t.Fatalf("make has no %s", target)
		}
		if got := strings.Contains(recipe[1], "$(RACE)"); got != detector || !strings.Contains(recipe[1], " ./...") {
			t.Errorf("make %s: under the race detector: %v, want %v, and all packages:\n%s", target, got, detector, recipe[1])
		}
		if left := regexp.MustCompile(` -(run|skip|short|failfast)\b`).FindString(recipe[1] + strings.Join(flags, "\n")); left != "" {
			t.Errorf("make %s leaves out tests: %s", target, left)
		}
		if !strings.Contains(ci, "\nstep "+target+"\n") {
			t.Errorf(".ci/run does not make %s", target)
		}
	}
	for _, run := range []string{"go test -shuffle=on -count=1 -timeout 30m ./...\n", "go test -race -shuffle=on -count=1 -timeout 30m ./...\n"} {
		if !strings.Contains(workflow, "run: "+run) {
			t.Errorf("no job does %s", run)
		}
	}
}

// On a cold cache nothing was to be read for more than a minute.
func TestMakeDemoSaysThatItBuildsBeforeItDoes(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not here")
	}
	said, err := exec.Command("make", "--no-print-directory", "-C", filepath.Join("..", ".."), "demo", "GO=echo").Output()
	if want := "building (the first time takes a minute or two) ...\nrun ./examples/demo\n"; err != nil || string(said) != want {
		t.Errorf("%v, %q, want %q", err, said, want)
	}
}
