package wire

import "errors"

var (
	ErrNotPermitted  = errors.New("the capabilities permit no spelling of this frame")
	ErrInexpressible = errors.New("the dialect has no word for this frame")
)

// A Dialect is one spelling of the protocol: a comparable value. The zero
// Dialect speaks nothing.
type Dialect struct {
	Protocol string // as it stands in every frame
	*grammar
}
type grammar struct{ x int }

// Caps are the kinds a participant may send. The zero Caps state nothing and so permit everything.
type Caps struct{ raw []byte }

var Dialects = []Dialect{{Protocol: "mcp-x/v0"}, {Protocol: "mcpx/v0.1"}, {Protocol: "meup/v0.2"}, {Protocol: "mew/v0.3"}, {Protocol: "mew/v0.4"}}

func Lookup(protocol string) (Dialect, bool)            { return Dialect{}, false }
func Detect(frame []byte) (d Dialect, ok bool)          { return Dialect{}, false }
func (d Dialect) Decode(frame []byte) (Envelope, error) { return Envelope{}, &Refused{} }
func (d Dialect) Append(dst []byte, e *Envelope, caps Caps) ([]byte, error) {
	return dst, ErrInexpressible
}

func ParseCaps(raw []byte) (Caps, error)               { return Caps{}, nil }
func (c Caps) Stated() bool                            { return false }
func (c Caps) Allows(kind string, payload []byte) bool { return false }

// Permits reports whether a participant with these capabilities may send e, whatever dialect it speaks: what a gateway asks.
func (c Caps) Permits(e *Envelope) bool  { return false }
func (c Caps) Predicts(kind string) bool { return false }
func (c Caps) Raw() []byte               { return c.raw }

func (e *Envelope) Welcome() (Welcome, error)                          { return Welcome{}, nil }
func (e *Envelope) Presence() (event string, p Participant, err error) { return "", Participant{}, nil }
func (e *Envelope) Fault() (Fault, error)                              { return Fault{}, nil }
func (e *Envelope) ChatText() string                                   { return "" }

// Complete returns e as dialect b needs it: see its doc.
func (e *Envelope) Complete(b Dialect, rpcID []byte) Envelope { return *e }

func AppendJoin(dst []byte, id, space, token string) []byte { return dst }
func ReadJoin(frame []byte) (Join, error)                   { return Join{}, nil }

// ValidID reports whether id may be a participant's: [A-Za-z0-9_.-]{1,64}, not system….
func ValidID(id string) bool { return false }

func (d Dialect) AppendWelcome(dst []byte, id, ts, topic string, w Welcome, history [][]byte) []byte {
	return dst
}
func (d Dialect) AppendPresence(dst []byte, id, ts, event string, p Participant) []byte { return dst }
func (d Dialect) AppendFault(dst []byte, id, ts, to string, f Fault) []byte             { return dst }
