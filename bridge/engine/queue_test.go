package engine

import (
	"slices"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

func TestWhatComesOfOneThingComesBeforeTheNext(t *testing.T) {
	e := stageWith(t, lookup(t, "mcpx/v0.1"), Config{}).engine
	var did []string
	does := func(what string) { did = append(did, what) }
	inTurn(e, []string{"a", "b", "c"}, func(what string) {
		does(what)
		if what != "b" {
			e.then(func() {
				does("of " + what)
				e.then(func() { does("of that") })
			})
		}
	})
	e.then(func() { does("the rest") })
	e.drain()
	if want := []string{"a", "of a", "of that", "b", "c", "of c", "of that", "the rest"}; !slices.Equal(did, want) {
		t.Errorf("done in the order of %q, want %q", did, want)
	}
}

// What the desk says is done in the order in which it is said, also where it is told something
// while that is carried out.
func TestTheDeskIsHeardInOrder(t *testing.T) {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{})
	e := s.engine
	told := func(id string) approval.Act { return approval.Show{ID: id, To: approval.Who{Door: approval.Local}} }
	e.queueDesk([]approval.Act{told("1"), approval.Settled{ID: "2", Question: &approval.Question{AboutPolicy: true}}})
	e.then(func() { e.queueDesk([]approval.Act{told("5")}) })
	e.queueDesk([]approval.Act{told("3"), told("4")})
	var ids []string
	for _, f := range e.Step(s.now, Tick{}) {
		switch a := f.(Told).Act.(type) {
		case approval.Show:
			ids = append(ids, a.ID)
		case approval.Settled:
			ids = append(ids, a.ID)
		}
	}
	if want := []string{"1", "2", "3", "4", "5"}; !slices.Equal(ids, want) {
		t.Errorf("told in the order of %q, want %q", ids, want)
	}
}
