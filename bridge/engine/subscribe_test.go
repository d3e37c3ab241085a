package engine

import (
	"strconv"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func (s *stage) wantsToHear(method, from, env, uri string) {
	s.t.Helper()
	s.says(from, env, wire.Request, method, uri, "", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"uri":"`+uri+`"}}`)
}

// subscribes has somebody subscribe, and the server say yes if it is asked.
func (s *stage) subscribes(from, env, uri string) {
	s.t.Helper()
	s.lines = nil
	if s.wantsToHear(subscribes, from, env, uri); len(s.lines) > 0 {
		s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
	}
}

func (s *stage) updates(uri string) {
	s.t.Helper()
	s.said(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + uri + `"}}`)
}

const refusedForPlaces = `"code":-31005`

func TestWhoSubscribedLastHeardNothingForSomebodyElseHadAllPlaces(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.allowMethods()
	for i := range subscriptionsShare {
		s.subscribes("mallory", "m"+strconv.Itoa(i), "file:///"+strconv.Itoa(i))
	}
	s.frames = nil
	s.subscribes("mallory", "more", "file:///more")
	s.has(s.only(), refusedForPlaces, `"reason":"busy"`, `"executed":"no"`)
	s.subscribes("mallory", "again", "file:///1")
	s.has(s.only(), `"result":{}`)
	s.subscribes("bob", "b1", "file:///x")
	s.has(s.only(), `"result":{}`)
	s.updates("file:///x")
	s.has(s.only(), `"to":["bob"]`, "resources/updated")

	s.wantsToHear("resources/unsubscribe", "mallory", "end", "file:///1")
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
	s.frames = nil
	s.subscribes("mallory", "place", "file:///more")
	s.has(s.only(), `"result":{}`)
}

// Several may be on their way to the server before it has said yes to one.
func TestSubscriptionsOnTheirWayTookNoPlaces(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.engine.maxCalls = 2 * subscriptionsShare
	s.allowMethods()
	s.lines = nil
	for i := range 2 * subscriptionsShare {
		s.wantsToHear(subscribes, "mallory", "m"+strconv.Itoa(i), "file:///"+strconv.Itoa(i))
	}
	if len(s.lines) != subscriptionsShare || len(s.frames) != subscriptionsShare {
		t.Errorf("%d reached the server, %d were refused", len(s.lines), len(s.frames))
	}
}

func TestInventedNamesWereRememberedAsSubscribersForGood(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	s.allowMethods()
	for i := range 2000 {
		s.subscribes("n"+strconv.Itoa(i), "m"+strconv.Itoa(i), "file:///x")
	}
	s.frames = nil
	s.updates("file:///x")
	if n := len(s.frames); n != subscribersMost {
		t.Errorf("one word of the server's makes %d frames", n)
	}
	s.frames = nil
	s.subscribes("n-last", "last", "file:///x")
	s.has(s.only(), refusedForPlaces)
	s.subscribes("bob", "b", "file:///x") // whom the roster lists
	s.has(s.only(), `"result":{}`)
	s.pass(gatherFor)
	s.frames = nil
	s.updates("file:///x")
	s.has(s.only(), `"to":["bob"]`)
}

// What they invented names for are many resources, not one.
func TestInventedNamesTookTheRoomOfAllResources(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	s.allowMethods()
	for i := range 2000 {
		s.subscribes("n"+strconv.Itoa(i), "m"+strconv.Itoa(i), "file:///"+strconv.Itoa(i))
	}
	if n := s.engine.server.subscribers.all; n != subscriptionsShare {
		t.Errorf("%d are remembered", n)
	}
	s.frames = nil
	s.subscribes("carol", "c", "file:///x")
	s.has(s.frames[len(s.frames)-1], `"result":{}`)
	if n := s.engine.server.subscribers.all; n != 1 {
		t.Errorf("%d are remembered beside carol, whom the roster lists", n-1)
	}
}

// The call of somebody who has left serves a proposal, or its answer waits a minute: it
// goes on, but not the subscription.
func TestWhoLeftWhileSubscribingWasASubscriberForGood(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.allowMethods()
	s.wantsToHear(subscribes, "bob", "b1", "file:///x")
	id := s.lastID()
	s.do(Unseated{})
	s.seatWith("carol")
	s.pass(leaveGrace)
	s.lines, s.frames = nil, nil
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	s.has(strings.Join(s.lines, ""), "resources/unsubscribe", "file:///x")
	s.frames = nil
	s.updates("file:///x")
	s.nothing("bob is gone")
}

// Word of changed lists was gathered (FINDINGS C10), that of changed resources was not: a
// server with one subscriber filled the topic, and others there were cut off as too slow.
func TestWordOfAChangedResourceWasNotGathered(t *testing.T) {
	everyDialect(t, allowsSome, func(s *stage) {
		s.allowMethods()
		s.subscribes("bob", "b1", "file:///x")
		s.subscribes("bob", "b2", "file:///y")
		s.frames = nil
		for range 2000 {
			s.updates("file:///x")
		}
		s.has(s.only(), `"to":["bob"]`, "file:///x")
		s.updates("file:///y")
		s.has(s.only(), "file:///y")
		s.said(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///x","last":1}}`)
		s.pass(gatherFor)
		s.has(s.only(), `"last":1`)
		s.pass(gatherFor)
		s.nothing("all was said")
		s.updates("file:///x")
		s.has(s.only(), "file:///x")
	})
}

// A word that waits keeps what it is about, and not whatever the server put beside that.
func TestALongWordOfAChangedResourceFilledTheMemory(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.allowMethods()
	s.subscribes("bob", "b1", "file:///x")
	s.frames = nil
	s.said(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///x","beside":"` + strings.Repeat("x", waitsMax) + `"}}`)
	if f := s.only(); len(f) > 1000 || !strings.Contains(f, `"params":{"uri":"file:///x"}`) {
		t.Errorf("%d bytes: %.300s", len(f), f)
	}
}

// However many resources change, all hear of it in the end.
func TestWordOfManyResourcesCameAllAtOnce(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.allowMethods()
	for _, who := range []string{"bob", "carol", "mallory"} {
		for i := range subscriptionsShare {
			s.subscribes(who, who+strconv.Itoa(i), "file:///"+strconv.Itoa(i))
		}
	}
	s.frames = nil
	for i := range subscriptionsShare {
		s.updates("file:///" + strconv.Itoa(i))
	}
	if n := len(s.frames); n < inflight.OfAll.AtOnce || n > inflight.OfAll.AtOnce+2 {
		t.Errorf("%d frames at once", n)
	}
	s.pass(3 * gatherFor)
	if n := len(s.frames); n != 3*subscriptionsShare {
		t.Errorf("%d frames in the end", n)
	}
}
