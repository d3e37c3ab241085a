package sim

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func aChecker() *checker {
	c := newPlay(Draw(7), &Tally{}).check
	c.begun(&life{number: 1}, rulebookOf(0))
	return c
}

// Here the checker itself is held to what it must not excuse.

// mallory says something garbled with the id of alice's question in it: that is no
// reason for anybody to be told that a person said no.
func TestNoiseOfSomebodyElseIsNoNo(t *testing.T) {
	c := aChecker()
	cl := &claim{said: said{id: "r", from: "agent-a", kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}, proc: 1, book: c.books[0], question: "q"}
	c.claims[cl.key()], c.order = cl, []*claim{cl}
	c.askOrder = []*asked{{id: "92d7", to: "alice", rpc: []byte(`"elicit-92d7"`), claim: cl}}
	if refusals[-31001](c, cl) {
		t.Fatal("nobody has said anything")
	}
	raw := []byte(`{"protocol":"mcpx/v0.1","id":"alice-a-9","from":"mallory","to":["fs"],"kind":"mcp/response2elicitation/create","correlation_id":"92d7","payload":{"jsonrpc":"2.0","id":"elicit-92d7","result":{"action":"accept","content":{"approve":true}}}}`)
	c.heard(&frame{raw: raw, said: broken(said{id: "alice-a-9", from: "mallory"})})
	if refusals[-31001](c, cl) {
		t.Error("the checker takes mallory's noise for alice's no: a denial would pass")
	}
}

// bob was away for a second, is here again, and his answer is given up all the same.
func TestAnAnswerGivenUpThoughItsCallerIsBackIsBlamed(t *testing.T) {
	c := aChecker()
	c.w.now = time.Minute
	cl := &claim{said: said{id: "r", from: "agent-a", kind: wire.Request, method: "ping", perfect: true}, proc: 1, book: c.books[0], heardAt: c.w.now}
	c.claims[cl.key()], c.order = cl, []*claim{cl}
	c.w.now += time.Second
	c.heard(&frame{said: said{from: wire.Gateway, kind: wire.Presence, method: "leave", tool: "agent-a"}})
	c.w.now += time.Second
	c.heard(&frame{said: said{from: wire.Gateway, kind: wire.Presence, method: "join", tool: "agent-a"}})
	c.w.now += 5 * time.Minute
	c.emitted(record.Record{Event: record.Dropped, Reason: "caller_gone", From: "agent-a", Env: "r"})
	if len(c.violations) == 0 {
		t.Error("its caller was away for a second, and nobody is blamed")
	}
}

// A pin that is long out of force excuses a denial.
func TestAPinOutOfForceExcusesNothing(t *testing.T) {
	c := aChecker()
	allows := func(pin string) *rulebook { return &rulebook{pin: pin, ways: map[string]way{"pay": {verdict: allow}}} }
	c.books = []*rulebook{allows("ask"), allows("off")}
	cl := &claim{said: said{id: "r", from: "agent-a", kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}, proc: 1, book: c.books[1], bookAt: 1, allowed: true}
	c.first, c.firstSure, c.versions = map[string]string{"pay": "1"}, map[string]string{"pay": "1"}, map[string]string{"pay": "2"}
	if refusals[-31004](c, cl) {
		t.Error("no policy since the call was heard pins anything, and its denial passes")
	}
}

// The change was listed for sure before the sleep; a listing after it may have been missed, which changes nothing.
func TestALateListingHidesNoChangeThatIsSure(t *testing.T) {
	c := aChecker()
	c.books = []*rulebook{{pin: "block", ways: map[string]way{"read": {verdict: allow}}}}
	list := func(v string) []byte {
		return []byte(`{"id":9,"result":{"tools":[{"name":"read","description":"` + v + `"}]}}`)
	}
	for _, v := range []string{"1", "2"} { // it has changed, and the bridge knows
		c.listed(list(v))
		c.heeded()
	}
	if !c.changed("read") {
		t.Fatal("it has not changed")
	}
	c.w.now += 2 * time.Minute
	c.w.dozedAt = c.w.now - time.Second
	c.lines["9"] = &line{Method: "tools/list", at: c.w.now}
	c.answered(list("2")) // the same as before
	c.mayRunUnasked(&claim{said: said{id: "r", method: "tools/call", tool: "read"}, book: c.books[0]})
	if len(c.violations) == 0 {
		t.Error("a changed tool is called under pin: block, and nobody is blamed")
	}
}

// Who asks when the bridge has given up is refused at once, and waits for no log.
func TestADiskExcusesNoMissingAnswer(t *testing.T) {
	c := aChecker()
	c.w.link.up, c.w.now = true, time.Minute
	cl := &claim{said: said{id: "r", from: "agent-a", kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}, proc: 1, book: c.books[0], heardAt: c.w.now}
	c.order = []*claim{cl}
	c.w.log.troubleAt = c.w.now + time.Second
	c.w.now += 4 * time.Second
	c.gaveUp()
	if len(c.violations) == 0 {
		t.Error("it never got an answer, and nobody is blamed")
	}
}

// An answer is given up as the bridge leaves, and not before (seed 44706).
func TestAnAnswerIsGivenUpOnlyByWhoLeaves(t *testing.T) {
	for _, leaving := range []bool{false, true} {
		c := aChecker()
		c.proc.leaving = leaving
		cl := &claim{said: said{id: "r", from: "agent-a", kind: wire.Request, method: "ping", perfect: true}, proc: 1, book: c.books[0]}
		c.claims[cl.key()], c.order = cl, []*claim{cl}
		c.emitted(record.Record{Event: record.Dropped, Reason: "shutting_down", From: "agent-a", Env: "r"})
		if blamed := len(c.violations) > 0; blamed == leaving {
			t.Errorf("it leaves: %t, and is blamed: %t", leaving, blamed)
		}
	}
}

// Without a seat the request to ourselves waits in order with its answer; that the end is on record meanwhile is no fault.
func TestARequestOfOursMayWaitWithItsAnswer(t *testing.T) {
	c := aChecker()
	cl := &claim{said: said{id: "p", from: "agent-a", to: []string{us}, kind: wire.Proposal, method: "tools/call", tool: "read", perfect: true}, proc: 1, book: c.books[0],
		allowed: true, started: true, ended: true, executed: "yes", outcome: "ok"}
	c.claims[cl.key()], c.order = cl, []*claim{cl}
	c.takesUp(&letter{envelope: envelope[letterBody]{ID: "self", To: []string{us}, Corr: []string{"p"}}})
	if len(c.violations) > 0 {
		t.Error(c.violations)
	}
}

