package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
)

// remembered is more requests than a topic remembers.
const remembered = 4096 + 1

// in takes a seat.
func in(t *testing.T, h *hub.Hub, id string, came int64) (*hub.Session, *ear) {
	t.Helper()
	who, heard := guest(id, came)
	s, err := h.Join(t.Context(), "t", who)
	if err != nil {
		t.Fatal(err)
	}
	return s, heard
}

// says has a session say a frame.
func says(t *testing.T, s *hub.Session, id, to, kind, rest string) {
	t.Helper()
	frame := `{"protocol":"mcpx/v0.1","id":"` + id + `","ts":"2026-01-02T03:04:05Z","from":"` + s.ID() + `","to":["` + to + `"],"kind":"` + kind + `",` + rest + `}`
	if err := s.Ingest([]byte(frame)); err != nil {
		t.Fatal(err)
	}
}

func asks(t *testing.T, s *hub.Session, id, to string) {
	t.Helper()
	says(t, s, id, to, "mcp/request:ping", `"payload":{"jsonrpc":"2.0","id":1,"method":"ping"}`)
}

func answers(t *testing.T, s *hub.Session, id, request string) {
	t.Helper()
	says(t, s, id, "asker", "mcp/response:ping", `"correlation_id":"`+request+`","payload":{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// What somebody has asked of another is answered by nobody else, however much is asked after it:
// who asked most had what others asked forgotten, and could answer it then.
func TestAFloodMadeWhatOthersAskedAnybodysToAnswer(t *testing.T) {
	h := open(hub.Options{})
	defer h.Close()
	asker, heard := in(t, h, "asker", 1)
	in(t, h, "server", 2)
	mallory, told := in(t, h, "mallory", 3)
	asks(t, asker, "q", "server")
	for i := range remembered {
		asks(t, mallory, fmt.Sprint("f", i), "server")
	}
	answers(t, mallory, "wrong", "q")
	if heard.has(`"wrong"`) > 0 || told.has("not_asked") != 1 {
		t.Errorf("the asker got %d wrong answers, mallory was told %d times", heard.has(`"wrong"`), told.has("not_asked"))
	}
	answers(t, mallory, "late", "f0") // his own went first, and what is forgotten may be answered by whom it concerns
	if heard.has(`"late"`) != 1 {
		t.Error("of what mallory asked, the first is not forgotten")
	}
}

// A topic that very many have asked one thing each has room for who comes to it today.
func TestWhoAsksLittleIsRememberedAmongMany(t *testing.T) {
	h := open(hub.Options{})
	defer h.Close()
	for i := range remembered {
		s, _ := in(t, h, fmt.Sprint("z", i), int64(i+1))
		asks(t, s, "one", "server")
		s.Leave()
	}
	in(t, h, "server", remembered+1)
	asker, heard := in(t, h, "asker", remembered+2)
	mallory, told := in(t, h, "mallory", remembered+3)
	const own = 64
	for i := range own {
		asks(t, asker, fmt.Sprint("q", i), "server")
	}
	for i := range own {
		answers(t, mallory, "wrong", fmt.Sprint("q", i))
	}
	if heard.has(`"wrong"`) > 0 || told.has("not_asked") != own {
		t.Errorf("the asker got %d wrong answers, mallory was told %d times", heard.has(`"wrong"`), told.has("not_asked"))
	}
}

// Of all whom a request names each may answer, also who comes only then, and nobody else may.
func TestEachOfManyWhoWereAskedMayAnswer(t *testing.T) {
	h := open(hub.Options{})
	defer h.Close()
	asker, heard := in(t, h, "asker", 1)
	mallory, told := in(t, h, "mallory", 2)
	asks(t, asker, "q", "a0"+strings.Repeat(`","a1`, 200)+`","late`)
	answers(t, mallory, "wrong", "q")
	if heard.has(`"wrong"`) > 0 || told.has("not_asked") != 1 {
		t.Errorf("the asker got %d wrong answers, mallory was told %d times", heard.has(`"wrong"`), told.has("not_asked"))
	}
	for i, id := range []string{"a0", "a1", "late"} {
		s, _ := in(t, h, id, int64(3+i))
		answers(t, s, "right-"+id, "q")
		if heard.has(`"right-`+id) != 1 {
			t.Errorf("the asker did not get the answer of %s", id)
		}
	}
}
