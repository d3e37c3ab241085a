package sim

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Of a halt the checker excuses a refusal, and neither a start nor time that was taken from a
// question.
func TestAHaltExcusesNoStartAndNoLostTime(t *testing.T) {
	c := aChecker()
	c.w.now = time.Minute
	asks := &rulebook{ways: map[string]way{"pay": {verdict: ask, within: 2 * time.Minute, of: []string{"alice"}, need: 1}}}
	c.books = []*rulebook{asks}
	cl := &claim{said: said{id: "r", from: "agent-a", kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}, proc: 1, book: asks, question: "q", heardAt: c.w.now, askedAt: c.w.now}
	c.claims[cl.key()], c.order = cl, []*claim{cl}
	if refusals[-31015](c, cl) {
		t.Error("it is refused as halted, and is not")
	}
	c.haltedNow()
	c.w.now += time.Hour
	if !refusals[-31015](c, cl) || refusals[-31002](c, cl) {
		t.Error("an hour of a halt is counted as the time of a question")
	}
	c.goesOn()
	if len(c.violations) != 1 {
		t.Errorf("it goes on, and nothing on the disk says so: %v", c.violations)
	}
	cl.votes = []vote{{who: "alice", at: c.w.now + 119*time.Second}}
	if c.agreed(cl, asks.ways["pay"]) != 1 {
		t.Error("a yes within its time does not count")
	}
	cl.votes[0].at += 2 * time.Second
	if c.agreed(cl, asks.ways["pay"]) != 0 {
		t.Error("a yes after its time counts")
	}
	c.w.now += 2 * time.Minute
	if !refusals[-31002](c, cl) {
		t.Error("its time is over, and nobody may say so")
	}
}

// What was allowed when the halt came must not start after it.
func TestWhatAHaltKeptFromStartingNeverMay(t *testing.T) {
	c := aChecker()
	cl := &claim{said: said{id: "r", from: "agent-a"}, proc: 1, book: c.books[0], allowed: true}
	c.order = []*claim{cl}
	c.haltedNow()
	c.w.log.synced, c.goesAt = 1, 1
	c.goesOn()
	if c.startsHalted(cl); len(c.violations) != 1 {
		t.Errorf("it starts, and what is said of that is %v", c.violations)
	}
}

// A call had started, and its line had not left, when the halt came; its time was over by then, so that its caller was
// told that nobody knows of it, and not that it did not run. The line never leaves, and one with the same in it that is
// written afterwards is that of who asked for it since (seed 91111862); if nobody did, a line left after the halt.
func TestALineThatAHaltKeptFromLeavingIsNoneOfThoseAfterIt(t *testing.T) {
	for _, asked := range []bool{true, false} {
		c := aChecker()
		c.w.server.alive = true
		start := func(id, call string) *claim {
			cl := c.enter(&said{id: id, from: "agent-a", to: []string{us}, kind: wire.Request, method: "prompts/list"})
			cl.allowed, cl.decidedSize = true, 1
			c.emitted(record.Record{Event: record.Started, Call: call, From: "agent-a", Env: id})
			return cl
		}
		kept := start("r-1", "s1-1")
		kept.token = []byte(`"t"`)
		c.haltedNow()
		c.recorded([][]byte{[]byte(`{"event":"started","call":"s1-1"}`)})
		kept.told = "unknown"
		c.w.log.synced, c.goesAt = 1, 1
		c.goesOn()
		want, params := kept, `{"_meta":{"progressToken":3}}`
		if asked {
			want, params = start("r-2", "s1-2"), `{}`
			c.recorded([][]byte{[]byte(`{"event":"started","call":"s1-2"}`)})
		}
		l := c.line([]byte(`{"jsonrpc":"2.0","id":3,"method":"prompts/list","params":` + params + `}`))
		if l.claim != want {
			t.Errorf("asked again: %t: the line is of %v, want %v", asked, l.claim, want)
		}
		if blamed := len(c.violations) > 0; blamed == asked {
			t.Errorf("asked again: %t: what is said of it is %v", asked, c.violations)
		}
	}
}