// Somebody changed the arguments of a proposal that another then took: when it comes
// back, what was proposed is asked about, and a question that still shows the change
// is blamed (seeds 13992 and 14936, where the right one was).
func TestWhatComesBackIsAskedAboutAsItWasProposed(t *testing.T) {
	c := aChecker()
	args := []byte(`{"amount": 50, "n":"p"}`)
	cl := &claim{said: said{id: "p", from: "agent-b", kind: wire.Proposal, method: "tools/call", tool: "pay", args: args}, proc: 1, book: c.books[0],
		expect: edited(args, "7"), modified: true, rivalled: true}
	c.comesBack(cl)
	if string(cl.expect) != string(args) || cl.modified {
		t.Errorf("it is expected to run with %s, and was proposed with %s", cl.expect, args)
	}
}

// A request without params, or with null for them, is shown with no arguments (seed 18127).
func TestNoParamsAreShownAsNone(t *testing.T) {
	for params, want := range map[string]string{"": `{}`, "null": `{}`, `{"_meta":{"a":1}}`: `{}`, `{"uri":"u"}`: `{"uri":"u"}`} {
		if got := string(withoutMeta([]byte(params))); got != want {
			t.Errorf("params %q are judged as %s, want %s", params, got, want)
		}
	}
}

// A frame that is cut short, or has a key twice, is passed over as if it had never come: what
// is asked under its id afterwards is owed an answer. One that can be read in two ways is
// refused in words, and its id is spent.
func TestNoiseUnderAnIDExcusesNoMissingAnswer(t *testing.T) {
	call := func(to, kind, params string) string {
		return `{"protocol":"mcpx/v0.1","id":"r","ts":"2026-01-01T00:00:00Z","from":"agent-a","to":["` + to + `"],"kind":"` + kind + `","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}}`
	}
	whole := call(us, "mcp/request", `{"name":"pay","arguments":{"path":"a","PATH":"b"}}`)
	for raw, spent := range map[string]bool{
		whole:                      true,
		whole[:len(whole)-5] + "}": false,
		call(us, "mcp/request", `{"name":"pay","Name":"read","arguments":{}}`):                 true,
		call(us, "mcp/request", `{"name":"pay","name":"read","arguments":{}}`):                 false,
		call("bob", "mcp/request", `{"name":"pay","arguments":{"path":"a","PATH":"b"}}`):       false,
		strings.Replace(whole, `"jsonrpc"`, `"Method":"ping","jsonrpc"`, 1):                    false,
		strings.Replace(whole, `"mcp/request"`, `"mcp/response:tools/call"`, 1):                false,
		strings.Replace(whole, `"to":["fs"],"kind":"mcp/request"`, `"kind":"mcp/proposal"`, 1): true,
	} {
		c := aChecker()
		c.w.o.Protocol = "mcpx/v0.1"
		c.unread(&frame{raw: []byte(raw), said: broken(said{id: "r", from: "agent-a"})})
		cl := c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true})
		if excused := cl.excused != ""; excused != spent {
			t.Errorf("after %s it is excused that no answer comes: %q", raw, cl.excused)
		}
	}
}

// The bridge drops a proposal that comes again for one that it knows still, though it need not: so it
// knows of no proposal, and none is said to be taken back when somebody requests it (seed 4706).
func TestWhatIsDroppedAsKnownWasNotTaken(t *testing.T) {
	for _, dropped := range []bool{true, false} {
		c := aChecker()
		offer := said{id: "p", from: "agent-a", to: []string{us}, kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true}
		c.proposed(&offer)
		c.order[0].answers++
		c.w.now += 16 * time.Minute
		c.proposed(&offer)
		if dropped {
			c.emitted(record.Record{Event: record.Dropped, Reason: "duplicate_envelope", From: "agent-a", Env: "p"})
		} else {
			c.emitted(record.Record{Event: record.Proposed, From: "agent-a", Env: "p"})
			c.emitted(record.Record{Event: record.Dropped, Reason: "duplicate_envelope", From: "agent-a", Env: "p"}) // it came once more
		}
		c.withdrawn(&said{from: "agent-a", corr: []string{"p"}})
		c.startsFor(&claim{said: said{id: "r", kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}}, order: len(c.order)})
		if blamed := len(c.violations) > 0; blamed == dropped {
			t.Errorf("dropped as known: %t, and what happened was %v", dropped, c.violations)
		}
	}
}

// A call comes again in other words, is dropped, and then comes as it first was, when that is forgotten:
// what people are shown is what came (seed 40075228). While the server starts, what came in other words
// may be what waits, and the copy of it what is dropped (seed 493).
func TestACallDroppedAsKnownDoesNotStandForTheNext(t *testing.T) {
	for method, answered := range map[string]bool{"tools/call": false, "initialize": true} {
		c := aChecker()
		c.w.server.alive, c.listedLife = true, c.w.server.life
		first := said{id: "r", from: "mallory", to: []string{us}, kind: wire.Request, method: method, tool: "pay", perfect: true}
		c.enter(&first).answers++
		c.w.now += 16 * time.Minute
		c.enter(&first)
		c.emitted(record.Record{Event: record.Dropped, Reason: "duplicate_envelope", From: "mallory", Env: "r"})
		c.w.now += 7 * time.Minute
		if again := c.enter(&first) != nil; again == answered {
			t.Errorf("of the copy of a %s nothing is on record, and the last is a new one: %t", method, again)
		}
	}
	for _, starting := range []bool{false, true} {
		c := aChecker()
		c.w.server.alive, c.listedLife = true, c.w.server.life
		if starting {
			c.listedLife--
		}
		first := said{id: "r", from: "mallory", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}
		other := first
		other.beside = `{"task":{"ttl":9}}`
		c.enter(&first).answers++
		c.w.now += 16 * time.Minute
		c.enter(&other)
		c.emitted(record.Record{Event: record.Dropped, Reason: "duplicate_id_different_body", From: "mallory", Env: "r"})
		c.w.now += 7 * time.Minute
		if again := c.enter(&first) != nil; again == starting {
			t.Errorf("while the server starts (%t) the call that comes last is a new one: %t", starting, again)
		}
	}
}

