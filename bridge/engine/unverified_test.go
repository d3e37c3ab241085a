package engine

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Where the gateway does not make sure who speaks, no record may read as if it had
// (FINDINGS C8): neither of a call that runs, nor of one that is refused.
func TestARecordSaysWhenNobodyVerifiedWhoSpoke(t *testing.T) {
	for _, protocol := range []string{"mcp-x/v0", "mcpx/v0.1", "meup/v0.2", "mew/v0.3", "mew/v0.4"} {
		s := newStage(t, protocol)
		s.says("bob", "e1", wire.Request, "tools/call", "read_file", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`)
		s.says("bob", "e2", wire.Request, "tools/call", "delete_file", "", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete_file","arguments":{}}}`)
		said := 0
		for i := range s.notes {
			r := string(s.notes[i].JSON())
			if !strings.Contains(r, `"from":"bob"`) {
				continue
			}
			said++
			if unsure := strings.Contains(r, `"from":"bob","from_verified":false`); unsure == s.dialect.Verified() {
				t.Errorf("%s: %s", protocol, r)
			}
		}
		if said < 3 {
			t.Errorf("%s: only %d records are about bob", protocol, said)
		}
	}
}

// This machine's own gateway makes sure who speaks, whatever it speaks: the log said one
// thing and the record another.
func TestARecordAtOurOwnGatewaySaysNothingOfTheSort(t *testing.T) {
	d, _ := wire.Lookup("mew/v0.4")
	s := stageWith(t, d, Config{Policy: rules(t, allowsSome), Verified: true})
	s.seat()
	s.startServer()
	s.says("bob", "e1", wire.Request, "tools/call", "delete_file", "", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete_file","arguments":{}}}`)
	said := false
	for i := range s.notes {
		r := string(s.notes[i].JSON())
		said = said || strings.Contains(r, `"from":"bob"`)
		if strings.Contains(r, "from_verified") {
			t.Error(r)
		}
	}
	if !said {
		t.Error("no record is about bob")
	}
}
