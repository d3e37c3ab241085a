package view

import (
	"encoding/json"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Participants are rows, the head first, of who is there and what they may do. said is what
// they say of themselves, by id. NAME and PROVIDES are left out where nobody has any.
func Participants(all []wire.Participant, said map[string]client.Introduction) [][]string {
	rows := [][]string{{"PARTICIPANT", "NAME", "SERVER", "PROVIDES", "MAY"}}
	for _, p := range all {
		i := said[p.ID]
		server := i.Starting
		if i.Server != nil {
			server = text.Cut(strings.TrimSpace(i.Server.Name+" "+i.Server.Version), 80)
		}
		rows = append(rows, []string{p.ID, joined(p.Name, p.Role), server, joined(i.Provides...), joined(powers(p.Caps)...)})
	}
	return without(without(rows, 3), 1)
}

// A Participant is what is known of somebody, for programs.
type Participant struct {
	ID           string             `json:"id"`
	Name         string             `json:"name,omitempty"`
	Role         string             `json:"role,omitempty"`
	Server       *client.ServerInfo `json:"server,omitempty"`
	Starting     bool               `json:"starting,omitempty"`
	Provides     []string           `json:"provides,omitempty"`
	Capabilities json.RawMessage    `json:"capabilities,omitempty"`
}

// ParticipantOf is somebody with what they say of themselves.
func ParticipantOf(p wire.Participant, said client.Introduction) Participant {
	return Participant{p.ID, p.Name, p.Role, said.Server, said.Starting != "", said.Provides, p.Caps.Raw()}
}

// joined is a list of what is not empty.
func joined(all ...string) string {
	var said []string
	for _, one := range all {
		if one != "" {
			said = append(said, one)
		}
	}
	return strings.Join(said, ", ")
}

// without leaves out a column that has nothing but its head.
func without(rows [][]string, column int) [][]string {
	for _, row := range rows[1:] {
		if row[column] != "" {
			return rows
		}
	}
	return cut(rows, column)
}

func cut(rows [][]string, column int) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = append(append(out[i], row[:column]...), row[column+1:]...)
	}
	return out
}

// everything is what those may do who may do all that participants do among themselves.
const everything = "call, propose, serve, decide, chat"

// WithoutMay are rows of [Participants] without MAY if all may do everything, and else as they are.
func WithoutMay(rows [][]string) [][]string {
	last := len(rows[0]) - 1
	for _, row := range rows[1:] {
		if row[last] != everything {
			return rows
		}
	}
	return cut(rows, last)
}

// powers say what somebody may do here, as far as the gateway is asked: each bridge has rules of
// its own beside.
func powers(c wire.Caps) []string {
	if !c.Stated() {
		return []string{"anything, as far as the gateway says"}
	}
	may := func(kind wire.Kind, method string) bool {
		return c.Permits(&wire.Envelope{Kind: kind, Method: method, To: []string{"anybody"}})
	}
	var words []string
	say := func(may bool, word string) {
		if may {
			words = append(words, word)
		}
	}
	calls := may(wire.Request, "tools/call")
	say(calls, "call")
	say(!calls && may(wire.Request, "tools/list"), "look tools up")
	say(may(wire.Proposal, "tools/call"), "propose")
	say(may(wire.Response, "tools/call"), "serve")
	say(!calls && may(wire.Request, "elicitation/create"), "ask people")
	say(may(wire.Response, "elicitation/create"), "decide")
	say(may(wire.Chat, ""), "chat")
	if words == nil {
		return []string{"listen"}
	}
	return words
}
