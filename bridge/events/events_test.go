package events

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plainlog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

func logTo(w io.Writer) *slog.Logger { return slog.New(plainlog.New(w, slog.LevelInfo)) }

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
			`asking local and bob: may ann call rm? call=c1 rule=risky`},
		{record.Record{Event: record.Asked, Call: "c1", From: "ann", Tool: "rm", Of: []string{"local"}, Unasked: true}, ""},
		{record.Record{Event: record.Ended, From: "ann", Tool: "rm", Outcome: "error", Executed: "no", Reason: "policy_denied", Rule: "--deny rm"},
			`refused ann: rm (policy_denied) rule="--deny rm"`},
		{record.Record{Event: record.Ended, Call: "7", From: "ann", Tool: "rm", Outcome: "error", Executed: "unknown", Reason: "outcome_unknown", Detail: "it died"},
			`answered ann: rm error call=7 detail="it died"`},
		{record.Record{Event: record.Ended, From: "ann", Method: "tools/list", Outcome: "ok", Executed: "yes"}, ""},
		{record.Record{Event: record.Ended, From: "ann", Method: "tools/list", Outcome: "error", Executed: "no", Reason: "policy_denied"},
			"refused ann: tools/list (policy_denied)"},
		{record.Record{Event: record.Checkpoint}, ""},
		{record.Record{Event: record.Withdrawn, Call: "7", From: "ann", Tool: "echo"}, "ann took echo back call=7"},
		{record.Record{Event: record.Withdrawn, Call: "8", From: "ann", Method: "initialize"}, ""},
		{record.Record{Event: record.ServerExit, Exit: 1}, ""},
		{record.Record{Event: record.Disconnected, Detail: "it broke"}, `warning: the link to the gateway is down detail="it broke"`},
		{record.Record{Event: record.Disconnected, Detail: topic.ErrLeft.Error()}, ""},
		{record.Record{Event: record.Dropped, From: "eve", Reason: "id_charset"}, "warning: dropped a frame (id_charset) from=eve"},
		{record.Record{Event: record.Warning, Reason: "cannot_respond", RetryMS: 1500}, "warning: cannot respond retry_after=1.5s"},
		{record.Record{Event: "something_new"}, "something new"},
	} {
		var b strings.Builder
		Log(logTo(&b), false).Emit(&c.r)
		got := strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), "mcpx-bridge: ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.r.JSON(), got, c.want)
		}
	}
}

// The records of a busy bridge that nobody looks at cost next to nothing.
func TestUnseenEventsAreNotWorded(t *testing.T) {
	e := Log(logTo(nil), false) // writing would panic
	r := &record.Record{Event: record.Started, Call: "7", From: "ann", Method: "tools/call", Tool: "echo"}
	if n := testing.AllocsPerRun(100, func() { e.Emit(r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// What happens before ready is held for it, and is as fit for a terminal as what comes later
// (FINDINGS L8).
func TestWhatIsHeldForReadyIsFitForATerminal(t *testing.T) {
	var b strings.Builder
	e := JSON(&b, logTo(nil))
	e.Emit(&record.Record{Event: record.ServerNoise, Detail: "a\u009b31m\u202eb"})
	e.Begin([]byte(`{"event":"ready"}` + "\n"))
	e.Emit(&record.Record{Event: record.ServerNoise, Detail: "d\u009b"})
	e.Close()
	for _, want := range []string{`a\u009b31m\u202eb`, `d\u009b`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s in %q", want, b.String())
		}
	}
}

// What happens before ready is held, but a server that talks while the gateway
// is away does not fill our memory. What was too much is counted.
func TestWhatIsHeldForReadyIsBounded(t *testing.T) {
	var text strings.Builder
	e := JSON(&text, logTo(nil))
	for range 100 {
		e.Emit(&record.Record{Event: record.ServerLog, Detail: strings.Repeat("x", 100<<10)})
	}
	if len(e.held) > heldMost {
		t.Errorf("%d bytes are held", len(e.held))
	}
	e.Begin([]byte(`{"event":"ready"}` + "\n"))
	e.Close()
	got := text.String()
	if !strings.HasPrefix(got, `{"event":"ready"}`) || strings.Count(got, "server_log") < 5 || !strings.Contains(got, `{"event":"events_lost","count":`) {
		t.Errorf("it says %d bytes, beginning %.300q", len(got), got)
	}
}

// Many names fill it no more, nor what a participant changes of its tools; what is summed
// up comes after ready, and says how it stands.
func TestManyNamesAndNotesFillNoLogOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, json := range []bool{false, true} {
			var said strings.Builder
			e := Log(logTo(&said), false)
			if json {
				e = JSON(&said, logTo(&said))
			}
			for i := range 20_000 {
				id := fmt.Sprintf("p%d", i)
				e.Emit(&record.Record{Event: record.Peer, ID: id, State: "joined"})
				e.Note("rover", "rover has changed")
			}
			time.Sleep(quota.SumEvery + time.Second)
			e.Begin([]byte(`{"event":"ready"}`+"\n"), "it is ready")
			e.Close()
			lines := strings.Count(said.String(), "\n")
			if lines > quota.Log.AllBurst+2*quota.Log.Burst {
				t.Errorf("%d lines", lines)
			}
			if n := strings.Count(said.String(), "rover has changed"); n != quota.Log.Burst {
				t.Errorf("%d notes", n)
			}
			if json && !strings.HasPrefix(strings.ReplaceAll(said.String(), "mcpx-bridge: rover has changed\n", ""), `{"event":"ready"}`) {
				t.Errorf("ready is not the first: %.200s", said.String())
			}
		}
	})
}

// Who looks in for a moment is no news to people at a terminal; who stays is, and who goes
// then. An id that looks made up hides nobody for longer, unless the log has what they asked.
func TestAtATerminalNobodyIsToldOfWhoLooksIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		e := Log(logTo(&said), true)
		tell := func(id, state string, after time.Duration) {
			time.Sleep(after)
			e.Emit(&record.Record{Event: record.Peer, ID: id, State: state})
		}
		tell("zoe", "joined", 0)
		tell("zoe", "left", staying-1)
		tell("cli-2", "joined", 0)
		tell("ann", "joined", 0)
		tell("cli-2", "left", stayingMadeUp-1)
		tell("cli-2", "joined", 0)
		tell("ben", "left", 2)
		tell("cli-2", "left", stayingMadeUp/2)
		tell("cli-4", "joined", 0)
		e.Emit(&record.Record{Event: record.Ended, From: "cli-4", Method: "tools/list", Outcome: "ok", Executed: "yes"})
		tell("cli-4", "left", 6*time.Second)
		tell("cli-3", "joined", 0)
		tell("ann", "left", time.Hour)
		tell("cli-3", "left", 0)
		tell("last", "joined", 0)
		e.Close()
		time.Sleep(time.Hour)
		if got, want := said.String(), "mcpx-bridge: ann joined\nmcpx-bridge: cli-2 was here for 30s\nmcpx-bridge: ben left\nmcpx-bridge: cli-2 was here for 15s\nmcpx-bridge: cli-3 joined\nmcpx-bridge: ann left\nmcpx-bridge: cli-3 left\n"; got != want {
			t.Errorf("it says\n%s", got)
		}
	})
}
