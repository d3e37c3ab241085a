package main

import (
	"os"
	"strings"
	"testing"
)

func TestDemo(t *testing.T) {
	// What the demo leaves behind would stay here.
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	if err := demo(&out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"kept as note 1", "(exit code 8)", "nothing is left behind"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if strings.HasPrefix(f.Name(), "mcpx-") {
			t.Errorf("left behind: %s", f.Name())
		}
	}
}
