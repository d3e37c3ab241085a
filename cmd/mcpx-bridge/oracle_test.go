package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The oracles are the cases of WIRE section 11. Most are played here, against
// the whole program, a real server and a scripted gateway; each is a subtest
// that is called by its number.
//
// A proof is where a case is shown that is not shown here.
type proof struct {
	room string // from the top of the repository
	test string // a test function there
	why  string
}

// elsewhere are the oracles whose point is long time, or what the program does
// only in many minutes, shown with a clock of the test's own; and those of names.
var elsewhere = map[string]proof{
	"O12": {"bridge/topic", "TestDuplicate", "30 s pass"},
	"O13": {"bridge/topic", "TestGhost", "2 s and 40 s pass"},
	"O38": {"bridge/topic", "TestPacing", "minutes pass"},

	"O99":  {"bridge/desktop", "TestExportedNames", "it is about names alone"},
	"O100": {"bridge/desktop", "TestExportedNames", "it is about names alone"},
	"O101": {"bridge/desktop", "TestExportedNames", "it is about names alone"},
	"O102": {"bridge/desktop", "TestHostileNamesRouteRight", "with 299 others"},
	"O103": {"bridge/desktop", "TestExportedNames", "it is about names alone"},
	"O104": {"bridge/desktop", "TestTheLimitLeavesOutTheSameEachTime", "it is about names alone"},
	"O105": {"bridge/desktop", "TestADepartedPeersToolsStayAWhile", "30 s pass"},
	"O106": {"bridge/desktop", "TestUnknownNameIsNeverSplit", "what the client sees is the same"},
}

// laterOracles are those of what is not built yet.
var laterOracles = map[string][]string{}

func span(letter string, from, to int) (all []string) {
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprint(letter, n))
	}
	return all
}

var oracleName = regexp.MustCompile(`"(O[0-9]+) [a-z]`)

func TestEveryOracleIsShownSomewhere(t *testing.T) {
	here := map[string]bool{}
	for _, m := range oracleName.FindAllStringSubmatch(testText(t, "."), -1) {
		here[m[1]] = true
	}
	for id, p := range elsewhere {
		p.check(t, id)
	}
	for _, o := range span("O", 1, 106) {
		var places []string
		if here[o] {
			places = append(places, "here")
		}
		if p, ok := elsewhere[o]; ok {
			places = append(places, p.room)
		}
		for what, those := range laterOracles {
			if slices.Contains(those, o) {
				places = append(places, "with "+what)
			}
		}
		if len(places) != 1 {
			t.Errorf("%s is shown in %d places: %q", o, len(places), places)
		}
	}
}

// check finds the test that a proof names, or one that is called by id.
func (p proof) check(t *testing.T, id string) {
	t.Helper()
	text := testText(t, filepath.Join("..", "..", filepath.FromSlash(p.room)))
	if p.test != "" && !strings.Contains(text, "func "+p.test+"(") || p.test == "" && !strings.Contains(text, `"`+id+" ") {
		t.Errorf("%s has no test %s for %s", p.room, p.test, id)
	}
}

// testText is all that the tests of a package say.
func testText(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests (%v)", dir, err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
