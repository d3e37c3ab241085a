package engine

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const asksSome = "version: 1\ndefault: deny\nasks: {default: {of: [local], within: 1m}}\nrules:\n - {allow: ['read_*']}\n - {ask: ['write_*']}\n"

// gatedStage has a server whose client's calls are judged.
func gatedStage(t *testing.T) *stage {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, asksSome), IDPrefix: "mcpx1n", Hosted: true, HostIDPrefix: "mcpx-SEAL-", Local: true})
	s.seat()
	s.startServer()
	s.frames, s.lines, s.notes = nil, nil, nil
	return s
}

func (s *stage) hostCalls(id, tool string) {
	s.t.Helper()
	line := []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"path":"/a"}}}`)
	m, err := jsonrpc.Parse(line, jsonrpc.Judged)
	if err != nil {
		s.t.Fatal(err)
	}
	s.do(HostCalled{line, m})
}

// What a client takes for the answer to its call, or a server for its id, need
// not be written as the client wrote it.
func TestTheClientsIDsAreKnownHoweverTheyAreWritten(t *testing.T) {
	for _, ids := range [][2]string{{`1`, `1.0`}, {`1.0`, `1`}, {`1`, `"1"`}, {`"a/b"`, `"a\/b"`}} {
		s := gatedStage(t)
		s.hostCalls(ids[0], "write_file")
		other := []byte(ids[1])
		if !s.engine.OwnsHostCall(other) || !s.engine.HoldsHostCall(other) {
			t.Errorf("the server could answer %s as %s before it has it", ids[0], other)
		}
		s.do(HostCancelled{[]byte(`{}`), other})
		if !s.noted(record.Withdrawn, "cancelled") || len(s.engine.Pending(0, 0)) != 0 {
			t.Errorf("%s was not taken back as %s", ids[0], other)
		}
		s.hostCalls(ids[0], "read_file")
		s.do(HostAnswered{other, "ok"})
		if s.asked() != 1 || s.engine.OwnsHostCall([]byte(ids[0])) {
			t.Errorf("%s is waited for though %s was answered", ids[0], other)
		}
	}
}

func TestAnEarlyCallOfTheClientsIsTakenBack(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, asksSome), IDPrefix: "mcpx1n", Hosted: true, HostIDPrefix: "mcpx-SEAL-"})
	s.hostCalls(`1`, "read_file")
	s.do(HostCancelled{[]byte(`{}`), []byte(`1.0`)})
	s.startServer()
	if !s.noted(record.Withdrawn, "cancelled") || s.asked() != 0 {
		t.Errorf("it was not: %q", s.lines)
	}
}

func TestAnEarlyCallOfAClientThatLeavesIsOnRecord(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, asksSome), IDPrefix: "mcpx1n", Hosted: true, HostIDPrefix: "mcpx-SEAL-"})
	s.hostCalls(`1`, "read_file")
	s.do(HostLeft{})
	s.startServer()
	if !s.noted(record.Withdrawn, "caller_left") || s.asked() != 0 {
		t.Errorf("it is not, or ran: %q", s.lines)
	}
}

// A participant may have the id of the client when that is not judged, so a yes for the
// client's calls is never kept.
func TestAYesForTheClientIsNotRemembered(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	text := "version: 1\ndefault: deny\nasks: {default: {of: [local], within: 1m, remember: [once, session]}}\nrules:\n - {ask: ['write_*']}\n"
	s := stageWith(t, d, Config{Policy: rules(t, text), IDPrefix: "mcpx1n", Hosted: true, HostIDPrefix: "mcpx-SEAL-", Local: true})
	s.seat()
	s.startServer()
	offered := func() []string {
		ids := s.engine.desk.Resolve("")
		if len(ids) != 1 {
			t.Fatalf("%d questions are open", len(ids))
		}
		v, _ := s.engine.View(s.now, ids[0], true)
		return v.Remember
	}
	s.hostCalls(`1`, "write_file")
	if got := offered(); len(got) != 0 {
		t.Errorf("offered for the client: %q", got)
	}
	s.do(HostCancelled{[]byte(`{}`), []byte(`1`)})
	s.call("bob", "e1", "1", "write_file", `{"path":"/a"}`)
	if got := offered(); len(got) != 2 {
		t.Errorf("offered for a participant: %q", got)
	}
}

// A client may call before the gateway has told the bridge its name there.
func TestARefusalNamesTheBridgeAsFarAsItIsNamed(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, "version: 1\ndefault: deny\n"), IDPrefix: "mcpx1n", Hosted: true, HostIDPrefix: "mcpx-SEAL-", Local: true})
	s.startServer()
	s.hostCalls("1", "delete_file")
	s.seat()
	s.hostCalls("2", "delete_file")
	for i, whom := range []string{"the bridge", "fs"} {
		if want := `"text":"` + whom + ` refused delete_file, it did not run: `; i >= len(s.toldHost) || !strings.Contains(s.toldHost[i], want) {
			t.Errorf("%s is missing in %q", want, s.toldHost)
		}
	}
}