// A call was asked about after a listing that came too late to be heeded: the next one, which says the
// same, is the first that counts, so the tool may have changed by it (seed 40065748).
func TestAToolMayChangeByAListingThatSaysNothingNew(t *testing.T) {
	for surely, refused := range map[string]bool{"1": false, "2": true} {
		c := aChecker()
		c.versions, c.listedSure, c.listedLate = map[string]string{"pay": "2"}, map[string]string{"pay": surely}, true
		cl := c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true})
		c.wasAsked(cl, record.Record{Event: record.Asked, Question: "q"})
		c.listedLate = false
		c.lastWord(cl, -31011)
		if blamed := len(c.violations) > 0; blamed != refused {
			t.Errorf("asked when version %s was heeded, refused for a change to 2: %v", surely, c.violations)
		}
	}
}

// That something can go wrong in a world is no reason for a refusal: it must have happened, and
// since the call was heard.
func TestWhatOnlyCouldHaveHappenedExcusesNoRefusal(t *testing.T) {
	asks := way{verdict: ask, of: []string{"alice", "bob"}, need: 1, within: time.Minute}
	leaves := func(who string) func(*checker, *claim) {
		return func(c *checker, _ *claim) { c.absent(who, true, false) }
	}
	for code, causes := range map[int][]func(*checker, *claim){
		-31003: {leaves("bob"), func(c *checker, cl *claim) { c.w.now += time.Minute }, func(c *checker, cl *claim) { cl.erred = true },
			func(c *checker, _ *claim) { c.w.link.fullAt = c.w.now }, func(c *checker, _ *claim) { c.unseated() }, func(c *checker, _ *claim) { c.reloaded(c.books[0]) }},
		-31005: {func(c *checker, _ *claim) { c.notTaken([]byte("{}")) }},
		-31002: {func(c *checker, _ *claim) { c.w.now += 10 * time.Second }},
		-31004: {func(c *checker, cl *claim) {
			cl.allowed = true
			c.reloaded(&rulebook{pin: "off", ways: map[string]way{"pay": {verdict: ask, of: []string{"carol"}, need: 1, within: time.Minute}}})
		}},
		-31012: {func(c *checker, _ *claim) { c.withdrawn(&said{from: "agent-b", corr: []string{"p"}}) }},
	} {
		for i := range len(causes) + 1 {
			c := aChecker()
			for f := range faults {
				c.w.o.Faults[f] = true
			}
			c.w.o.Trusted, c.w.now = true, time.Hour
			c.books = []*rulebook{{pin: "off", ways: map[string]way{"pay": asks}}}
			of := &claim{said: said{id: "p", from: "agent-b", kind: wire.Proposal, method: "tools/call", tool: "pay", ttl: 10 * time.Second, perfect: true}, proc: 1, book: c.books[0],
				heardAt: c.w.now, excused: "somebody else saw to it"}
			cl := &claim{said: said{id: "r", from: "agent-a", kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}, perfect: true}, proc: 1, book: c.books[0],
				heardAt: c.w.now, question: "q", askedAt: c.w.now, allowed: code == -31004}
			c.claims[cl.key()], c.claims[of.key()], c.order = cl, of, []*claim{of, cl}
			if i > 0 {
				causes[i-1](c, cl)
			}
			if excused := refusals[code](c, cl); excused != (i > 0) {
				t.Errorf("%d, cause %d: excused is %t", code, i, excused)
			}
		}
	}
}

// Who leaves and is back in a moment is owed an answer; who is counted as gone is not.
func TestWhoLeftForAMomentIsOwedAnAnswer(t *testing.T) {
	c := aChecker()
	cl := c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "ping", perfect: true})
	for _, event := range []string{"leave", "join"} {
		c.heard(&frame{said: said{from: wire.Gateway, kind: wire.Presence, method: event, tool: "agent-a"}})
	}
	c.seated(nil)
	if cl.excused != "" {
		t.Errorf("it is excused that no answer comes: %s", cl.excused)
	}
	if c.emitted(record.Record{Event: record.Peer, State: "left", ID: "agent-a"}); cl.excused == "" {
		t.Error("who is gone is owed an answer")
	}
}

// What people had agreed to before, for longer, is no word of theirs between two refusals (seed 2306).
func TestAYesThatLastedEndsNoStreak(t *testing.T) {
	c := aChecker()
	cl := &claim{said: said{id: "r", from: "agent-a", method: "tools/call", tool: "note"}, question: "q"}
	for _, r := range []record.Record{{Outcome: "denied"}, {Outcome: "denied"}, {Outcome: "allowed", Grant: "g"}, {Outcome: "denied"}} {
		c.counts(cl, r)
	}
	if n := c.inARow(cl); n != 3 {
		t.Errorf("people refused it %d times in a row", n)
	}
	if c.counts(cl, record.Record{Outcome: "allowed", Grant: "g", Keep: "session"}); c.inARow(cl) != 0 {
		t.Error("they said yes")
	}
}

// What asks us for nothing need not be known again, and makes nobody's share full.
func TestWhatAsksForNothingFillsNoShare(t *testing.T) {
	for kind, fills := range map[wire.Kind]bool{wire.Request: true, wire.Proposal: true, wire.Response: false, wire.Notification: false, wire.Withdraw: false} {
		c := aChecker()
		c.w.o.Share = 4
		for i := range 6 {
			c.fills(&said{id: string(rune('a' + i)), from: "agent-a", to: []string{us}, kind: kind})
		}
		if full := c.mayBeFull(&claim{said: said{from: "agent-a"}}); full != fills {
			t.Errorf("after six frames of kind %v that the share may be full is %t", kind, full)
		}
	}
}

// Who said too much half an hour ago has said nothing lately, unless it runs still.
func TestWhatIsForgottenByNowFillsNoShare(t *testing.T) {
	for after, full := range map[time.Duration]bool{16 * time.Minute: true, 22 * time.Minute: false} {
		for _, waits := range []bool{false, true} {
			c := aChecker()
			c.w.o.Share = 4
			for i := range 5 {
				s := said{id: string(rune('a' + i)), from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}
				c.fills(&s)
				cl := c.enter(&s)
				cl.name = s.id
				if !waits {
					cl.answers++
				}
			}
			c.w.now += after
			if is := c.mayBeFull(&claim{said: said{from: "agent-a"}}); is != (full || waits) {
				t.Errorf("%v after five calls, which wait: %t, that the share may be full is %t", after, waits, is)
			}
		}
	}
}

