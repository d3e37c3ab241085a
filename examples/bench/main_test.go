package main

import (
	"strings"
	"testing"
)

// TestBench runs all contenders and prints the whole report; how fast they
// were is no matter.
func TestBench(t *testing.T) {
	var out strings.Builder
	p := plan{rounds: 2, ms: 20, starts: 1, warmup: 100, callers: 2, proposals: 20, flows: 2, cells: []cell{{1 << 10, 1}, {1 << 10, 64}, {96 << 10, 16}}}
	if err := bench(t.Context(), p, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"1 KiB, 64 in flight", "96 KiB, 16 in flight", "ours : bare, 1 KiB, median round trip", "start to ready", "measured in", "approve to server", "10000 open questions, memory", "reject of a proposal, median", "busy reject, second serves", "through : piped",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "NaN") {
		t.Errorf("a contender has no figures:\n%s", out.String())
	}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	rounds := []round{
		{ours: {P50: 10}, bare: {P50: 20}},
		{ours: {P50: 100}, bare: {P50: 200}}, // the machine was busy: for both
		{ours: {P50: 30}, bare: {P50: 10}},
	}
	if got := ratio(rounds, func(r result) float64 { return r.P50 }, ours, bare); got != 0.5 {
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
