package sim

import "testing"

// A policy that is stricter in something ends the plans that count. One that waited for the disk
// is judged by it before it counts, and then does (seed 15409).
func TestAStricterPolicyEndsThePlansThatCount(t *testing.T) {
	c := aChecker()
	c.books = []*rulebook{{ways: map[string]way{ruled[0]: {verdict: allow}}}}
	c.given["counts"], c.given["waits"] = &planned{begun: true}, &planned{}
	c.reloaded(&rulebook{ways: map[string]way{ruled[0]: {verdict: deny}}})
	if c.given["counts"] != nil || c.given["waits"] == nil {
		t.Errorf("left are %v", c.given)
	}
}

// What takes a passkey takes one each time, and a plan that may cover it takes one, too.
func TestAPlanStandsForNoPasskey(t *testing.T) {
	c := aChecker()
	of := &claim{said: said{from: "agent-a"}, votes: []vote{{who: "local", signed: true}}}
	use := &claim{said: said{from: "agent-a"}, plan: &planned{of: of}}
	w := way{verdict: ask, of: []string{"local", "alice"}, need: 1}
	if !c.leftTo(use, w) || c.leftTo(use, w.sealed()) {
		t.Error("it is left to a plan whether a passkey signs")
	}
	seals := &rulebook{ways: map[string]way{"note": w}, seals: true}
	for args, want := range map[string]bool{`{"is":"note-0"}`: false, `{"is":"note-1"}`: true, `{"in":["note-0","note-1"]}`: true, `{"any":true}`: true, `{"under":"/srv"}`: true} {
		plan := &claim{said: said{method: planMethod, tool: "note", args: []byte(`{"items":[{"tool":"note","args":{"/n":` + args + `},"uses":1}],"seconds":9}`)}}
		if got := plan.way(seals).confirm; got != want {
			t.Errorf("%s takes a passkey: %t", args, got)
		}
	}
}

func TestAPolicyThatTakesNoPasskeyAnyMoreIsLooser(t *testing.T) {
	plain := &rulebook{ways: map[string]way{"note": {verdict: ask}}}
	takes := &rulebook{ways: map[string]way{"note": {verdict: ask, confirm: true}}}
	if !plain.surelyLooser(takes) || takes.surelyLooser(plain) {
		t.Error("it is not")
	}
}