// A call that was refused for a full share came twice, and is owed an answer each time:
// one that is dropped stands for one (seed 416924).
func TestADroppedAnswerStandsForOneOfThoseRefusedForAFullShare(t *testing.T) {
	c := aChecker()
	c.w.o.Share = 1
	for i := range 2 {
		c.fills(&said{id: string(rune('a' + i)), from: "agent-a", to: []string{us}, kind: wire.Request})
	}
	s := said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}
	for range 2 {
		c.enter(&s)
		c.emitted(record.Record{Event: record.Ended, From: "agent-a", Env: "r", Executed: "no", Code: busy})
	}
	c.absences["agent-a"] = &absence{longTill: time.Hour}
	for dropped := range 3 {
		owed := 0
		for _, cl := range c.order {
			if cl.excused == "" {
				owed++
			}
		}
		if owed != 2-dropped {
			t.Errorf("%d answers were dropped, and %d are owed", dropped, owed)
		}
		c.emitted(record.Record{Event: record.Dropped, Reason: "caller_gone", From: "agent-a", Env: "r"})
	}
	if len(c.violations) > 0 {
		t.Error(c.violations)
	}
}

// A call that comes again may be known for longer than it must, and not for ever.
func TestWhatIsForgottenByNowIsOwedAnAnswer(t *testing.T) {
	for after, owed := range map[time.Duration]bool{16 * time.Minute: false, 22 * time.Minute: true} {
		c := aChecker()
		s := said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}
		c.enter(&s).answers++
		c.w.now += after
		if cl := c.enter(&s); cl == nil || (cl.excused == "") != owed {
			t.Errorf("after %v: %+v", after, cl)
		}
	}
}

// A request that names a proposal of another tool has nothing to do with it (M9).
func TestOnlyARequestForTheSameStartsForAProposal(t *testing.T) {
	for tool, blamed := range map[string]bool{"pay": true, "read": false} {
		c := aChecker()
		of := c.enter(&said{id: "p", from: "agent-a", to: []string{us}, kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true})
		of.serves = of
		c.startsFor(c.enter(&said{id: "r", from: "mallory", to: []string{us}, kind: wire.Request, method: "tools/call", tool: tool, corr: []string{"p"}}))
		if (len(c.violations) > 0) != blamed {
			t.Errorf("a request of %s for a proposal of pay that runs: %v", tool, c.violations)
		}
	}
}

// Somebody asked us to be quiet while our claim was out. A pause that was over before is
// no reason to be busy, nor is one for a request of somebody else.
func TestAPauseExcusesOnlyTheClaimThatWasOut(t *testing.T) {
	for quietTill, excused := range map[time.Duration]bool{0: false, 9 * time.Second: false, time.Minute: true} {
		c := aChecker()
		c.quietTill = quietTill
		cl := &claim{said: said{id: "p", from: "agent-a", kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true}, proc: 1, book: c.books[0], heardAt: 8 * time.Second, shown: true, shownAt: 10 * time.Second}
		c.order = []*claim{cl}
		c.w.o.MaxCalls = 2
		if is := refusals[busy](c, cl); is != excused {
			t.Errorf("quiet till %v excuses the claim: %t", quietTill, is)
		}
		if cl.kind = wire.Request; refusals[busy](c, cl) {
			t.Errorf("quiet till %v excuses a request", quietTill)
		}
	}
}

// A proposal came again after its time. If that is on record it is a new one, which is
// wanted; else the bridge may know the first.
func TestAProposalThatCameAgainMayBeKnownStill(t *testing.T) {
	for _, noted := range []bool{false, true} {
		c := aChecker()
		s := said{id: "p", from: "agent-a", to: []string{us}, kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true, ttl: time.Minute}
		c.enter(&s).answers++
		c.w.now += 30 * time.Minute
		c.enter(&s).noted = noted
		cl := c.enter(&said{id: "r", from: "mallory", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}, perfect: true})
		if late := refusals[-31002](c, cl); late == noted {
			t.Errorf("that it came again is on record: %t, and its time is over: %t", noted, late)
		}
	}
}

// A call came again when it may have been known, nothing was said of that, and it comes once
// more: it is judged by the policy of then. What was answered is not.
func TestWhatWasPassedOverIsJudgedWhenItIsTaken(t *testing.T) {
	for _, answered := range []bool{false, true} {
		c := aChecker()
		s := said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}
		c.enter(&s).answers++
		c.w.now += 16 * time.Minute
		cl := c.enter(&s)
		if answered {
			cl.answers++
		}
		c.w.now += 4 * time.Minute
		if c.enter(&s); cl.again == answered {
			t.Errorf("it was answered: %t, and may be taken anew: %t", answered, cl.again)
		}
	}
}

// Nobody waits for a call any more. If its end is on record, the server need not hear of it.
func TestWhatIsOverOnRecordIsNotMoot(t *testing.T) {
	for _, ended := range []bool{false, true} {
		c := aChecker()
		cl := c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true})
		cl.started, cl.ended, cl.line = true, ended, &line{claim: cl, life: c.w.server.life}
		if c.moot(cl); cl.line.moot == ended {
			t.Errorf("it is over on record: %t, and the server must hear that nobody waits: %t", ended, cl.line.moot)
		}
	}
}

// Whoever reads another resource each time is refused the same.
func TestReadsOfDifferentResourcesAreOneStreak(t *testing.T) {
	c := aChecker()
	read := func(uri string) *claim {
		return &claim{said: said{id: uri, from: "agent-a", kind: wire.Request, method: reads, tool: uri, perfect: true}, proc: 1, book: c.books[0], question: "q"}
	}
	for _, uri := range []string{"note://1", "note://2", "note://3"} {
		c.counts(read(uri), record.Record{Outcome: "denied"})
	}
	if n := c.inARow(read("note://4")); n != 3 {
		t.Errorf("people refused it %d times in a row", n)
	}
}

