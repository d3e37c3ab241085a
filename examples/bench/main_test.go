package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// TestBench runs all that is measured, on what is built once; how fast anybody was is no
// matter.
func TestBench(t *testing.T) {
	s, err := stage.Set(programs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Strike() })
	t.Run("all contenders", func(t *testing.T) { reportsAll(t, s) })
	t.Run("an earlier build takes part under its own name", func(t *testing.T) { anEarlierBuildTakesPart(t, s) })
}

func reportsAll(t *testing.T, s *stage.Stage) {
	var out strings.Builder
	few := slices.DeleteFunc(strains(), func(s strain) bool { return len(s.payload()) > 1<<20 })
	p := plan{goals: turns{2, 20}, others: turns{2, 20}, starts: 1, warmup: 100, callers: 2, proposals: 20, flows: 2, crowd: turns{1, 100}, crowdRate: 100, crowdFill: 1 << 20, strains: few, holds: 1, waits: 1, allocs: 10, cells: []cell{{1 << 10, 1}, {1 << 10, 64}, {96 << 10, 16}}}
	if err := bench(t.Context(), s, p, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"1 KiB, 64 in flight", "96 KiB, 16 in flight", "ours : bare, 1 KiB, median round trip", "start to ready", "measured in", "approve to server", "10000 open questions, memory", "reject of a proposal, median", "busy reject, second serves", "through : piped", "logged : wrapper", "hosting : logged, 1 KiB, calls/s at 64 in flight", "asleep : ours", "the worst input holds the Engine", "a dead reader, p99 of 100 others", "per reject",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "NaN") {
		t.Errorf("a contender has no figures:\n%s", out.String())
	}
}

// Here the earlier build is this tree again.
func anEarlierBuildTakesPart(t *testing.T, s *stage.Stage) {
	var out strings.Builder
	p := plan{warmup: 100, pairs: turns{2, 20}}
	if err := compare(t.Context(), s, s.Bin(stage.Bridge), p, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"old      " + s.Bin(stage.Bridge), "start to ready", "hosting, 1 KiB, 64 in flight", "new : old, ours, 1 KiB, 1 in flight, median", "new : old, hosting, 96 KiB, 1 in flight, calls/s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "NaN") {
		t.Errorf("a build has no figures:\n%s", out.String())
	}
}

// An input whose policy does not load, or that no frame holds, measures nothing.
func TestEachInputFitsAFrameAndItsPolicyLoads(t *testing.T) {
	subjects := map[string]bool{}
	for _, s := range strains() {
		subjects[s.of] = true
		if _, err := s.hold(0); err != nil {
			t.Error(err)
		}
		if n := len(s.frame("mallory", "large-1", s.payload())); n > jsonrpc.MaxSize {
			t.Errorf("%s, %s: no frame holds %d bytes", s.of, s.name, n)
		}
	}
	for _, of := range []string{"paths", "globs", "regex", "CEL", "schema", "redaction", "asked", "long number"} {
		if !subjects[of] {
			t.Errorf("nothing strains %s", of)
		}
	}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	rounds := []round{
		{ours: {P50: 10}, bare: {P50: 20}},
		{ours: {P50: 100}, bare: {P50: 200}}, // the machine was busy: for both
		{ours: {P50: 30}, bare: {P50: 10}},
	}
	if got := ratio(rounds, func(r order.Result) float64 { return r.P50 }, ours, bare); got != 0.5 {
		t.Errorf("ratio %v, want 0.5", got)
	}
}

func TestGoals(t *testing.T) {
	for _, c := range []struct {
		g    goal
		word string
	}{
		{goal{got: 0.9, want: 1}, "met"},
		{goal{got: 1.1, want: 1}, "MISSED"},
		{goal{got: 1.6, want: 1.5, least: true}, "met"},
		{goal{got: 1.4, want: 1.5, least: true}, "MISSED"},
	} {
		if line := c.g.line(); !strings.Contains(line, " "+c.word+" ") {
			t.Errorf("%+v: %s", c.g, line)
		}
	}
}

