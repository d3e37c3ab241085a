package desktop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// entry is the definition of one thing of a kind, and how that is shown.
func (k ofKind) entry(name, more string) (def, shown string) {
	switch k.list {
	case "tools/list":
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, name, more), `"name":"fs__` + name + `"`
	case "prompts/list":
		return fmt.Sprintf(`{"name":%q%s}`, name, more), `"name":"fs__` + name + `"`
	case "resources/list":
		return fmt.Sprintf(`{"uri":"a:%s","name":"n"%s}`, name, more), `"uri":"mcpx://fs/a:` + name + `"`
	}
	return fmt.Sprintf(`{"uriTemplate":"a:%s","name":"n"%s}`, name, more), `"uriTemplate":"mcpx://fs/a:` + name + `"`
}

// page is an answer to the request for the list.
func (k ofKind) page(cursor string, defs ...string) string {
	member, _, _ := strings.Cut(strings.TrimPrefix(k.empty, `{"`), `"`)
	if cursor != "" {
		cursor = fmt.Sprintf(`,"nextCursor":%q`, cursor)
	}
	return `{"` + member + `":[` + strings.Join(defs, ",") + `]` + cursor + `}`
}

// stageOf has a peer fs that offers what full says of one kind, and nothing else.
func stageOf(t *testing.T, c desktop.Config, k ofKind) *stage {
	t.Helper()
	s := newStage(t, c)
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
	s.meet(`{}`)
	s.lists(k.list, k.list)
	return s
}

// lists is the client's list of the kind.
func (s *stage) listOf(k ofKind) string {
	s.t.Helper()
	s.line(`{"jsonrpc":"2.0","id":"of","method":%q}`, k.list)
	return s.one(`"id":"of","result"`)
}

func everyKind(t *testing.T, test func(*testing.T, ofKind)) {
	for name, k := range ofKinds {
		t.Run(name, func(t *testing.T) { test(t, k) })
	}
}

// Five hundred changes are few requests and one notification, of that kind alone (FINDINGS T5).
func TestChangesOfEachKindAreToldOfThatKind(t *testing.T) {
	everyKind(t, func(t *testing.T, k ofKind) {
		s := stageOf(t, desktop.Config{}, k)
		s.answer(s.open(k.list), k.empty)
		s.listOf(k)
		asked := map[string]int{}
		more := func() {
			for len(s.asks) > 0 {
				for _, a := range s.asks {
					asked[a.Method]++
				}
				s.lists(k.list, "")
			}
		}
		for range 500 {
			s.step(desktop.Noticed{From: "fs", Method: k.change})
			s.pass(time.Millisecond)
			more()
		}
		s.pass(time.Second)
		more()
		s.pass(time.Second)
		for _, line := range s.heard() {
			if line != `{"jsonrpc":"2.0","method":"`+k.change+`"}` {
				t.Errorf("told: %s", line)
			}
		}
		for method, n := range asked {
			if n > 4 || ofKinds[strings.TrimSuffix(strings.ReplaceAll(method, "resources/templates", "templates"), "/list")].change != k.change {
				t.Errorf("%s was asked for %d times", method, n)
			}
		}
		if line := s.listOf(k); !strings.Contains(line, k.shown) {
			t.Errorf("the list is %s", line)
		}
		s.step(desktop.Noticed{From: "fs", Method: k.change})
		s.step(desktop.Noticed{From: "stranger", Method: k.change})
		s.pass(time.Second)
		more()
		s.pass(time.Second)
		s.silent() // the same list again is no change
	})
}

func TestWhoComesBackInTimeOffersWhatItDidWhateverKindItIsOf(t *testing.T) {
	everyKind(t, func(t *testing.T, k ofKind) {
		s := stageOf(t, desktop.Config{}, k)
		s.answer(s.open(k.list), k.full)
		s.listOf(k)
		s.step(desktop.Left{ID: "fs"})
		s.pass(20 * time.Second)
		s.step(desktop.Came{Peer: desktop.Peer{ID: "fs"}})
		s.lists(k.list, "")
		s.pass(4 * time.Minute)
		s.silent()
		if line := s.listOf(k); !strings.Contains(line, k.shown) {
			t.Errorf("the list is %s", line)
		}
	})
}