// Somebody else made a proposal under the same id that can be read in two ways, and its time
// may be over, also where it has been refused (seed 98094336); what can be read in two ways under another id is no reason.
func TestAProposalThatCanBeReadInTwoWaysMayBeOver(t *testing.T) {
	for id, late := range map[string]bool{"p": true, "q": false} {
		c := aChecker()
		c.twofold = append(c.twofold, said{id: id, from: "mallory", kind: wire.Proposal})
		cl := c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}, perfect: true})
		if is := refusals[-31002](c, cl); is != late {
			t.Errorf("a proposal %s can be read in two ways, and that the time of p is over: %t", id, is)
		}
	}
}

// A bridge that has given up waits for no list, and knows no tool that is new in one.
func TestWhoGaveUpWaitsForNoList(t *testing.T) {
	for _, gaveUp := range []bool{false, true} {
		c := aChecker()
		c.proc.gaveUp = gaveUp
		c.lines["9"] = &line{Method: "tools/list", at: c.w.now}
		c.answered([]byte(`{"id":9,"result":{"tools":[{"name":"read","description":"1"}]}}`))
		cl := c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "read", perfect: true})
		if wrong := refusals[-32602](c, cl); wrong != gaveUp {
			t.Errorf("it gave up: %t, and may not know a tool that was listed then: %t", gaveUp, wrong)
		}
	}
}

// What an agent asks for in the name of a proposal that nobody made is its own: the server may be told to
// stop when its caller is gone. If there is such a proposal, others wait for it too (seed 40090998).
func TestOfWhatMayServeAProposalTheServerMayBeTold(t *testing.T) {
	for _, gone := range []bool{false, true} {
		c := aChecker()
		cl := c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}, perfect: true})
		cl.started, cl.line = true, &line{claim: cl, life: c.w.server.life}
		c.lines = map[string]*line{"1": cl.line}
		if gone {
			c.callerGone("agent-a")
		}
		c.quits([]byte(`{"method":"notifications/cancelled","params":{"requestId":1}}`), false)
		if blamed := len(c.violations) > 0; blamed == gone || cl.line.moot {
			t.Errorf("its caller is gone: %t, and what happened was %v", gone, c.violations)
		}
	}
}

// The time of a proposal begins with the first frame of its id that the bridge may have read (seed 40109452).
func TestWhatCanBeReadInTwoWaysBeginsTheTimeOfItsID(t *testing.T) {
	for unreads, blamed := range map[int]bool{0: true, 1: false} {
		c := aChecker()
		cl := c.enter(&said{id: "p", from: "agent-b", kind: wire.Proposal, method: "tools/call", tool: "pay", ttl: time.Second, perfect: true})
		c.unreads[cl.key()] = unreads
		c.mayEnd(cl, record.Expired)
		if len(c.violations) > 0 != blamed {
			t.Errorf("%d frames of its id could be read in two ways, and what happened was %v", unreads, c.violations)
		}
	}
}

// A call that was refused for a full share, whose refusal was dropped, comes again and is refused again:
// that is the answer to the second (seed 40114543).
func TestAnAnswerIsToNoneWhoseAnswerWasDropped(t *testing.T) {
	c := aChecker()
	c.w.o.Share = 1
	for i := range 2 {
		c.fills(&said{id: string(rune('a' + i)), from: "agent-a", to: []string{us}, kind: wire.Request})
	}
	s := said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true}
	refuse := func() *claim {
		cl := c.enter(&s)
		c.emitted(record.Record{Event: record.Ended, From: "agent-a", Env: "r", Executed: "no", Code: busy})
		return cl
	}
	c.absences["agent-a"] = &absence{longTill: time.Hour}
	first := refuse()
	c.emitted(record.Record{Event: record.Dropped, Reason: "caller_gone", From: "agent-a", Env: "r"})
	second := refuse()
	var l letter
	if err := json.Unmarshal([]byte(`{"payload":{"error":{"code":-31005,"data":{"reason":"busy","executed":"no"}}}}`), &l); err != nil {
		t.Fatal(err)
	}
	if of := c.answeredOf(second, &l); of != second {
		t.Errorf("the answer is to the first, whose answer was dropped (%t), not to the second", first.dropped)
	}
}

// A proposal comes again while the first, that somebody serves, is open: what comes back to people, and
// ends at once, is the first (seed 5961).
func TestACopyOfAnOpenProposalBeginsNoTime(t *testing.T) {
	for _, anew := range []bool{false, true} {
		c := aChecker()
		s := said{id: "p", from: "agent-b", kind: wire.Proposal, method: "tools/call", tool: "pay", ttl: time.Minute, perfect: true}
		c.enter(&s).over = true
		c.w.now += 30 * time.Minute
		cl := c.enter(&s)
		if anew {
			c.knownStill(cl, record.Record{Event: record.Proposed})
		}
		c.knownStill(cl, record.Record{Event: record.Reopened})
		c.mayEnd(cl, record.Expired)
		if blamed := len(c.violations) > 0; blamed != anew {
			t.Errorf("the second is on record: %t, and what happened was %v", anew, c.violations)
		}
	}
}

// The first listing came too late to be heeded, and the next has another version: that is the first that the
// bridge knows, and no change (seed 13761).
func TestAToolHasNotChangedSinceAListingThatCameTooLate(t *testing.T) {
	for _, heeded := range []bool{false, true} {
		c := aChecker()
		c.first, c.versions = map[string]string{"pay": "1"}, map[string]string{"pay": "2"}
		if heeded {
			c.firstSure["pay"] = "1"
		}
		if changed := c.surelyChanged("pay"); changed != heeded {
			t.Errorf("the first listing was heeded: %t, and the bridge must know of a change: %t", heeded, changed)
		}
	}
}

// The attacker proposes again what it saw, in its own name: the time that it gives with that is over after
// that time, and not before (seed 50009877).
func TestWhatTheAttackerProposesHasItsTime(t *testing.T) {
	c := aChecker()
	raw := []byte(`{"protocol":"mcpx/v0.1","id":"p","from":"mallory","kind":"mcp/proposal:tools/call:note","payload":{"method":"tools/call","params":{"name":"note","arguments":{}},"ttl":28035}}`)
	s, ok := readSaid("mcpx/v0.1", raw)
	if !ok {
		t.Fatal("it cannot be read")
	}
	c.heard(&frame{raw: raw, said: s})
	request := &claim{said: said{id: "r", from: "mallory", kind: wire.Request, corr: []string{"p"}, perfect: true}, proc: 1, book: c.books[0]}
	for _, after := range []time.Duration{28034 * time.Millisecond, time.Millisecond} {
		c.w.now += after
		if over := refusals[-31002](c, request); over != (c.w.now >= 28035*time.Millisecond) {
			t.Errorf("after %v a request for it may come too late: %t", c.w.now, over)
		}
	}
}

