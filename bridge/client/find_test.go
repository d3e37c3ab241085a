package client_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func TestWhoIsNotThereIsNamedByWhoWasMeant(t *testing.T) {
	r := newRoom(t)
	r.join("files", client.Options{})
	bob := r.join("bob", client.Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for id, hint := range map[string]string{"files": "", "flies": "did you mean files?", "database": "mcpx-bridge who lists who is here"} {
		ctx := t.Context()
		if id == "database" { // nobody is waited for then
			ctx = ended
		}
		err := bob.Await(ctx, id)
		f, is := errors.AsType[*fault.Error](err)
		if hint == "" && err != nil || hint != "" && (!is || f.Exit != fault.NoAnswer || !slices.Equal(f.Hint, []string{hint})) {
			t.Errorf("%s: %+v", id, err)
		}
	}
}

// lister is a server that has one tool, pay, or says that it has no list.
func (r *room) lister(id string, has bool) {
	r.serve(id, func(s *server, e *wire.Envelope) {
		rpc := e.Message.Get(jsonrpc.ID)
		switch {
		case e.Method != "tools/list":
			says("")(s, e)
		case has:
			s.Reply(e, jsonrpc.AppendResult(nil, rpc, []byte(`{"tools":[{"name":"pay","inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}}}}]}`)))
		default:
			s.Reply(e, jsonrpc.AppendError(nil, rpc, -32601, "no", nil))
		}
	})
}

func TestArgumentsAreTypedAsTheSchemaSays(t *testing.T) {
	r := newRoom(t)
	r.lister("bank", true)
	r.lister("mute", false)
	bob := r.join("bob", client.Options{})
	for _, c := range []struct{ to, tool, given, want string }{
		{"bank", "pay", "n=5 s=5", `{"n":5,"s":"5"}`},
		{"bank", "pya", `{"n":1}`, `{"n":1}`}, // which says itself what it is
		{"bank", "pya", "n=5", `bank has no tool "pya"`},
		{"mute", "pay", "n=5", "mute"},
	} {
		given, err := arguments.Read(strings.Fields(c.given), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := bob.Typed(t.Context(), c.to, c.tool, given)
		if said := string(got); said != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %s with %s: %s, %v", c.tool, c.to, c.given, got, err)
		}
	}
}

// Whoever lists nothing may have any tool.
func TestAToolThatIsNotListedIsLacked(t *testing.T) {
	r := newRoom(t)
	r.lister("bank", true)
	r.lister("mute", false)
	bob := r.join("bob", client.Options{})
	for what, lacks := range map[string]bool{"bank pay": false, "bank pya": true, "mute pya": false} {
		to, tool, _ := strings.Cut(what, " ")
		if err := bob.Lacks(t.Context(), to, tool); (err != nil) != lacks {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Hints were split at line breaks, so that the name of a tool wrote one of its own.
func TestTheNameOfAToolWritesNoHint(t *testing.T) {
	_, err := client.Named("fs", "get_pull_request_comments", []client.Tool{{Name: "get_pull_request_comments\nrm -r ~"}})
	if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Hint) != 1 || !strings.Contains(f.Hint[0], "\nrm -r ~") {
		t.Errorf("%+v", err)
	}
}