// Whoever comes under the id of one who left brings what it offers, not what that did.
func TestAnotherUnderTheSameIDOffersItsOwnWhateverKindItIsOf(t *testing.T) {
	everyKind(t, func(t *testing.T, k ofKind) {
		s := stageOf(t, desktop.Config{}, k)
		s.answer(s.open(k.list), k.full)
		s.listOf(k)
		s.step(desktop.Left{ID: "fs"})
		s.step(desktop.Came{Peer: desktop.Peer{ID: "fs"}})
		def, shown := k.entry("other", "")
		s.lists(k.list, k.list)
		s.answer(s.open(k.list), k.page("", def))
		s.pass(time.Second)
		s.one(`"method":"` + k.change + `"`)
		if line := s.listOf(k); strings.Contains(line, k.shown) || !strings.Contains(line, shown) {
			t.Errorf("the list is %s", line)
		}
	})
}

func TestTheFirstListOfEachKindWaitsNoLongerThanFiveSeconds(t *testing.T) {
	everyKind(t, func(t *testing.T, k ofKind) {
		s := stageOf(t, desktop.Config{}, k)
		s.line(`{"jsonrpc":"2.0","id":1,"method":%q}`, k.list)
		s.pass(4999 * time.Millisecond)
		s.silent()
		s.pass(time.Millisecond)
		s.one(`"id":1,"result"`)
		s.answer(s.open(k.list), k.full)
		s.pass(time.Second)
		s.one(`"method":"` + k.change + `"`)
	})
}

// What cannot be read, or offered, hides itself alone and says why (FINDINGS P5, P10, P14).
func TestOneBadDefinitionOfAKindHidesNoOther(t *testing.T) {
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	everyKind(t, func(t *testing.T, k ofKind) {
		good, shownGood := k.entry("good", "")
		half, shownHalf := k.entry("half", `,"description":"cut \ud83d"`)
		bad := []string{`7`, `null`, `[]`, `{}`, `{"name":7}`}
		for name, more := range map[string]string{"bad-twice": `,"x":{"a":1,"a":2}`, "bad-deep": `,"x":` + deep, "bad-long": `,"description":"` + strings.Repeat("x", 300<<10) + `"`,
			"bad-lookalike": `,"Name":"x"`} {
			def, _ := k.entry(name, more)
			bad = append(bad, def)
		}
		hidden, _ := k.entry("bad-hidden\u200b", "")
		bad = append(bad, hidden)
		s := stageOf(t, desktop.Config{}, k)
		s.answer(s.open(k.list), k.page("", append(append([]string{half}, bad...), good)...))
		line := s.listOf(k)
		for _, shown := range []string{shownGood, shownHalf, "cut \ufffd"} {
			if !strings.Contains(line, shown) {
				t.Errorf("there is no %s in %.2000s", shown, line)
			}
		}
		for _, name := range []string{"bad-twice", "bad-deep", "bad-long", "bad-hidden"} {
			if strings.Contains(line, name) {
				t.Errorf("%s is offered: %.2000s", name, line)
			}
		}
		s.call(1, "mcpx_peers", `{}`)
		if told := s.one(); strings.Count(told, `"why":`) < len(bad)-1 {
			t.Errorf("of %d bad ones it is told %s", len(bad), told)
		}
	})
}

// One participant does not drown all others, with things of whatever kind.
func TestAListOfAnyKindHasALimit(t *testing.T) {
	everyKind(t, func(t *testing.T, k ofKind) {
		most := 1000
		if k.list == "tools/list" {
			most = 512
		}
		var defs []string
		var last, over string
		for i := range most + 50 {
			def, shown := k.entry(fmt.Sprintf("t%04d", i), "")
			defs = append(defs, def)
			switch i {
			case most - 1:
				last = shown
			case most:
				over = shown
			}
		}
		s := stageOf(t, desktop.Config{}, k)
		s.answer(s.open(k.list), k.page("", defs...))
		if line := s.listOf(k); !strings.Contains(line, last) || strings.Contains(line, over) {
			t.Errorf("not %d are shown", most)
		}
		if len(s.notes) == 0 || !strings.Contains(strings.Join(s.notes, ""), "not offered") {
			t.Errorf("nobody is told: %q", s.notes)
		}

		s = stageOf(t, desktop.Config{}, k)
		defs = nil
		for i := range 30 {
			def, _ := k.entry(fmt.Sprintf("t%04d", i), `,"description":"`+strings.Repeat("x", 200<<10)+`"`)
			defs = append(defs, def)
		}
		s.answer(s.open(k.list), k.page("more", defs...))
		if n := len(s.listOf(k)); n > 5<<20 || n < 3<<20 {
			t.Errorf("the list has %d bytes", n)
		}
		s.none(k.list) // nor is more of it asked for
	})
}

