package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Decode reads one frame. The error is a [*Refused].
//
// The frame is scanned once, under the rules for what is judged; its kind must
// agree with its payload (WIRE 3.6, W-6), and its sender, id, recipients and
// links must keep the grammar of ids. An Envelope's From is a participant id or,
// on a frame of the gateway, "system:gateway" or "system", or, on a
// Failure, nothing. A frame without a protocol string is taken for one of d; in
// the mew dialects any of their protocol strings is.
//
// Kinds that nobody acts on are Unknown and no error. The Envelope refers to
// frame, which may not be changed afterwards.
func (d Dialect) Decode(frame []byte) (Envelope, error) {
	if d.grammar == nil {
		return Envelope{}, &Refused{Reason: DialectMismatch, Detail: "no dialect is spoken yet"}
	}
	if stream, data, ok := streamOf(frame); ok && d.streams {
		return Envelope{Kind: Stream, Key: stream, Payload: data}, nil
	}
	r := reading{grammar: d.grammar, frame: frame}
	return r.outcome(r.envelope(d))
}

// outcome is what is said of a frame that was read as e, or not.
func (r *reading) outcome(e Envelope, err error) (Envelope, error) {
	asks := e.Kind == Request || e.Kind == Proposal
	switch {
	case err != nil:
		return Envelope{}, r.refused(err)
	case r.wrong == nil || !asks && jsonrpc.Is(r.wrong, jsonrpc.KeysAlike):
		return e, nil
	}
	refused := r.refused(r.wrong)
	if asks {
		e.Wrong = r.wrong
		refused.Asked = new(Envelope)
		*refused.Asked = e
	}
	return Envelope{}, refused
}

// streamOf splits raw stream data, #STREAM#DATA.
func streamOf(frame []byte) (stream string, data []byte, ok bool) {
	if len(frame) == 0 || frame[0] != '#' {
		return "", nil, false
	}
	name, data, ok := bytes.Cut(frame[1:], []byte("#"))
	return string(name[:min(len(name), maxID)]), data, ok
}

// A reading is one frame being read.
type reading struct {
	*grammar
	frame   []byte
	loose   bool  // scanned under the rules for answers
	scanned bool  // at is filled
	nulls   bool  // a null stood in a list of ids
	wrong   error // keys that are one to a lenient reader, where nothing else is wrong
	at      [places]jsonrpc.Span
}

// Where the members of a frame are noted.
const (
	atProtocol = iota
	atID
	atTS
	atFrom
	atTo
	atKind
	atLink
	atCamelLink
	atContext
	atPayload
	atError
	atDetails
	atType
	atMessage       // the fields of the message in the payload follow
	atPayloadType   = iota + int(jsonrpc.Fields) - 1
	atEvent         = iota + int(jsonrpc.Fields) - 1
	atProposal      = iota + int(jsonrpc.Fields) - 1
	atCamelProposal = iota + int(jsonrpc.Fields) - 1
	places          = iota + int(jsonrpc.Fields) - 1
)

var frameShape = jsonrpc.Shape{
	{Name: "protocol", Slot: atProtocol},
	{Name: "id", Slot: atID},
	{Name: "ts", Slot: atTS},
	{Name: "from", Slot: atFrom},
	{Name: "to", Slot: atTo},
	{Name: "kind", Slot: atKind},
	{Name: "correlation_id", Slot: atLink},
	{Name: "correlationId", Slot: atCamelLink},
	{Name: "context", Slot: atContext},
	{Name: "payload", Slot: atPayload, Inside: append(jsonrpc.MessageShape.Shift(atMessage), jsonrpc.Shape{
		{Name: "type", Slot: atPayloadType},
		{Name: "event", Slot: atEvent},
		{Name: "proposal_id", Slot: atProposal},
		{Name: "proposalId", Slot: atCamelProposal},
	}...)},
	{Name: "error", Slot: atError},
	{Name: "details", Slot: atDetails},
	{Name: "type", Slot: atType},
}

// answers are the rules for a response. It is passed on and not judged, so what
// a server may say inside it is let through; where an envelope and the message
// in it would be read in two ways they are refused like any other.
var answers = jsonrpc.Rules{Depth: jsonrpc.MaxServerDepth + 1, Size: jsonrpc.MaxSize, Halves: true}

// called are the rules for what is to be judged, lax ones those for the same
// without what only the one whom it is for has to say.
var called, lax = jsonrpc.Called, func() jsonrpc.Rules {
	r := jsonrpc.Judged
	r.VariantsFrom = 3 // an envelope, its payload, its params
	return r
}()

func (r *reading) scan() error {
	err := jsonrpc.Scan(r.frame, called, frameShape, r.at[:])
	if r.wrong = nil; !jsonrpc.Is(err, jsonrpc.KeysAlike, jsonrpc.KeyCase) {
		return err
	}
	wrong := err
	if err = jsonrpc.Scan(r.frame, lax, frameShape, r.at[:]); err == nil {
		r.wrong = wrong
	}
	return err
}

// scanLoosely tries a frame again that could be a response. What it was refused
// for otherwise would be refused again.
func (r *reading) scanLoosely(err error) error {
	if !jsonrpc.Is(err, jsonrpc.TooDeep, jsonrpc.DuplicateKey, jsonrpc.TooLarge, jsonrpc.InvalidUTF8) {
		return err
	}
	if jsonrpc.Scan(r.frame, answers, frameShape, r.at[:]) != nil {
		return err
	}
	r.loose = true
	return nil
}

func (r *reading) has(place int) bool { return r.at[place].End != 0 }

