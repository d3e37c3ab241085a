package inflight

import (
	"strings"
	"testing"
)

// Every pair of phase and event: where it leads, or that it cannot be.
func TestEveryEventInEveryPhase(t *testing.T) {
	want := `
          look    ask    agree  claim    park   resume start   return   settle    expire
received  looking asked  agreed -        -      -      running -        done      -
looking   -       asked  agreed -        -      -      running -        done      -
asked     -       -      agreed -        -      -      -       -        done      -
agreed    -       -      -      claiming parked -      running -        done      -
claiming  -       -      -      -        -      agreed -       -        done      -
parked    -       -      -      -        -      agreed -       -        done      -
running   -       -      -      -        -      -      -       returned abandoned -
returned  -       -      -      -        -      -      -       -        done      -
abandoned -       -      -      -        -      -      -       done     -         overdue
overdue   -       -      -      -        -      -      -       done     -         -
done      -       -      -      -        -      -      -       -        -         -`
	rows := strings.Split(strings.TrimSpace(want), "\n")
	if len(rows) != int(phases)+1 || len(strings.Fields(rows[0])) != int(events) {
		t.Fatalf("the table has %d phases and %d events", len(rows)-1, len(strings.Fields(rows[0])))
	}
	for p, row := range rows[1:] {
		cells := strings.Fields(row)
		for e, name := range strings.Fields(rows[0]) {
			next, ok := Phase(p).On(Event(e))
			got := next.String()
			if !ok {
				if got = "-"; next != Phase(p) {
					t.Errorf("%s in %s cannot be, and leads to %s", name, cells[0], next)
				}
			}
			if Phase(p).String() != cells[0] || Event(e).String() != name || got != cells[e+1] {
				t.Errorf("%s in %s leads to %s, want %s", Event(e), Phase(p), got, cells[e+1])
			}
		}
	}
}

// Only what was never at the server can start, and nothing that its caller has heard the
// end of is heard of again.
func TestWhatIsOverStaysOver(t *testing.T) {
	for p := range phases {
		if _, starts := p.On(Start); starts && !p.Unstarted() {
			t.Errorf("%s: it starts again", p)
		}
		for e := range events {
			if next, ok := p.On(e); ok && (p.Settled() && !next.Settled() || !p.Unstarted() && next.Unstarted()) {
				t.Errorf("%s on %s: %s", p, e, next)
			}
		}
		if _, settles := p.On(Settle); settles == p.Settled() {
			t.Errorf("%s: that it may be settled is %v", p, settles)
		}
	}
}
