package jsonrpc

import "bytes"

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
	IsError                    // result.isError (of a tools/call)
	Fields                     // how many there are
)

// The objects that a message's fields stand in.
var (
	inMessage = []Field{Version, ID, Method, Params, Result, Err}
	inParams  = []Field{Name, URI, Ref, Arguments, Meta, Token, Progress, RequestID}
	inMeta    = []Field{ProgressToken}
	inResult  = []Field{IsError}
)

var keys = [Fields]string{
	Version: "jsonrpc", ID: "id", Method: "method", Params: "params", Result: "result", Err: "error",
	Name: "name", URI: "uri", Ref: "ref", Arguments: "arguments", Meta: "_meta",
	ProgressToken: "progressToken", Token: "progressToken", Progress: "progress", RequestID: "requestId",
	IsError: "isError",
}

// inside returns the fields that stand in the value of f, nil if none do.
func inside(f Field) []Field {
	switch f {
	case Params:
		return inParams
	case Meta:
		return inMeta
	case Result:
		return inResult
	}
	return nil
}

// MessageShape names the fields of a Message. Its slots are the numbers of the
// fields, so a Scan with it needs Fields slots. It must not be changed.
var MessageShape = shapeOf(inMessage)

func shapeOf(fields []Field) Shape {
	if fields == nil {
		return nil
	}
	shape := make(Shape, len(fields))
	for i, f := range fields {
		shape[i] = Member{Name: keys[f], Slot: int(f), Inside: shapeOf(inside(f))}
	}
	return shape
}

// A Message is one JSON-RPC message, or the payload of an envelope that is
// meant to be one. It refers to the text it was scanned from and copies
// nothing; whoever owns that text must not change it while the Message lives.
type Message struct {
	Raw []byte // the whole message

	at [Fields]Span // relative to Raw
}

// Parse scans one message and checks it as [Message.Check] does. The error is
// an [*Error], its offset relative to data. Raw is data without the white
// space around the object. A null error beside a result is not found in it; see
// [Message.DropNullError].
func Parse(data []byte, r Rules) (m Message, err error) {
	if err = Scan(data, r, MessageShape, m.at[:]); err != nil {
		return Message{}, err
	}
	m.Raw = data
	if err = m.Check(); err != nil {
		return Message{}, err
	}
	m.DropNullError()
	if isSpace(data[0]) || isSpace(data[len(data)-1]) {
		m.trim()
	}
	return m, nil
}

// trim narrows Raw to the object itself.
func (m *Message) trim() {
	start, end := 0, len(m.Raw)
	for isSpace(m.Raw[start]) {
		start++
	}
	for isSpace(m.Raw[end-1]) {
		end--
	}
	m.Raw = m.Raw[start:end:end]
	m.shift(start)
}

// At makes a Message of an object that was read as part of a larger text, by a
// Scan whose Shape embeds MessageShape. raw is the object, base its offset in
// that text and slots (Fields of them, in the order of the fields) what the
// Scan stored. Nothing has been checked but the JSON; see [Message.Check] and
// [Message.DropNullError].
func At(raw []byte, slots []Span, base int) Message {
	m := Message{Raw: raw}
	copy(m.at[:], slots[:Fields])
	m.shift(base)
	return m
}

// shift takes base from the offsets of the fields that are present.
func (m *Message) shift(base int) {
	for f := range m.at {
		if s := &m.at[f]; s.End != 0 {
			s.Key, s.Start, s.End = s.Key-base, s.Start-base, s.End-base
		}
	}
}

// Get returns the raw text of a field, nil if it is absent.
func (m *Message) Get(f Field) []byte {
	s := m.at[f]
	if s.End == 0 {
		return nil
	}
	return m.Raw[s.Start:s.End:s.End]
}

// Has reports whether a field is present, even if it is null.
func (m *Message) Has(f Field) bool { return m.at[f].End != 0 }

// Text returns the decoded value of a field that is a string, "" if it is
// anything else or absent.
func (m *Message) Text(f Field) string {
	text, _ := Unquote(m.Get(f))
	return text
}

// Check refuses with an [*Error] a method that is not a string and an id that
// is neither string nor number. A null id passes: some use it where the id of
// what they answer could not be read, so callers decide.
func (m *Message) Check() error {
	if m.Has(Method) && m.first(Method) != '"' {
		return &Error{Reason: BadMethod, Offset: m.at[Method].Start}
	}
	switch m.first(ID) {
	case 't', 'f', '{', '[':
		return &Error{Reason: BadID, Offset: m.at[ID].Start}
	}
	return nil
}

// first returns the first byte of a field's value, which tells its type; 0 if
// it is absent.
func (m *Message) first(f Field) byte {
	if s := m.at[f]; s.End != 0 {
		return m.Raw[s.Start]
	}
	return 0
}

// DropNullError has a null error beside a result count as absent, as some servers
// write it: whoever looks for an error finds none then. Raw keeps it, so an [Edit]
// of it would be a second one.
func (m *Message) DropNullError() {
	if m.first(Err) == 'n' && m.Has(Result) {
		m.at[Err] = Span{}
	}
}

// A Class is what a message is by the members it has.
type Class uint8

const (
	Malformed    Class = iota // none of the others
	Request                   // method and id
	Notification              // method and no id
	Response                  // result or error, no method; the id may be null or missing
)

// ParseMended is [Parse] for a text in which bytes that are no UTF-8 are read as U+FFFD.
// Whether there were any is what mended says.
func ParseMended(data []byte, r Rules) (m Message, mended bool, err error) {
	if m, err = Parse(data, r); err != nil && Is(err, InvalidUTF8) {
		m, err = Parse(bytes.ToValidUTF8(data, []byte("\uFFFD")), r)
		mended = err == nil
	}
	return m, mended, err
}

var subscriptionShape = Shape{{Name: "io.modelcontextprotocol/subscriptionId", Slot: 0}}

// Subscription is the raw id of the request that a notification of 2026-07-28
// belongs to, nil if it says none.
func (m *Message) Subscription() []byte {
	var at [1]Span
	meta := m.Get(Meta)
	if len(meta) == 0 || Scan(meta, Passed, subscriptionShape, at[:]) != nil || at[0].End == 0 {
		return nil
	}
	return meta[at[0].Start:at[0].End]
}

// Class sorts a message. A null id on a method, a method together with a result
// or error, and a result together with an error are Malformed, and so is what
// Check refuses. A null error beside a result, as some older servers write it,
// counts as absent, and so does a null result beside an error. Dialects with
// rules of their own (WIRE W-6) apply them first.
func (m *Message) Class() Class {
	result, fault := m.Has(Result), m.Has(Err) && m.first(Err) != 'n'
	if fault && m.first(Result) == 'n' {
		result = false
	}
	if m.Check() != nil || result && fault {
		return Malformed
	}
	switch answer := result || fault; {
	case !m.Has(Method) && answer:
		return Response
	case !m.Has(Method) || answer || m.first(ID) == 'n':
		return Malformed
	case m.Has(ID):
		return Request
	}
	return Notification
}