// raw returns a member as written, nil if it is absent or null.
func (r *reading) raw(place int) []byte {
	s := r.at[place]
	if s.End == 0 || r.frame[s.Start] == 'n' {
		return nil
	}
	return r.frame[s.Start:s.End:s.End]
}

// text returns a member that is a string, "" if it is anything else. It copies.
func (r *reading) text(place int) string {
	s, _ := jsonrpc.Unquote(r.raw(place))
	return s
}

// A refusal is the reason for a Refused and what it is about.
type refusal struct{ reason, detail, kind string }

func (r refusal) Error() string { return r.reason }

func refuse(reason, detail string, a ...any) error {
	return refusal{reason: reason, detail: fmt.Sprintf(detail, a...)}
}

// shownKind is a kind that somebody made up as it may be repeated to them: "" if it is
// long or could be dressed up.
func shownKind(kind string) string {
	if !envelopeID(kind) {
		return ""
	}
	return kind
}

// refused makes the error that Decode returns. What it says of the sender is
// shown to people, so it is left out if it could be dressed up.
func (r *reading) refused(err error) *Refused {
	out := &Refused{}
	if id := r.short(atID); envelopeID(id) {
		out.ID = id
	}
	if from := r.short(atFrom); envelopeID(from) {
		out.From = from
	}
	var said refusal
	var scan *jsonrpc.Error
	switch {
	case errors.As(err, &said):
		out.Reason, out.Detail, out.Kind = said.reason, said.detail, said.kind
	case errors.As(err, &scan):
		out.Reason = string(scan.Reason)
		out.Detail = strings.TrimPrefix(scan.Error(), out.Reason+" ")
		if scan.Reason == jsonrpc.NotObject || scan.Reason == jsonrpc.Batch {
			out.Reason = EnvelopeInvalid
		}
	}
	return out
}

// short returns the text of a member unless it is longer than any id.
func (r *reading) short(place int) string {
	if s := r.at[place]; s.End-s.Start > 6*maxID+2 {
		return ""
	}
	return r.text(place)
}

// envelope reads the frame, in the order in which it is best refused.
func (r *reading) envelope(d Dialect) (Envelope, error) {
	if err := r.scan(); err != nil {
		if err = r.scanLoosely(err); err != nil {
			return Envelope{}, err
		}
	}
	r.scanned = true
	if r.bare() {
		return Envelope{Kind: Failure, Payload: r.frame}, nil
	}
	if err := r.protocol(d); err != nil {
		return Envelope{}, err
	}
	e, err := r.header()
	if err != nil {
		return Envelope{}, err
	}
	ref, ok := r.read(e.Spelled)
	if !ok && !r.cancelsProposal(e.Spelled) {
		return Envelope{}, refusal{DialectMismatch, "this kind is not said in " + d.Protocol, shownKind(e.Spelled)}
	}
	if err = r.body(&e, ref); err == nil {
		err = r.sender(&e)
	}
	if err == nil && r.loose && e.Kind != Response {
		err = r.scan()
	}
	e.Loose = r.loose
	return e, err
}

// bare reports whether the frame is the notice {"error","details"} that some
// gateways send instead of an envelope (WIRE 2.5).
func (r *reading) bare() bool {
	return r.has(atError) && r.has(atDetails) && !r.has(atKind) && !r.has(atProtocol)
}

func (r *reading) protocol(d Dialect) error {
	if raw := r.raw(atProtocol); !r.has(atProtocol) || len(raw) == len(d.Protocol)+2 && string(raw[1:len(raw)-1]) == d.Protocol {
		return nil
	}
	said := r.short(atProtocol)
	if other, ok := Lookup(said); ok && d.Alike(other) {
		return nil
	}
	if said == "" {
		return refuse(EnvelopeInvalid, "protocol is not a string")
	}
	return refuse(DialectMismatch, "this session speaks %s, the frame says %+.40q", d.Protocol, said)
}

// sender checks id and from against what the frame turned out to be.
func (r *reading) sender(e *Envelope) error {
	spokenFor := e.Kind.fromGateway() || gatewayOnly(e.Spelled)
	switch {
	case r.nulls && e.Kind != Failure:
		return refuse(EnvelopeInvalid, "null stands for an id in to or correlation_id")
	case e.From == "" && e.Kind == Failure && !r.has(atFrom):
	case e.From == "":
		return refuse(EnvelopeInvalid, "from is missing or not a string")
	case gateway(e.From) && (spokenFor || gatewayToo(e.Spelled)):
	case reserved(e.From):
		return refuse(FromReserved, "only the gateway's own frames may come from %+.80q", e.From)
	case !participant(e.From):
		return refuse(IDCharset, "from is not one to 64 of A-Z a-z 0-9 _ . -")
	case spokenFor:
		return refuse(SystemNotFromGateway, "%s says what only the gateway may say", e.From)
	}
	switch {
	case e.ID == "" && spokenFor && !r.has(atID):
	case e.ID == "":
		return refuse(EnvelopeInvalid, "id is missing or not a string")
	case !envelopeID(e.ID):
		return refuse(IDCharset, "id is not 1 to %d printable characters", maxID)
	}
	return nil
}

// cancelsProposal: one draft of mcpx/v0.1 withdraws a proposal with a plain
// MCP cancellation (WIRE 4.1, seed 002).
func (r *reading) cancelsProposal(kind string) bool {
	return r.methodInKind && kind == "mcp" && r.short(atMessage+int(jsonrpc.Method)) == "notifications/cancelled"
}
