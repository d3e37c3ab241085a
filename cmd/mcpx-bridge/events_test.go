package main

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/asyncwriter"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

func TestEventsInWords(t *testing.T) {
	for _, c := range []struct {
		r    record.Record
		want string // "" at the level info
	}{
		{record.Record{Event: record.Peer, ID: "ann", State: "joined"}, "ann joined"},
		{record.Record{Event: record.Started, From: "ann", Method: "tools/call", Tool: "echo"}, ""},
		{record.Record{Event: record.Ended, Call: "7", From: "ann", Method: "tools/call", Tool: "echo", Outcome: "ok", Executed: "yes"},
			"answered ann: echo ok call=7"},
		{record.Record{Event: record.Asked, Call: "c1", From: "ann", Tool: "rm", Rule: "risky", Of: []string{"local", "bob"}},
			`asking local, bob: may ann call rm? call=c1 rule=risky`},
		{record.Record{Event: record.Ended, From: "ann", Tool: "rm", Outcome: "error", Executed: "no", Reason: "policy_denied", Rule: "--deny rm"},
			`refused ann: rm (policy_denied) rule="--deny rm"`},
		{record.Record{Event: record.Ended, Call: "7", From: "ann", Tool: "rm", Outcome: "error", Executed: "unknown", Reason: "outcome_unknown", Detail: "it died"},
			`answered ann: rm error call=7 detail="it died"`},
		{record.Record{Event: record.Withdrawn, Call: "7", From: "ann", Tool: "echo"}, "ann withdrew echo call=7"},
		{record.Record{Event: record.ServerExit, Exit: 1}, ""},
		{record.Record{Event: record.Disconnected, Detail: "it broke"}, `warning: the link to the gateway is down detail="it broke"`},
		{record.Record{Event: record.Disconnected, Detail: topic.ErrLeft.Error()}, ""},
		{record.Record{Event: record.Dropped, From: "eve", Reason: "id_charset"}, "warning: dropped a frame (id_charset) from=eve"},
		{record.Record{Event: record.Warning, Reason: "cannot_respond", RetryMS: 1500}, "warning: cannot respond retry_after=1.5s"},
		{record.Record{Event: "something_new"}, "something new"},
	} {
		var b strings.Builder
		log, err := newLog(&b, "info", "text")
		if err != nil {
			t.Fatal(err)
		}
		(&events{log: log}).emit(&c.r)
		got := strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), "mcpx-bridge: ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.r.JSON(), got, c.want)
		}
	}
}

// The records of a busy bridge that nobody looks at cost next to nothing.
func TestUnseenEventsAreNotWorded(t *testing.T) {
	log, err := newLog(nil, "info", "text") // writing would panic
	if err != nil {
		t.Fatal(err)
	}
	e := &events{log: log}
	r := &record.Record{Event: record.Started, Call: "7", From: "ann", Method: "tools/call", Tool: "echo"}
	if n := testing.AllocsPerRun(100, func() { e.emit(r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// What happens before ready is held for it, and is as fit for a terminal as what comes later
// (FINDINGS L8).
func TestWhatIsHeldForReadyIsFitForATerminal(t *testing.T) {
	var b strings.Builder
	e := &events{out: asyncwriter.New(&b, eventsLost)}
	e.emit(&record.Record{Event: record.ServerNoise, Detail: "a\u009b31m\u202eb"})
	e.begin(map[string]string{"event": "ready", "id": "c\u009b"})
	e.emit(&record.Record{Event: record.ServerNoise, Detail: "d\u009b"})
	e.close()
	for _, want := range []string{`a\u009b31m\u202eb`, `c\u009b`, `d\u009b`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s in %q", want, b.String())
		}
	}
}
