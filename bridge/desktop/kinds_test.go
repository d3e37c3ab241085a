package desktop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// ofKind is one thing of a kind that a peer offers: what asks for it, and what is said
// when the list is another.
type ofKind struct {
	list, empty, full string // the request, and two answers
	shown             string // in the client's list
	change            string
}

var ofKinds = map[string]ofKind{
	"tools":     {"tools/list", `{"tools":[]}`, list(tool("read")), `"fs__read"`, "notifications/tools/list_changed"},
	"prompts":   {"prompts/list", `{"prompts":[]}`, `{"prompts":[{"name":"ask"}]}`, `"fs__ask"`, "notifications/prompts/list_changed"},
	"resources": {"resources/list", `{"resources":[]}`, `{"resources":[{"uri":"a:b","name":"n"}]}`, `"mcpx://fs/a:b"`, "notifications/resources/list_changed"},
	"templates": {"resources/templates/list", `{"resourceTemplates":[]}`, `{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}]}`, `"mcpx://fs/a:{b}"`, "notifications/resources/list_changed"},
}

// lists answers every list that is asked for but those in but, of which full has something.
func (s *stage) lists(full, but string) {
	s.t.Helper()
	defer s.nameless()
	for _, k := range ofKinds {
		for _, a := range s.asks {
			switch {
			case a.Method != k.list || a.Method == but:
			case a.Method == full:
				s.answer(a, k.full)
			default:
				s.answer(a, k.empty)
			}
		}
	}
}

// What a peer offered goes with it, whatever kind it is of, and the client is told of that
// kind and of no other (O105, FINDINGS T5).
func TestWhatADepartedPeerOfferedGoesWhateverKindItIsOf(t *testing.T) {
	for name, k := range ofKinds {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, desktop.Config{})
			s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
			s.lists(k.list, "")
			s.meet(`{}`)
			for _, other := range ofKinds {
				s.line(`{"jsonrpc":"2.0","id":1,"method":%q}`, other.list)
				if line := s.one(`"id":1`); strings.Contains(line, k.shown) != (other == k) {
					t.Errorf("%s: %s", other.list, line)
				}
			}
			s.step(desktop.Left{ID: "fs"})
			s.pass(29 * time.Second)
			s.silent()
			s.pass(2 * time.Second)
			s.one(`"method":"` + k.change + `"`)
			s.line(`{"jsonrpc":"2.0","id":2,"method":%q}`, k.list)
			if line := s.one(`"id":2`); strings.Contains(line, k.shown) {
				t.Errorf("still shown: %s", line)
			}
		})
	}
}

// The first list of each kind waits for that kind of those who were there, not for another
// (FINDINGS T5).
func TestTheFirstListOfEachKindWaitsForThatKind(t *testing.T) {
	for name, k := range ofKinds {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, desktop.Config{})
			s.meet(`{}`)
			s.line(`{"jsonrpc":"2.0","id":1,"method":%q}`, k.list)
			s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
			s.lists(k.list, k.list)
			s.pass(4 * time.Second)
			s.silent()
			s.lists(k.list, "")
			s.one(`"id":1`, k.shown)
		})
	}
}
