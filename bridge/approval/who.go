package approval

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Door is the way by which a person is reached and answers.
type Door uint8

const (
	Topic Door = iota // as a participant of the topic, through its gateway
	Local             // at this machine: terminal, page, scripts
	Host              // behind the desktop client that makes the call
)

// Who is somebody who can be asked. Participants may call themselves "local"
// or "host"; that makes them nobody but participants.
type Who struct {
	Door Door
	ID   string // of a participant; "" behind the other doors
}

// Participant is the participant of the topic with that id.
func Participant(id string) Who { return Who{Topic, id} }

// named is who a policy means by a name: "local", "host", else a participant.
func named(name string) Who {
	switch name {
	case "local":
		return Who{Door: Local}
	case "host":
		return Who{Door: Host}
	}
	return Participant(name)
}

// String is the name a policy gives them. A participant who has the name of a door, whom no
// policy can mean, is "participant local" or "participant host": no id has a space.
func (w Who) String() string {
	switch {
	case w.Door == Local:
		return "local"
	case w.Door == Host:
		return "host"
	case named(w.ID) != w:
		return namesake + w.ID
	}
	return w.ID
}

const namesake = "participant "

// MarshalText writes what String says.
func (w Who) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads what String says.
func (w *Who) UnmarshalText(name []byte) error {
	*w = named(string(name))
	if id, is := strings.CutPrefix(string(name), namesake); is {
		*w = Participant(id)
	}
	return nil
}

// A Hop is one passing on of a question (seed 003, pattern 3).
type Hop struct {
	By, To Who
	At     string // RFC 3339, UTC
}

func appendHops(dst []byte, hops []Hop) []byte {
	dst = append(dst, '[')
	for i, h := range hops {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendQuote(append(dst, `{"by":`...), h.By.String())
		dst = jsonrpc.AppendQuote(append(dst, `,"to":`...), h.To.String())
		dst = jsonrpc.AppendQuote(append(dst, `,"ts":`...), h.At)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
