package sim

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// situations are the states of the world that an event can meet, and the columns
// of the table; but for quiet, several may hold at one time.
var situations = [...]string{"quiet", "no seat", "no server", "no disk", "question", "at server", "stopping"}

// The columns, by name.
const (
	quiet = iota
	noSeat
	noServer
	noDisk
	atQuestion
	atServer
	inStopping
)

// metEvents are the rows of the table.
var metEvents = [...]string{"Seated", "Unseated", "request", "response", "notification", "presence", "other frame", "Garbled", "ServerUp", "ServerSaid",
	"ServerNoise", "ServerDown", "Decided", "Synced", "Unrecorded", "AuditUp", "Reloaded", "Checkpoint", "Tick", "Stopping", "GivingUp", "Leaving"}

// A Tally counts what worlds had in them.
type Tally struct {
	Worlds, Events, Calls, Runs, Asked, Lives uint64
	Remembered, Lasted                        uint64        // calls that ran as somebody had agreed for longer; in another life of the bridge
	Planned                                   uint64        // calls that ran by a plan
	Signed, PlansSigned                       uint64        // yeses that a passkey signed, of them to plans
	Tightened                                 uint64        // questions that came to take one
	Lived                                     time.Duration // by their own clocks
	Faults                                    [faults]uint64
	Table                                     [len(metEvents)][len(situations)]uint64
}

// Add adds what other worlds had in them.
func (t *Tally) Add(o *Tally) {
	t.Worlds, t.Events, t.Calls, t.Runs = t.Worlds+o.Worlds, t.Events+o.Events, t.Calls+o.Calls, t.Runs+o.Runs
	t.Remembered, t.Lasted, t.Planned = t.Remembered+o.Remembered, t.Lasted+o.Lasted, t.Planned+o.Planned
	t.Signed, t.PlansSigned, t.Tightened = t.Signed+o.Signed, t.PlansSigned+o.PlansSigned, t.Tightened+o.Tightened
	t.Asked, t.Lives, t.Lived = t.Asked+o.Asked, t.Lives+o.Lives, t.Lived+o.Lived
	for f := range t.Faults {
		t.Faults[f] += o.Faults[f]
	}
	for i := range t.Table {
		for j := range t.Table[i] {
			t.Table[i][j] += o.Table[i][j]
		}
	}
}

func (t *Tally) remembered(lasted bool) {
	t.Remembered++
	if lasted {
		t.Lasted++
	}
}

// nameOf is the row of an event of the Engine.
func nameOf(ev engine.Event) string {
	switch ev := ev.(type) {
	case engine.Saved:
		return "Reloaded"
	case engine.Arrived:
		switch k := ev.Envelope.Kind; k {
		case wire.Request, wire.Response, wire.Notification, wire.Presence:
			return k.String()
		}
		return "other frame"
	}
	return reflect.TypeOf(ev).Name()
}

// met counts an event that met some situations, all but quiet.
func (t *Tally) met(event string, in [len(situations)]bool) {
	row := slices.Index(metEvents[:], event)
	if row < 0 {
		panic("the table has no row for " + event)
	}
	in[quiet] = in == [len(situations)]bool{}
	for column, holds := range in {
		if holds {
			t.Table[row][column]++
		}
	}
}

// Write writes the tables.
func (t *Tally) Write(w io.Writer) {
	fmt.Fprintf(w, "%d worlds (calm ones live thrice), %.0f simulated hours, %d lives of the bridge, %d events\n", t.Worlds, t.Lived.Hours(), t.Lives, t.Events)
	fmt.Fprintf(w, "%d calls, %d asked about, %d allowed by a yes that lasted (%d of them over a restart), %d by a plan, %d times a passkey signed (%d of them plans), %d came to take one, %d ran\n\nfaults that struck\n",
		t.Calls, t.Asked, t.Remembered, t.Lasted, t.Planned, t.Signed, t.PlansSigned, t.Tightened, t.Runs)
	for f := range faults {
		fmt.Fprintf(w, "  %-16s %9d", f, t.Faults[f])
		if f%4 == 3 || f == faults-1 {
			fmt.Fprintln(w)
		}
	}
	t.writeTable(w)
}

func (t *Tally) writeTable(w io.Writer) {
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
	fmt.Fprint(w, "\n  - cannot be:")
	for i, c := range cannot {
		fmt.Fprintf(w, "%s %s: %s", [...]string{"", ";"}[min(i, 1)], c.situation, c.why)
	}
	fmt.Fprintln(w)
}

// A never is what cannot happen in a situation, and why not.
type never struct {
	situation, why string
	events         []string
}

var cannot = []never{
	{"quiet", "such an event is a trouble itself", []string{"ServerDown", "Unrecorded", "Stopping", "GivingUp", "Leaving"}},
	{"no seat", "frames come by a seat", []string{"Unseated", "request", "response", "notification", "presence", "other frame", "Garbled"}},
	{"no server", "lines come from a server", []string{"ServerUp", "ServerSaid", "ServerNoise"}},
	{"no disk", "it is well again when the bridge hears of that", []string{"AuditUp"}},
	{"question", "who stops has denied what people were asked about", []string{"GivingUp", "Leaving"}},
	{"at server", "who gives up answers all, though it may not be on record", []string{"Leaving"}},
	{"stopping", "who stops takes no other policy", []string{"Reloaded"}},
}

func impossible(event, situation string) bool {
	return slices.ContainsFunc(cannot, func(n never) bool { return n.situation == situation && slices.Contains(n.events, event) })
}

// seldom are the cells that only many more worlds fill, and why.
func seldom(event, situation string) bool {
	return event == "AuditUp" && situation == "question" // what cannot be put on record is not asked about
}

// What every kind of fault and every cell of the table must come to at least, in
// how many seeds; and those cells that are met seldom.
const (
	Enough     = 20_000
	EnoughRare = 1_000_000
	leastFault = 1000
	leastCell  = 100
)

// Rare names what too little happened in a number of seeds, if they are enough
// to say so.
func (t *Tally) Rare(seeds uint64) (rare []string) {
	if seeds < Enough {
		return nil
	}
	for f := range faults {
		if t.Faults[f] < leastFault {
			rare = append(rare, fmt.Sprintf("the fault %s struck %d times, and not %d", f, t.Faults[f], leastFault))
		}
	}
	if least := min(t.Tightened, t.PlansSigned); least < leastCell {
		rare = append(rare, fmt.Sprintf("questions came to take a passkey %d times, and one signed %d plans; and not %d each", t.Tightened, t.PlansSigned, leastCell))
	}
	for i, row := range t.Table {
		for j, n := range row {
			event, situation := metEvents[i], situations[j]
			if n < leastCell && !impossible(event, situation) && (seeds >= EnoughRare || !seldom(event, situation)) {
				rare = append(rare, fmt.Sprintf("%s, %s: met %d times, and not %d", event, situation, n, leastCell))
			}
		}
	}
	return rare
}