// Whoever had a question twice, and answers one with an error, is asked no more: what they say to the other is no
// no, but for one that was put later (seed 50012751).
func TestAnErrorAnswersAllThatWasPutBefore(t *testing.T) {
	for _, later := range []bool{false, true} {
		c := aChecker()
		c.books = []*rulebook{{ways: map[string]way{"pay": {verdict: ask, of: []string{"bob"}, need: 1}}}}
		cl := &claim{said: said{id: "r", from: "agent-a", method: "tools/call", tool: "pay"}, proc: 1, book: c.books[0], question: "q"}
		put := func(id string) {
			a := &asked{id: id, to: "bob", rpc: text(id), claim: cl, question: "q", at: c.w.now}
			c.asks[id], c.askOrder, c.newest["qbob"] = a, append(c.askOrder, a), id
			c.w.now += time.Second
		}
		answer := func(to, text string) {
			c.vote(&said{from: "bob", to: []string{us}, kind: wire.Response, method: "elicitation/create", corr: []string{to}, result: []byte(text)})
			c.w.now += time.Second
		}
		put("first")
		put("copy")
		answer("first", `"error":{"code":-32601,"message":"no such method"}`)
		to := "copy"
		if later {
			to = "later"
			put(to)
		}
		answer(to, no)
		if cl.refused != later {
			t.Errorf("it was put after the error: %t, and is refused: %t", later, cl.refused)
		}
	}
}

// A proposal that somebody serves comes again, long after it was heard first: what comes back is the first, of
// which something was on record, unless the copy was taken too (seed 50026644).
func TestWhatComesBackIsWhatWasTaken(t *testing.T) {
	for _, anew := range []bool{false, true} {
		c := aChecker()
		s := said{id: "p", from: "agent-b", kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true}
		first := c.enter(&s)
		first.over, first.rivalled = true, true
		c.w.now += 30 * time.Minute
		c.enter(&s)
		if anew {
			c.emitted(record.Record{Event: record.Taken, From: "agent-b", Env: "p"})
		}
		c.emitted(record.Record{Event: record.Reopened, From: "agent-b", Env: "p"})
		if blamed := len(c.violations) > 0; blamed != anew {
			t.Errorf("the second is on record: %t, and what happened was %v", anew, c.violations)
		}
	}
}

// Whoever made a proposal is owed no answer of us once a request for it ran that came before it, as where both
// waited for the server; if nothing ran they are, as if the request was for another, or for none (seed 93190639).
func TestWhatRanForARequestThatCameFirstSettlesItsProposal(t *testing.T) {
	for _, ended := range []struct {
		executed, proposal, tool string
		owed                     bool
	}{{"yes", "p", "pay", false}, {"unknown", "p", "pay", false}, {"no", "p", "pay", true}, {"unknown", "", "pay", true}, {"unknown", "p", "read", true}} {
		c := aChecker()
		r := c.enter(&said{id: "r", from: "agent-a", kind: wire.Request, method: "tools/call", tool: ended.tool, corr: []string{"p"}, perfect: true})
		p := c.enter(&said{id: "p", from: "agent-b", kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true})
		r.started = true
		c.ofOffer(r, record.Record{Event: record.Ended, From: r.from, Env: r.id, Proposal: ended.proposal, Executed: ended.executed})
		if owed := p.excused == ""; owed != ended.owed {
			t.Errorf("%+v: an answer is owed: %t", ended, owed)
		}
	}
}

// A proposal that the bridge has shown it serves is refused as withdrawn only where its proposer took it back.
func TestWhatTheBridgeServesIsRefusedAsWithdrawnIfItWas(t *testing.T) {
	for _, back := range []bool{false, true} {
		c := aChecker()
		c.w.now = time.Minute
		cl := c.enter(&said{id: "p", from: "agent-b", kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true})
		cl.shown = true
		if back {
			c.withdrawn(&said{from: "agent-b", kind: wire.Withdraw, corr: []string{"p"}})
		}
		if may := refusals[-31012](c, cl); may != back {
			t.Errorf("it was taken back: %t, and may be refused for that: %t", back, may)
		}
	}
}

// Nobody can say who would serve what can be read in two ways: a request for it comes second if another
// request names it, and not if it is the first (seed 50036585).
func TestWhatCanBeReadInTwoWaysMayBeTaken(t *testing.T) {
	for _, taken := range []bool{false, true} {
		c := aChecker()
		c.twofold = append(c.twofold, said{id: "p", from: "mallory", kind: wire.Proposal})
		if taken {
			c.heard(&frame{said: said{id: "r1", from: "mallory", kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}}})
		}
		s := said{id: "r2", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}, perfect: true}
		c.heard(&frame{said: s})
		if may := refusals[-31014](c, c.claims[s.key()]); may != taken {
			t.Errorf("it was requested before: %t, and this may come second: %t", taken, may)
		}
	}
}

// In mew somebody who may serve a proposal can answer it, and does so with what was meant for a question; with
// an error nothing is done (seed 50040014).
func TestAProposalThatIsAnsweredIsServed(t *testing.T) {
	for result, served := range map[string]bool{no: true, `"error":{"code":-32601,"message":"no such method"}`: false} {
		c := aChecker()
		c.w.o.Protocol = "mew/v0.4"
		c.heard(&frame{said: said{id: "p", from: "agent-b", kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true}})
		c.heard(&frame{said: said{id: "a", from: "alice", to: []string{us}, kind: wire.Response, method: "elicitation/create", corr: []string{"p"}, result: []byte(result)}})
		s := said{id: "r", from: "agent-b", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}, perfect: true}
		c.heard(&frame{said: s})
		if may := refusals[-31014](c, c.claims[s.key()]); may != served {
			t.Errorf("it was answered with %s, and may be served already: %t", result, may)
		}
	}
}

