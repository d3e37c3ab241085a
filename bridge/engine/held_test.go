package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What may keep an answer from leaving, and what becomes of it.

const presenceHead = mewHead + `"from":"system:gateway","kind":"system/presence",`

func (s *stage) comes(who string) {
	s.arrive(presenceHead + `"id":"j-` + who + `","payload":{"event":"join","participant":{"id":"` + who + `","capabilities":[]}}}`)
}

func (s *stage) goes(who string) {
	s.arrive(presenceHead + `"id":"l-` + who + `","payload":{"event":"leave","participant":{"id":"` + who + `"}}}`)
}

func (s *stage) pausesFor(seconds int) {
	s.arrive(fmt.Sprintf(mewHead+`"id":"pause","from":"carol","kind":"participant/pause","payload":{"timeout_seconds":%d}}`, seconds))
}

// reads has somebody call a tool, and returns the id that the server knows it by.
func (s *stage) reads(from, env string) (id string) {
	s.arrive(mewHead + `"id":"` + env + `","from":"` + from + `","kind":"mcp/request","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}}`)
	return s.lastID()
}

func (s *stage) result(id string) {
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}`)
}

func (s *stage) notTaken() {
	s.frames = nil
	s.do(NotSent{Send: s.sends[len(s.sends)-1]})
}

// A gateway says that an old connection has ended when the new one is there
// already (WIRE 1.5); whoever has it speaks on.
func TestTheEndOfAnOldConnectionCostsNoAnswer(t *testing.T) {
	for name, keep := range map[string]func(s *stage, id string){
		"a pause ends just then": func(s *stage, id string) {
			s.pausesFor(10)
			s.result(id)
			s.pass(8 * time.Second)
			s.comes("bob")
			s.goes("bob")
			s.pass(4 * time.Second)
		},
		"the way out is full just then": func(s *stage, id string) {
			s.result(id)
			s.only()
			s.notTaken()
			s.goes("bob")
			s.pass(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "mew/v0.4")
			keep(s, s.reads("bob", "e1"))
			s.nothing("bob is said to be away")
			s.arrive(mewHead + `"id":"c","from":"bob","kind":"chat","payload":{"text":"hi","format":"plain"}}`)
			s.has(s.only(), `"correlation_id":["e1"]`)
		})
	}
}

// An answer is tried again in time, however many others find the way full.
func TestAnAnswerIsTriedAgainHoweverManyFindTheWayFull(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "first", "1", "nope", `{}`)
	s.notTaken()
	for i := range 10 {
		s.pass(resendAfter / 2)
		s.call("carol", fmt.Sprint("e", i), "1", "nope", `{}`)
		s.do(NotSent{Send: s.sends[len(s.sends)-1]})
	}
	s.has(strings.Join(s.frames, ""), `"correlation_id":"first"`)
}

// What is held is counted, whatever makes it large: the bounds are in bytes of
// memory.
func TestWhatIsHeldIsCounted(t *testing.T) {
	for name, fill := range map[string]func(s *stage){
		"names of tools there are none of": func(s *stage) {
			for i := range 100 {
				s.arrive(fmt.Sprintf(mewHead+`"id":"e%d","from":"mallory","kind":"mcp/request","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s%d","arguments":{}}}}`,
					i, strings.Repeat("a", 1<<20), i))
			}
		},
		"results that were marked": func(s *stage) {
			var ends []string
			for i := range 15 {
				s.said(`{"jsonrpc":"2.0","id":` + s.reads("bob", fmt.Sprint("e", i)) + `,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}}`)
				ends = append(ends, s.notes[len(s.notes)-1].Call)
			}
			s.do(Unrecorded{Err: errors.New("disk full"), Ends: ends})
		},
		"marks on what just fits": func(s *stage) {
			var ends []string
			for i := range 16 {
				s.said(`{"jsonrpc":"2.0","id":` + s.reads("bob", fmt.Sprint("e", i)) + `,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20-100) + `"}]}}`)
				ends = append(ends, s.notes[len(s.notes)-1].Call)
			}
			s.do(Unrecorded{Err: errors.New("disk full"), Ends: ends})
		},
		"listings from which tools are withheld": func(s *stage) {
			s.engine.server.tools.Withheld = map[string]bool{"zzz": true}
			for i := range 15 {
				s.arrive(mewHead + fmt.Sprintf(`"id":"l%d","from":"bob","kind":"mcp/request","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}}`, i))
				s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"tools":[{"name":"a","description":"` + strings.Repeat("x", 1<<20) + `"}]}}`)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "mew/v0.4")
			s.engine.maxCalls = 100
			s.pausesFor(300)
			before := inUse()
			fill(s)
			s.notes, s.frames, s.sends, s.lines, s.writes = nil, nil, nil, nil, nil
			grown := inUse() - before
			if s.engine.room.held.Bytes > outgoing.HeldMaxBytes || grown > outgoing.HeldMaxBytes+8<<20 {
				t.Errorf("%d answers are counted as %d bytes and take %d", len(s.engine.room.held.Answers), s.engine.room.held.Bytes, grown)
			}
		})
	}
}

func TestWhenWeStopAllIsSaid(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	id := s.reads("bob", "e1")
	s.pausesFor(60)
	s.result(id)
	s.comes("bob")
	s.goes("bob")
	s.do(Stopping{})
	s.has(s.only(), `"correlation_id":["e1"]`)
}

func TestWithoutASeatAnAnswerIsGivenUpInTime(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	id := s.reads("bob", "e1")
	s.do(Unseated{})
	s.result(id)
	s.pass(outgoing.HeldFor)
	if len(s.engine.room.held.Answers) > 0 || !s.noted(record.Dropped, "caller_gone") {
		t.Error("it is kept")
	}
}

// Whoever speaks is here, be it that no roster lists them.
func TestWhoSpeaksIsHere(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	id := s.reads("stranger", "e1")
	s.do(Unseated{})
	s.result(id)
	s.pass(time.Second)
	s.seat()
	s.nothing("nobody knows of a stranger")
	s.arrive(mewHead + `"id":"c","from":"stranger","kind":"chat","payload":{"text":"hi","format":"plain"}}`)
	s.has(s.only(), `"correlation_id":["e1"]`)
}

// The request by which we serve a proposal found the way full.
func TestAnAnswerDoesNotOvertakeItsRequest(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	id := s.lastID()
	s.notTaken()
	s.result(id)
	s.nothing("the way is full")
	s.pass(time.Second)
	if len(s.frames) != 2 || !strings.Contains(s.frames[0], `"kind":"mcp/request"`) || !strings.Contains(s.frames[1], `"kind":"mcp/response"`) {
		t.Errorf("%q", s.frames)
	}
}

// The request finds the way full again in the very moment in which its call ends.
func TestAnAnswerWaitsWhileItsRequestIsTriedAgain(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	s.notTaken()
	s.now = s.now.Add(time.Hour) // asleep
	s.do(Tick{})
	s.has(s.only(), `"kind":"mcp/request"`)
	s.notTaken()
	s.pass(time.Second)
	s.pass(time.Second)
	if len(s.frames) != 2 || !strings.Contains(s.frames[0], `"kind":"mcp/request"`) || !strings.Contains(s.frames[1], `"reason":"call_timeout"`) {
		t.Errorf("%q", s.frames)
	}
}

// The roster of a new seat lets out what is held as often as it has somebody new.
func TestAnAnswerIsSoonBehindItsRequest(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	id := s.lastID()
	s.notTaken()
	s.do(Unseated{})
	s.result(id)
	s.frames = nil
	s.seatWith("bob", "carol", "mallory", "dave")
	s.pass(time.Second)
	all := strings.Join(s.frames, "\n")
	if first, second := strings.Index(all, `"to":["fs"],"kind":"mcp/request"`), strings.Index(all, `"kind":"mcp/response"`); first < 0 || second < first {
		t.Errorf("%q", s.frames)
	}
}

// What comes back when nothing is held any more is on record at once.
func TestWhatFindsTheWayFullAfterTheLastChanceIsOnRecord(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	s.result(s.reads("bob", "e1"))
	s.do(Leaving{})
	s.notTaken()
	if got := s.recorded(record.Dropped); !strings.Contains(got, `"env":"e1"`) || !strings.Contains(got, "shutting_down") {
		t.Errorf("on record is %s", got)
	}
}

// Nothing happens between a frame and the news that the way was full for it, be it
// that the way was full for others before it.
func TestNoTimePassesWhileTheWayIsFoundFull(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.requests("carol", "r1", "", "nope")
	refusal := s.sends[len(s.sends)-1]
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	request := s.sends[len(s.sends)-1]
	s.frames = nil
	s.now = s.now.Add(time.Hour)
	s.do(NotSent{Send: refusal})
	s.do(NotSent{Send: request})
	s.pass(time.Second)
	s.pass(time.Second)
	all := strings.Join(s.frames, "\n")
	if first, second := strings.Index(all, `"kind":"mcp/request"`), strings.Index(all, `"reason":"call_timeout"`); first < 0 || second < first {
		t.Errorf("%q", s.frames)
	}
}

// An answer for two is for the second one even if the first does not come back.
func TestAProposerIsToldThoughWhoRequestedIsAway(t *testing.T) {
	for _, d := range wire.Dialects {
		if !d.TellsBoth() {
			continue
		}
		s := proposalStage(t, d.Protocol, "fulfil: never")
		s.proposes("bob", "p1", "fs", "read_file", path, "")
		s.requests("carol", "r1", "p1", "read_file")
		id := s.lastID()
		s.frames = nil
		s.result(id)
		s.has(s.only(), `"to":["carol","bob"]`)
		s.notTaken()
		s.leaves("carol")
		s.pass(outgoing.HeldFor / 2)
		s.nothing("carol may come back")
		s.pass(outgoing.HeldFor)
		s.has(s.only(), `"to":["carol","bob"]`)
	}
}

// Who is not on the new roster is away, be it that somebody else is new on it.
func TestANewRosterIsReadWhole(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	id := s.reads("bob", "e1")
	s.do(Unseated{})
	s.result(id)
	s.seatWith("dave")
	s.nothing("bob is not back yet")
	s.comes("bob")
	s.has(s.only(), `"correlation_id":["e1"]`)
}

// A stranger who came and went has the time to come back that everybody has.
func TestWhoWasListedOnceIsNoStranger(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	id := s.reads("stranger", "e1")
	s.pausesFor(60)
	s.result(id)
	s.comes("stranger")
	s.goes("stranger")
	s.pass(61 * time.Second)
	s.nothing("they are gone")
	s.comes("stranger")
	s.has(s.only(), `"correlation_id":["e1"]`)
}

// A minute that began while bob was away is not held against him when he is back,
// and only the way out is in the way of the request before his answer.
func TestAFullWayCostsNoTimeThatBeganBefore(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	id := s.lastID()
	s.notTaken()
	s.result(id)
	s.goes("bob")
	noneTaken := func(meanwhile func()) {
		before := len(s.sends)
		meanwhile()
		for _, send := range s.sends[before:] {
			s.do(NotSent{Send: send})
		}
	}
	for i := range 2 * outgoing.HeldFor / resendAfter {
		noneTaken(func() { s.pass(resendAfter) })
		if i == 100 {
			noneTaken(func() { s.comes("bob") })
		}
	}
	if s.noted(record.Dropped, "caller_gone") {
		t.Error("bob is here, and his answer was given up")
	}
}

// The answer that waits for its request is said when our time is over, too.
func TestGivingUpSaysWhatWaitsForItsRequest(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.proposes("bob", "p1", "fs", "read_file", path, "")
	id := s.lastID()
	s.notTaken()
	s.result(id)
	s.do(Stopping{})
	s.do(GivingUp{})
	if !strings.Contains(s.frames[len(s.frames)-1], `"kind":"mcp/response"`) {
		t.Errorf("%q", s.frames)
	}
}

// What is held leaves once all who are here are known: to look at all of it for
// each of them takes as long as there are many of both.
func TestWhatIsHeldLeavesOnceTheRosterIsWhole(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	id := s.reads("bob", "e1")
	s.do(Unseated{})
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}`)
	known := false
	for _, f := range s.engine.Step(s.now, Seated{s.dialect, wire.Welcome{You: wire.Participant{ID: "fs", Caps: s.engine.room.caps}, Peers: []wire.Participant{{ID: "dave"}, {ID: "bob"}}}}) {
		switch f := f.(type) {
		case Note:
			known = known || f.Record.Event == record.Connected
		case Send:
			if f.Class == wire.Reply && known {
				return
			}
			t.Errorf("%s left before everybody was known", f.Frame)
		}
	}
	t.Error("the answer did not leave")
}

// Nobody has seen a claim that has not left, and so another who claims meanwhile is first, also
// at a gateway that returns nothing and to whom we would be before them.
func TestWhoClaimsWhileOursIsHeldIsFirst(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", forAll)
	s.offersRead("p1", "fs,carol", "")
	s.notTaken()
	s.claims("carol", "c1", "p1")
	for range 4 {
		s.pass(claimWindow)
	}
	if s.asked() != 0 {
		t.Errorf("carol runs it, and so do we: %q", s.frames)
	}
}
