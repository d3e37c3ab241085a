package view_test

import (
	"slices"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/view"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/table"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// withRole is somebody with a token for a role.
func withRole(t *testing.T, id, role string) wire.Participant {
	raw, err := token.Capabilities(id, role, nil)
	if err != nil {
		t.Fatal(err)
	}
	caps, err := wire.ParseCaps(raw)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Participant{ID: id, Caps: caps}
}

func TestWhoIsHereAndWhatTheyMayDo(t *testing.T) {
	var all []wire.Participant
	for _, role := range token.Roles() {
		all = append(all, withRole(t, "an-"+role, role))
	}
	all[0].Name, all[0].Role = "Ada\x1b[2J", "human"
	none, err := wire.ParseCaps([]byte("[]"))
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, wire.Participant{ID: "mute", Caps: none}, wire.Participant{ID: "stranger", Role: "robot"})
	said := map[string]client.Introduction{"an-bridge": {Server: &client.ServerInfo{Name: "notes", Version: "1.0.0"}}}
	const want = `PARTICIPANT  NAME                 SERVER       MAY
an-admin     Ada\u{1b}[2J, human               call, propose, serve, decide, chat
an-agent                                       look tools up, propose, serve, decide, chat
an-approver                                    serve, decide, chat
an-bridge                         notes 1.0.0  serve, ask people, decide, chat
an-full                                        call, propose, serve, decide, chat
an-observer                                    chat
mute                                           listen
stranger     robot                             anything, as far as the gateway says
`
	rows := view.Participants(all, said)
	if got := string(table.Draw(rows, 3, 0)); got != want {
		t.Errorf("who is\n%s", got)
	}
	if got := view.WithoutMay(rows); len(got[0]) != 4 {
		t.Errorf("some may do less: %q", got)
	}
	if got := view.WithoutMay(view.Participants([]wire.Participant{withRole(t, "ann", "full"), withRole(t, "ben", "admin")}, said)); !slices.Equal(got[0], []string{"PARTICIPANT", "SERVER"}) {
		t.Errorf("all may do the same: %q", got)
	}
}