// An id that only looks like somebody's has no seat: it is away from its first frame on.
func TestWhoNeverCameIsAwayAllTheTime(t *testing.T) {
	for _, from := range []string{"mallory", "malloRy"} {
		c := aChecker()
		cl := c.enter(&said{id: "r", from: from, to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", perfect: true})
		c.w.now += 59 * time.Second
		c.givenUp(cl, "caller_gone")
		if len(c.violations) != 1 {
			t.Errorf("%s is not away for a minute, and %v", from, c.violations)
		}
		c.w.now += time.Second
		c.givenUp(cl, "caller_gone")
		if here := from == "mallory"; (len(c.violations) == 2) != here {
			t.Errorf("%s is here: %t, and %v", from, here, c.violations)
		}
	}
}

// Who comes while the bridge leaves of its own accord is told that it stops; one that only has no
// server yet does not (seed 70033675).
func TestWhoLeavesUntoldStopsToo(t *testing.T) {
	for _, leaving := range []bool{false, true} {
		c := aChecker()
		c.proc.leaving = leaving
		cl := c.enter(&said{id: "r", from: "agent-b", to: []string{us}, kind: wire.Request, method: reads, tool: "note://r", perfect: true})
		c.lastWord(cl, stoppingNow)
		if blamed := len(c.violations) > 0; blamed == leaving {
			t.Errorf("it leaves: %t, and is blamed for saying that it stops: %t", leaving, blamed)
		}
	}
}

// Somebody proposes in a frame that can be read in two ways, which all see, and another requests just that of us:
// the answer is for both. It is for nobody else, nor for whoever proposed another tool or in another life
// (seed 70059000).
func TestAnAnswerIsForWhoProposedInTwoWaysToo(t *testing.T) {
	proposal := func(from, id, tool string) *frame {
		return &frame{raw: []byte(`{"protocol":"mcpx/v0.1","id":"` + id + `","from":"` + from + `","kind":"mcp/proposal:tools/call:` + tool + `","payload":{"method":"tools/call","params":{"Name":"read","name":"` + tool + `","arguments":{}}}}`)}
	}
	for name, f := range map[string]*frame{"": nil, "mallory": proposal("mallory", "p", "pay"), "bob": proposal("bob", "p", "pay"), "other": proposal("mallory", "q", "pay"), "tool": proposal("mallory", "p", "wipe")} {
		for _, anew := range []bool{false, true} {
			c := aChecker()
			c.w.o.Protocol = "mcpx/v0.1"
			if f != nil {
				c.unread(f)
			}
			if anew {
				c.begun(&life{number: 2}, c.books[0])
			}
			c.enter(&said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}, perfect: true})
			to := c.isAnswered(&letter{envelope: envelope[letterBody]{To: []string{"agent-a", "mallory"}, Corr: []string{"r"}}})
			if may := to != nil; may != (name == "mallory" && !anew) {
				t.Errorf("%q proposed it, and the bridge began anew: %t; the answer may go to mallory too: %t", name, anew, may)
			}
		}
	}
}

// To a server of 2026-07-28 a listing that somebody asks for without parameters is written in the very words of our
// own. It is theirs where its start is on record and it has had no line, and no end; the tools are read by ours alone
// (seed 70040607).
func TestAListingInOurWordsIsOfWhoStartedOne(t *testing.T) {
	for name, become := range map[string]func(*checker, *claim){
		"started": func(*checker, *claim) {},
		"refused": func(_ *checker, cl *claim) { cl.told = "no" },
		"ended":   func(_ *checker, cl *claim) { cl.executed = "no" },
		"dead":    func(c *checker, _ *claim) { c.w.server.life++ },
		"untaken": func(c *checker, _ *claim) {
			c.notTaken([]byte(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{` + ours2026 + `}}}`))
		},
	} {
		c := aChecker()
		c.w.server.alive = true
		cl := c.enter(&said{id: "r", from: "mallory", to: []string{us}, kind: wire.Request, rpc: []byte("7"), method: "tools/list"})
		cl.allowed, cl.decidedSize = true, 1
		c.emitted(record.Record{Event: record.Started, Call: "s1-1", From: "mallory", Env: "r"})
		c.recorded([][]byte{[]byte(`{"event":"started","call":"s1-1"}`)})
		become(c, cl)
		for i, id := range []string{"4", "5"} {
			l := c.line([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{"_meta":{` + ours2026 + `}}}`))
			theirs := name == "started" && i == 0
			read := c.looking.read
			c.answered([]byte(`{"id":` + id + `,"result":{"tools":[{"name":"read","description":"` + id + `"}]}}`))
			if (l.claim == cl) != theirs || (c.looking.last == l.order) == theirs || (c.looking.read > read) == theirs || (c.versions["read"] == id) == theirs {
				t.Errorf("%s: the listing %s is of %v, and the tools are read: %+v, %v", name, id, l.claim, c.looking, c.versions)
			}
		}
		if len(c.violations) > 0 {
			t.Errorf("%s: %v", name, c.violations)
		}
	}
}

// How long a list holds counts from when the server gave it, which may be long after it was asked; an answer that
// came too late gives none (seed 70105808).
func TestAListHoldsFromWhenItWasGiven(t *testing.T) {
	for took, holds := range map[time.Duration]bool{time.Second: false, 11 * time.Second: true, callTime: false} {
		c := aChecker()
		c.w.o.Modern, c.w.now = true, time.Second
		l := &line{Method: "tools/list", Params: []byte("{}"), at: c.w.now}
		c.lines["9"] = l
		c.looks(l)
		c.w.now += took
		c.answered([]byte(`{"id":9,"result":{"tools":[{"name":"note","description":"1"}]}}`))
		c.w.now = 72500 * time.Millisecond
		c.startsAsRead(&claim{said: said{id: "r", method: "tools/call", tool: "note"}})
		if blamed := len(c.violations) > 0; blamed == holds {
			t.Errorf("the server took %v, and a minute later it is %v", took, c.violations)
		}
		c.w.now += 11 * time.Second
		c.startsAsRead(&claim{said: said{id: "r", method: "tools/call", tool: "note"}})
		if len(c.violations) == 0 {
			t.Errorf("the server took %v, and its list holds for ever", took)
		}
	}
}

// An initialize that was withdrawn while the server started came again when it was forgotten: the answer is to
// that one (seed 80005518).
func TestWhatWasWithdrawnHasNoAnswer(t *testing.T) {
	for _, executed := range []string{"", "no"} {
		c := aChecker()
		s := said{id: "r", from: "agent-a", to: []string{us}, kind: wire.Request, method: "initialize", perfect: true}
		old := c.enter(&s)
		old.executed = executed
		c.w.now += 16 * time.Minute
		cl := c.enter(&s)
		if to := c.answeredOf(cl, &letter{}); (to == old) != (executed == "") {
			t.Errorf("the older is on record as %q, and the answer is to it: %t", executed, to == old)
		}
	}
}

