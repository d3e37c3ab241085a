package jsonrpc

// A Field names a member of a message that is read, or can be rewritten.
type Field uint8

const (
	Version       Field = iota // jsonrpc
	ID                         // id
	Method                     // method
	Params                     // params
	Result                     // result
	Err                        // error
	Name                       // params.name
	URI                        // params.uri
	Ref                        // params.ref
	Arguments                  // params.arguments
	Meta                       // params._meta
	ProgressToken              // params._meta.progressToken
	Token                      // params.progressToken (of a progress notification)
	Progress                   // params.progress
	RequestID                  // params.requestId (of a cancellation)
	Fields                     // how many there are
)

// A Message is one JSON-RPC message, or the payload of an envelope that is
// meant to be one. It refers to the text it was scanned from and copies
// nothing; whoever owns that text must not change it while the Message lives.
type Message struct {
	Raw []byte // the whole message

	at [Fields]Span // relative to Raw
}

// Get returns the raw text of a field, nil if it is absent.
func (m *Message) Get(f Field) []byte {
	s := m.at[f]
	if s.End == 0 {
		return nil
	}
	return m.Raw[s.Start:s.End:s.End]
}

// Has reports whether a field is present, be it null.
func (m *Message) Has(f Field) bool { return m.at[f].End != 0 }