func TestAllocationsAreReadFromWhatGoPrints(t *testing.T) {
	got := allocationsIn(`goos: linux
BenchmarkCall/1024-2    	   10000	      4103 ns/op	 499.16 MB/s	    6093 B/op	      13 allocs/op
BenchmarkReject-2   	   10000	      3100 ns/op	    1200 B/op	       9 allocs/op
PASS
`)
	if got["Call"] != (allocation{13, 6093}) || got["Reject"] != (allocation{9, 1200}) {
		t.Errorf("%+v", got)
	}
}

const printed = "\nfigures\n\ngoals\n  met     all of it\n\nmeasured in 1s\n"

func TestFiguresGoWhereTheirPlaceIs(t *testing.T) {
	got, err := withFigures("before\n<!-- bench: goals -->\nold\n<!-- /bench -->\nbetween\n<!-- bench: report -->\n<!-- /bench -->\nafter\n", printed)
	want := "before\n<!-- bench: goals -->\n```text\n  met     all of it\n```\n<!-- /bench -->\nbetween\n<!-- bench: report -->\n```text\n" +
		strings.Trim(printed, "\n") + "\n```\n<!-- /bench -->\nafter\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := withFigures("no place", printed); err == nil {
		t.Error("a file without a place for figures is no error")
	}
}

// Who reads docs/speed.md finds the same figures in BENCH.md, and there the others.
func TestTheFiguresOfTheSpeedPageAreThoseOfTheReport(t *testing.T) {
	read := func(name, block string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, after, ok := strings.Cut(string(text), "<!-- bench: "+block+" -->\n```text\n")
		figures, _, ok2 := strings.Cut(after, "\n```\n<!-- /bench -->")
		if !ok || !ok2 {
			t.Fatalf("%s has no figures", name)
		}
		return figures
	}
	goals, report := read(filepath.Join("..", "..", "docs", "speed.md"), "goals"), read("BENCH.md", "report")
	if !strings.Contains(report, goals) || len(strings.Split(goals, "\n")) < 10 {
		t.Errorf("docs/speed.md has\n%s\nand BENCH.md\n%s\nmake bench-md writes both", goals, report)
	}
}

// What docs/speed.md shows is drawn from the report in BENCH.md, is XML and has a bar for
// each row. UPDATE=1 draws it anew.
func TestThePlotIsDrawnFromTheReport(t *testing.T) {
	text, err := os.ReadFile("BENCH.md")
	if err != nil {
		t.Fatal(err)
	}
	_, report, _ := strings.Cut(string(text), "<!-- bench: report -->\n```text\n")
	drawn, err := plot(report)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "docs", "speed.svg")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := os.ReadFile(file); err != nil || string(there) != drawn {
		t.Errorf("docs/speed.svg is not what the report in BENCH.md says (%v): make bench-md draws it, and so does UPDATE=1 go test", err)
	}
	var texts []string
	bars := 0
	for d := xml.NewDecoder(strings.NewReader(drawn)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, drawn)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "rect" {
				bars++
			}
		case xml.CharData:
			texts = append(texts, string(token))
		}
	}
	rows := 0
	for _, p := range panels {
		shown, _, err := p.read(report)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(texts, p.title) {
			t.Errorf("no panel %q", p.title)
		}
		for i, name := range p.of {
			rows++
			if at := slices.Index(texts, shown[i]); at < 1 || !slices.Contains(texts, plotNames[name]) {
				t.Errorf("%s: no row of %s with %s", p.title, name, shown[i])
			}
		}
	}
	if bars != rows+1 { // and the paper
		t.Errorf("%d bars for %d rows", bars-1, rows)
	}
}

func TestAReportWithoutAFigureIsNotDrawn(t *testing.T) {
	if drawn, err := plot(printed); err == nil {
		t.Errorf("drawn from nothing:\n%s", drawn)
	}
}