// A frame that can be read in two ways took an id, and another request came under it before the first was
// answered. Which came first decides whether there is such an answer (seed 80009504).
func TestWhatCameBeforeUnderAnIDIsAnswered(t *testing.T) {
	for _, before := range []bool{false, true} {
		c := aChecker()
		s := said{id: "r", from: "mallory", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "note"}
		if before {
			c.unreads[s.key()]++
		}
		c.enter(&s)
		if !before {
			c.unreads[s.key()]++
		}
		l := &letter{envelope: envelope[letterBody]{To: []string{"mallory"}, Corr: []string{"r"}}}
		if err := json.Unmarshal([]byte(`{"error":{"code":-32602,"data":{"executed":"no"}}}`), &l.Payload); err != nil {
			t.Fatal(err)
		}
		if got := c.ambiguous(l); got != before {
			t.Errorf("it came before: %t, and may be answered: %t", before, got)
		}
	}
}

// A proposal was served, its answer waited through a sleep, and it came again when it was forgotten: a reject is of
// that one if it is on record as refused, once, and else of what was served (seed 91089093).
func TestAServedProposalThatCameAgainIsNotWhatIsRejected(t *testing.T) {
	for _, refused := range []bool{true, false} {
		c := aChecker()
		s := said{id: "p", from: "agent-a", to: []string{us}, kind: wire.Proposal, method: planMethod, tool: "note"}
		old := c.enter(&s)
		old.allowed, old.started, old.ended, old.executed, old.outcome = true, true, true, "yes", "ok"
		c.w.now += 30 * time.Minute
		cl := c.enter(&s)
		if refused {
			cl.executed = "no"
		}
		reject := &letter{envelope: envelope[letterBody]{To: []string{"agent-a"}, Corr: []string{"p"}}}
		c.rejects(reject)
		if blamed := len(c.violations) > 0; blamed == refused {
			t.Errorf("the newer is on record as refused: %t, and it is %v", refused, c.violations)
		}
		if c.rejects(reject); len(c.violations) == 0 {
			t.Error("what was served is rejected, and nobody is blamed")
		}
	}
}

// So does it of a proposal: the reject of what can be read in two ways waited through a pause, and under its id came
// another that was for nobody, and was dropped. It is rejected as invalid, once, and nothing else (seed 93040307).
func TestWhatWasProposedBeforeUnderAnIDIsRejected(t *testing.T) {
	for _, before := range []bool{false, true} {
		for _, reason := range []string{"invalid", "policy"} {
			c := aChecker()
			s := said{id: "p", from: "mallory", kind: wire.Proposal, method: "tools/call", tool: "wipe"}
			if before {
				c.unreads[s.key()]++
			}
			c.heard(&frame{said: s})
			if !before {
				c.unreads[s.key()]++
			}
			reject := &letter{envelope: envelope[letterBody]{To: []string{"mallory"}, Corr: []string{"p"}}, raw: []byte(`{"payload":{"reason":"` + reason + `"}}`)}
			c.rejects(reject)
			if may := len(c.violations) == 0; may != (before && reason == "invalid") {
				t.Errorf("it came before: %t, and may be rejected as %s: %t", before, reason, may)
			}
			if c.rejects(reject); len(c.violations) == 0 {
				t.Errorf("it came before: %t, is rejected as %s twice, and nobody is blamed", before, reason)
			}
		}
	}
}

// Who requested a proposal took that back when the server had it, so that nobody knows whether it ran. Another request
// may start when the record says that nothing came of the first, and that is so: the server has said it, or never had
// it. Then that never may.
func TestWhatCameToNothingUnheardMakesRoomForAnother(t *testing.T) {
	const failed, done = `{"id":4,"error":{"code":-32000,"message":"no"}}`, `{"id":4,"result":{"content":[]}}`
	for name, tc := range map[string]struct {
		become func(c *checker, l *line)
		lines  bool // the first was written
		room   bool
	}{
		"the server says so":              {func(c *checker, l *line) { c.ran(l); c.answered([]byte(failed)) }, true, true},
		"the server has done it":          {func(c *checker, l *line) { c.ran(l); c.answered([]byte(done)); c.answered([]byte(failed)) }, true, false},
		"the server works on it":          {func(c *checker, l *line) { c.ran(l) }, true, false},
		"the server has read it and died": {func(c *checker, l *line) { c.ran(l); c.w.server.alive = false }, true, false},
		"the server has yet to read it":   {func(*checker, *line) {}, true, false},
		"the server died before":          {func(c *checker, _ *line) { c.w.server.life++ }, true, true},
		"its line was not taken":          {func(*checker, *line) {}, false, true},
	} {
		for _, event := range []record.Event{record.Unfulfilled, record.Reopened, record.Fulfilled} {
			c := aChecker()
			c.w.server.alive = true
			c.enter(&said{id: "p", from: "agent-b", to: []string{us}, kind: wire.Proposal, method: "tools/call", tool: "pay", perfect: true})
			request := func(id string) *claim {
				return c.enter(&said{id: id, from: "agent-a", to: []string{us}, kind: wire.Request, method: "tools/call", tool: "pay", corr: []string{"p"}, perfect: true})
			}
			first, l := request("r1"), &line{ID: []byte("4"), life: c.w.server.life}
			c.startsFor(first)
			first.started, first.executed = true, "unknown"
			if tc.lines {
				first.line, l.claim, c.lines["4"] = l, first, l
			}
			tc.become(c, l)
			c.emitted(record.Record{Event: event, From: "agent-b", Env: "p"})
			c.startsFor(request("r2"))
			if room := len(c.violations) == 0; room != (tc.room && event != record.Fulfilled) {
				t.Errorf("%s, and %s is on record: another may start: %t, %v", name, event, room, c.violations)
			}
			if tc.room && l.runs == 0 && event != record.Fulfilled {
				l.claim = first
				if c.ran(l); len(c.violations) == 0 {
					t.Errorf("%s, and %s is on record: it runs afterwards, and nobody is blamed", name, event)
				}
			}
		}
	}
}
