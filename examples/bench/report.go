package main

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
)

const goalsHead = "goals"

// A report prints what was measured, and at the end what of it was aimed at.
type report struct {
	out        io.Writer
	plan       plan
	starts     map[string][]float64 // ns, by contender
	contenders []*contender
	goals      []goal
	slowest    map[string]float64 // by contender, over all cells
	overheld   []held             // inputs that held the Engine for too long
}

// A held is how long one input held the Engine, and what a bystander saw of that.
type held struct {
	strain
	read, step float64 // to read the frame, and for the Engine to judge it, in ns: medians
	worst      float64 // of the steps
	bytes      int
	waits      waits
}

// Waits are the longest that a small call took, in ns: medians over the rounds.
type waits struct {
	alone    float64 // nobody else says anything
	unjudged float64 // beside an input as large that a policy without conditions denies
	judged   float64 // beside the one that takes long
}

// A goal is a figure of DESIGN section 13 and what was measured.
type goal struct {
	what      string
	got, want float64
	least     bool // want is the least, not the most
	unit      string
}

// atMost and atLeast keep a goal.
func (r *report) atMost(what string, got, want float64, unit string) {
	r.goals = append(r.goals, goal{what: what, got: got, want: want, unit: unit})
}

func (r *report) atLeast(what string, got, want float64) {
	r.goals = append(r.goals, goal{what: what, got: got, want: want, least: true})
}

func (g goal) line() string {
	met, sign := g.got <= g.want, "at most"
	if g.least {
		met, sign = g.got >= g.want, "at least"
	}
	word := map[bool]string{true: "met", false: "MISSED"}[met]
	return fmt.Sprintf("  %-6s  %-62s %6.2f%s  (%s %g%s)", word, g.what, g.got, g.unit, sign, g.want, g.unit)
}

func (r *report) head() {
	fmt.Fprintf(r.out, `%s/%s, %d CPUs, %s; the contenders take turns, in %d rounds of %d ms
for each figure that a goal is set for, and %d of %d ms for each other one

ours     gateway + bridge: strict parsing, schema check, allow rule       2 hops
bare     relay + bridge that check nothing (examples/bench/bare)          2 hops
hosting  a bridge that hosts its own gateway                              1 hop
wrapper  a WebSocket around the server, unread                            1 hop
direct   the server itself, over pipes                                    no hop

Figures are medians over the rounds; ratios are medians of the ratios within a round.
`, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), r.plan.goals.rounds, r.plan.goals.ms, r.plan.others.rounds, r.plan.others.ms)
}

// A measure is one line of a cell.
type measure struct {
	name string
	of   func(order.Result) float64
	show func(float64) string
}

var measures = []measure{
	{"median", func(r order.Result) float64 { return r.P50 }, micros},
	{"p99", func(r order.Result) float64 { return r.P99 }, micros},
	{"calls/s", func(r order.Result) float64 { return r.PerSecond }, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
}

// fig is what a contender achieved.
func (m measure) fig(rounds []round, name string) string {
	return m.show(median(each(rounds, func(r round) float64 { return m.of(r[name]) })))
}

// columns prints a line for each measure: what each of names achieved, and how the two of
// each pair compare, which note hears of too.
func (r *report) columns(title string, names []string, pairs [][2]string, ms []measure, rounds []round, note func(measure string, ratios []float64)) {
	fmt.Fprintf(r.out, "\n%-22s", title)
	for _, name := range names {
		fmt.Fprintf(r.out, " %10s", name)
	}
	for _, p := range pairs {
		fmt.Fprintf(r.out, " %17s", p[0]+" : "+p[1])
	}
	fmt.Fprintln(r.out)
	for _, m := range ms {
		fmt.Fprintf(r.out, "  %-20s", m.name)
		for _, name := range names {
			fmt.Fprintf(r.out, " %10s", m.fig(rounds, name))
		}
		var ratios []float64
		for _, p := range pairs {
			ratios = append(ratios, ratio(rounds, m.of, p[0], p[1]))
			fmt.Fprintf(r.out, " %17.2f", ratios[len(ratios)-1])
		}
		fmt.Fprintln(r.out)
		note(m.name, ratios)
	}
}

// cell prints what calls through a topic cost, and keeps the slowest.
func (r *report) cell(c cell, rounds []round) {
	r.columns(c.String(), []string{ours, bare, hosting, wrapper, direct}, [][2]string{{ours, bare}, {hosting, wrapper}}, measures, rounds,
		func(measure string, ratios []float64) { r.note(c, measure, ratios[0], ratios[1]) })
	for _, one := range rounds {
		for name, got := range one {
			r.slowest[name] = max(r.slowest[name], got.Max)
		}
	}
}

// note keeps the figures that DESIGN section 13 sets a goal for.
func (r *report) note(c cell, measure string, topic, hop float64) {
	small := c.size == 1<<10
	switch {
	case small && c.inFlight == 1 && measure == "median":
		r.atMost("ours : bare, 1 KiB, median round trip", topic, 1, "")
		r.atMost("hosting : wrapper, 1 KiB, median round trip", hop, 1, "")
	case small && c.inFlight == 1 && measure == "p99":
		r.atMost("ours : bare, 1 KiB, p99", topic, 1, "")
	case small && c.inFlight == 64 && measure == "p99":
		r.atMost("ours : bare, 1 KiB, p99 at 64 in flight", topic, 1, "")
	case small && c.inFlight == 64 && measure == "calls/s":
		r.atLeast("ours : bare, 1 KiB, calls/s at 64 in flight", topic, 1.5)
		r.atLeast("hosting : wrapper, 1 KiB, calls/s at 64 in flight", hop, 1)
	case c.size == 96<<10 && c.inFlight == 1 && measure == "median":
		r.atMost("hosting : wrapper, 96 KiB, median round trip", hop, 1.3, "")
	}
}

func (r *report) foot(took time.Duration) {
	start := median(r.starts[hosting])
	fmt.Fprintf(r.out, "\nstart to ready         hosting %s, bare bridge with a relay already there %s\n", micros(start), micros(median(r.starts[bare])))
	r.atMost("hosting, start to ready", start/1e6, 60, " ms")
	fmt.Fprintf(r.out, "slowest call           ours %s, bare %s, hosting %s, wrapper %s\n",
		micros(r.slowest[ours]), micros(r.slowest[bare]), micros(r.slowest[hosting]), micros(r.slowest[wrapper]))
	r.memory()
	r.listGoals(took)
}

func (r *report) listGoals(took time.Duration) {
	fmt.Fprintln(r.out, "\n"+goalsHead)
	for _, g := range r.goals {
		fmt.Fprintln(r.out, g.line())
	}
	fmt.Fprintf(r.out, "\nmeasured in %s\n", took.Round(time.Second))
}

func (r *report) memory() {
	for _, c := range r.contenders {
		if c.idle.private == 0 {
			continue
		}
		fmt.Fprintf(r.out, "private (resident)     %-8s %5.1f (%5.1f) MiB idle, %5.1f (%5.1f) MiB after %d calls (processes: %d)\n",
			c.name, mib(c.idle.private), mib(c.idle.resident), mib(c.used.private), mib(c.used.resident), r.plan.warmup, len(c.parts))
		if c.name == hosting {
			r.atMost("hosting, private memory when idle", mib(c.idle.private), 10, " MiB")
			r.atMost("hosting, proportional memory when idle", mib(c.idle.proportional), 12, " MiB")
		}
	}
}
