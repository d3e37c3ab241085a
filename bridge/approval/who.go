package approval

import "github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"

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

// String is the name a policy gives them.
func (w Who) String() string {
	switch w.Door {
	case Local:
		return "local"
	case Host:
		return "host"
	}
	return w.ID
}

// MarshalText writes the name a policy gives them.
func (w Who) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads such a name as a policy does: a participant who goes by "local"
// or "host" is not told from the doors of these names, so nothing is decided by it.
func (w *Who) UnmarshalText(name []byte) error {
	*w = named(string(name))
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