// A list that never ends, because it says the same again or always something new, ends.
func TestAnEndlessListOfAnyKindEnds(t *testing.T) {
	everyKind(t, func(t *testing.T, k ofKind) {
		for name, cursor := range map[string]func(i int) string{"the same": func(int) string { return "c" }, "others": func(i int) string { return fmt.Sprint(i) }} {
			s := stageOf(t, desktop.Config{}, k)
			pages := 0
			for ; len(s.asks) > 0 && pages < 100; pages++ {
				def, _ := k.entry(fmt.Sprintf("t%d", pages), "")
				s.answer(s.open(k.list), k.page(cursor(pages), def))
				s.nameless()
			}
			if pages > 60 || name == "the same" && pages != 2 {
				t.Errorf("%s: %d pages", name, pages)
			}
			if told := strings.Contains(strings.Join(s.notes, "\n"), "has more pages than are taken"); told != (name == "others") {
				t.Errorf("%s: that there is more is told: %v", name, told)
			}
			if _, shown := k.entry("t0", ""); !strings.Contains(s.listOf(k), shown) {
				t.Errorf("%s: nothing is shown", name)
			}
		}
	})
}

// Who does not answer is asked a few times more; an error, or what is no list, leaves what was
// known; who says that there is no such method has none.
func TestWhoFailsToListAKindKeepsWhatItHad(t *testing.T) {
	everyKind(t, func(t *testing.T, k ofKind) {
		s := stageOf(t, desktop.Config{}, k)
		s.failsToList(k)

		for _, answer := range []func(*stage, desktop.Ask){
			func(s *stage, a desktop.Ask) { s.fault(a, `{"code":-32603,"message":"m"}`) },
			func(s *stage, a desktop.Ask) { s.answer(a, `{}`) },
			func(s *stage, a desktop.Ask) { s.answer(a, `7`) },
		} {
			s = stageOf(t, desktop.Config{}, k)
			s.answer(s.open(k.list), k.full)
			s.listOf(k)
			s.step(desktop.Noticed{From: "fs", Method: k.change})
			s.pass(time.Second)
			s.lists(k.list, k.list)
			answer(s, s.open(k.list))
			s.pass(time.Second)
			s.silent()
			if line := s.listOf(k); !strings.Contains(line, k.shown) {
				t.Errorf("what was known is gone: %s", line)
			}
		}

		s.step(desktop.Noticed{From: "fs", Method: k.change})
		s.pass(time.Second)
		s.lists(k.list, k.list)
		s.fault(s.open(k.list), `{"code":-32601,"message":"none"}`)
		s.pass(time.Second)
		s.heard()
		if line := s.listOf(k); strings.Contains(line, k.shown) {
			t.Errorf("it is shown still: %s", line)
		}
		s.pass(time.Hour)
		s.none(k.list)
	})
}

// What is being asked of one who leaves is given up, and what was to be asked is not.
func TestWhoLeavesIsAskedNoMoreWhateverKindItIsOf(t *testing.T) {
	everyKind(t, func(t *testing.T, k ofKind) {
		s := stageOf(t, desktop.Config{}, k)
		s.open(k.list)
		s.step(desktop.Left{ID: "fs"})
		s.none(k.list)

		s = stageOf(t, desktop.Config{}, k)
		s.answer(s.open(k.list), k.full)
		s.step(desktop.Noticed{From: "fs", Method: k.change})
		s.step(desktop.Left{ID: "fs"})
		s.pass(10 * time.Second)
		s.none(k.list)
	})
}

// failsToList: the peer lets every asking for a kind run out of time, and is asked no more.
func (s *stage) failsToList(k ofKind) {
	for try := range 4 {
		s.open(k.list)
		s.pass(15 * time.Second)
		s.none(k.list)
		s.pass(time.Duration(try+1) * 5 * time.Second)
	}
	s.none(k.list)
}

// Whoever failed to list a kind is asked as often as anybody when it comes back.
func TestWhoComesBackIsAskedAsOftenWhateverKindItIsOf(t *testing.T) {
	everyKind(t, func(t *testing.T, k ofKind) {
		s := stageOf(t, desktop.Config{}, k)
		for range 2 {
			s.failsToList(k)
			s.step(desktop.Left{ID: "fs"})
			s.step(desktop.Came{Peer: desktop.Peer{ID: "fs"}})
			s.lists(k.list, k.list)
		}
	})
}
