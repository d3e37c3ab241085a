package sim

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// situations are the states of the world that an event can meet; several may
// hold at one time.
var situations = [...]string{"quiet", "no seat", "no server", "no disk", "question", "at server", "stopping"}

// met are the rows of the table.
var metEvents = [...]string{"Seated", "Unseated", "request", "response", "notification", "presence", "other frame", "Garbled", "ServerUp", "ServerSaid",
	"ServerNoise", "ServerDown", "Decided", "Synced", "Unrecorded", "AuditUp", "Reloaded", "Checkpoint", "Tick", "Stopping", "GivingUp"}

// A Tally counts what worlds had in them.
type Tally struct {
	Seeds, Events, Calls, Runs, Asked, Lives uint64
	Faults                                   [faults]uint64
	Table                                    [len(metEvents)][len(situations)]uint64
}

// Add adds up.
func (t *Tally) Add(o *Tally) {
	t.Seeds, t.Events, t.Calls, t.Runs = t.Seeds+o.Seeds, t.Events+o.Events, t.Calls+o.Calls, t.Runs+o.Runs
	t.Asked, t.Lives = t.Asked+o.Asked, t.Lives+o.Lives
	for f := range t.Faults {
		t.Faults[f] += o.Faults[f]
	}
	for i := range t.Table {
		for j := range t.Table[i] {
			t.Table[i][j] += o.Table[i][j]
		}
	}
}

func (t *Tally) met(p *process, ev bridge.Event) {
	t.Events++
	name := reflect.TypeOf(ev).Name()
	if a, ok := ev.(bridge.Arrived); ok {
		name = frameName(a.Envelope.Kind)
	}
	t.meet(p, name)
}

func frameName(k wire.Kind) string {
	switch k {
	case wire.Request, wire.Response, wire.Notification, wire.Presence:
		return k.String()
	}
	return "other frame"
}

func (t *Tally) meet(p *process, name string) {
	row := -1
	for i, known := range metEvents {
		if known == name {
			row = i
		}
	}
	if row < 0 {
		panic("the table has no row for " + name)
	}
	quiet := true
	in := func(column int, holds bool) {
		if holds {
			t.Table[row][column]++
			quiet = false
		}
	}
	in(1, !p.seated)
	in(2, !p.w.child.alive)
	in(3, p.w.disk.err != nil)
	question, running := p.w.check.busy()
	in(4, question)
	in(5, running)
	in(6, p.stopping)
	if quiet {
		t.Table[row][0]++
	}
}

// busy: some question is open, some call is at the server.
func (c *checker) busy() (question, running bool) {
	for i := len(c.order) - 1; i >= 0 && i > len(c.order)-20; i-- {
		cl := c.order[i]
		if c.proc == nil || cl.proc != c.proc.number {
			continue
		}
		question = question || cl.question != "" && !cl.allowed && !cl.denied && !cl.over
		running = running || cl.started && cl.answers == 0 && !cl.over
	}
	return question, running
}

// Write writes the tables.
func (t *Tally) Write(w io.Writer) {
	fmt.Fprintf(w, "%d seeds, %d events, %d calls, %d asked about, %d ran, %d lives of the bridge\n\nfaults that struck\n", t.Seeds, t.Events, t.Calls,
		t.Asked, t.Runs, t.Lives)
	for f := range faults {
		fmt.Fprintf(w, "  %-16s %9d", f, t.Faults[f])
		if f%4 == 3 || f == faults-1 {
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "\nwhat happened in which situation\n  %-13s", "")
	for _, s := range situations {
		fmt.Fprintf(w, " %10s", s)
	}
	for i, row := range t.Table {
		fmt.Fprintf(w, "\n  %-13s", metEvents[i])
		for j, n := range row {
			cell := fmt.Sprint(n)
			if n == 0 && impossible(metEvents[i], situations[j]) {
				cell = "-"
			}
			fmt.Fprintf(w, " %10s", cell)
		}
	}
	fmt.Fprintln(w)
}

// impossible are the cells of the table that nothing can be in.
func impossible(event, situation string) bool {
	return slices.Contains(cannot[situation], event)
}

// cannot says what cannot happen in a situation: frames come by a seat, lines
// from a server, and a world tells of its own doings after it has done them.
var cannot = map[string][]string{
	"quiet":     {"ServerDown", "Unrecorded", "Stopping", "GivingUp"},
	"no seat":   {"Unseated", "request", "response", "notification", "presence", "other frame", "Garbled"},
	"no server": {"ServerUp", "ServerSaid", "ServerNoise"},
	"no disk":   {"AuditUp"},
	"question":  {"GivingUp"},
	"stopping":  {"Reloaded"},
}

// Rare names what too little happened: faults that struck less often than
// least, and cells that were met less often than seldom.
func (t *Tally) Rare(least, seldom uint64) []string {
	var rare []string
	for f := range faults {
		if t.Faults[f] < least {
			rare = append(rare, fmt.Sprintf("the fault %s struck %d times", f, t.Faults[f]))
		}
	}
	for i, row := range t.Table {
		for j, n := range row {
			if n < seldom && !impossible(metEvents[i], situations[j]) {
				rare = append(rare, fmt.Sprintf("%s, %s: met %d times", metEvents[i], situations[j], n))
			}
		}
	}
	return rare
}

func join(v []violation) string {
	var all []string
	for _, one := range v {
		all = append(all, one.String())
	}
	return strings.Join(all, "\n")
}
