package engine

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
)

// withToken makes a call that asks for progress, and returns its id at the server.
func (s *stage) withToken(from, env string) (id string) {
	s.t.Helper()
	s.asksFor(from, env, "1", "read_file", `{"path":"a"}`, `"_meta":{"progressToken":"t"},`)
	return s.lastID()
}

func (s *stage) progresses(id string, n int, beside string) {
	s.t.Helper()
	s.said(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + id + `,"progress":` + strconv.Itoa(n) + beside + `}}`)
}

func TestProgressWasNotGathered(t *testing.T) {
	everyDialect(t, allowsSome, func(s *stage) {
		id := s.withToken("bob", "e1")
		s.frames = nil
		for i := range inflight.OfCall.AtOnce {
			s.progresses(id, i, "")
			s.has(s.only(), `"to":["bob"]`, `"progressToken":"t"`, `"progress":`+strconv.Itoa(i))
		}
		for i := inflight.OfCall.AtOnce; i < 2000; i++ {
			s.progresses(id, i, "")
		}
		s.nothing("beyond what passes at once")
		s.pass(inflight.OfCall.Every)
		s.has(s.only(), `"progress":1999`)
		s.pass(time.Minute / 2)
		s.nothing("all was said")
		s.progresses(id, 2000, "")
		s.has(s.only(), `"progress":2000`)
	})
}

// How far it came goes before the answer, and nothing after it.
func TestTheLastProgressGoesBeforeTheAnswer(t *testing.T) {
	for _, answer := range []string{`"result":{}`, "time-out", "lost"} {
		s := newStage(t, "mcpx/v0.1")
		id := s.withToken("bob", "e1")
		if answer == "time-out" {
			s.pass(s.engine.timeout - inflight.OfCall.Every/2)
		}
		for i := range 2000 {
			s.progresses(id, i, "")
		}
		s.frames = nil
		switch answer {
		case "time-out":
			answer = "-31010"
			s.pass(inflight.OfCall.Every / 2)
		case "lost":
			answer = "-31008"
			s.do(ServerDown{Cause: "exited", Reason: "child_exited"})
		default:
			s.said(`{"jsonrpc":"2.0","id":` + id + `,` + answer + `}`)
		}
		if len(s.frames) != 2 || !strings.Contains(s.frames[0], `"progress":1999`) || !strings.Contains(s.frames[1], answer) {
			t.Errorf("%s: %q", answer, s.frames)
		}
		s.frames = nil
		s.pass(time.Second)
		s.nothing("after the answer")
	}
}

// Whoever takes a call back wants to hear nothing of it.
func TestProgressThatWaitsEndsWithACallThatIsTakenBack(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	id := s.withToken("bob", "e1")
	for i := range 2000 {
		s.progresses(id, i, "")
	}
	s.frames = nil
	s.cancel("bob", "c1", "1")
	s.pass(time.Second)
	s.nothing("bob took it back")
}

// Many calls of a server are one server, and long progress is much of it.
func TestProgressOfManyCallsFilledTheTopic(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.engine.maxCalls = 100
	var ids []string
	for i := range 100 {
		ids = append(ids, s.withToken("bob", "e"+strconv.Itoa(i)))
	}
	s.frames = nil
	for n := range 100 {
		for _, id := range ids {
			s.progresses(id, n, "")
		}
	}
	if n := len(s.frames); n != inflight.OfAll.AtOnce {
		t.Errorf("%d frames at once", n)
	}
	s.frames = nil
	s.pass(time.Second)
	if n := len(s.frames); n != 100 {
		t.Errorf("%d frames later", n)
	}
	if n := strings.Count(strings.Join(s.frames, ""), `"progress":99`); n != 100 {
		t.Errorf("of %d calls the newest is told", n)
	}
}

func TestLongProgressCountsForMore(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	id := s.withToken("bob", "e1")
	s.frames = nil
	for i := range inflight.OfCall.AtOnce {
		s.progresses(id, i, `,"message":"`+strings.Repeat("x", 1<<20)+`"`)
	}
	s.has(s.only(), `"progress":0`)
	s.progresses(id, inflight.OfCall.AtOnce, "")
	s.pass(time.Second)
	s.nothing("before what passed is made up for")
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	if len(s.frames) != 2 || !strings.Contains(s.frames[0], `"progress":64`) {
		t.Errorf("%.300q", s.frames)
	}
}
