package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

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

// A reading is one frame being read.
type reading struct {
	*grammar
	frame   []byte
	loose   bool  // scanned under the rules for answers
	scanned bool  // at is filled
	hadNull bool  // a null stood in a list of ids
	wrong   error // keys that are one to a lenient reader, where nothing else is wrong
	at      [places]jsonrpc.Span
}

// streamOf splits raw stream data, #STREAM#DATA.
func streamOf(frame []byte) (stream string, data []byte, ok bool) {
	if len(frame) == 0 || frame[0] != '#' {
		return "", nil, false
	}
	name, data, ok := bytes.Cut(frame[1:], []byte("#"))
	return string(name[:min(len(name), maxID)]), data, ok
}

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

// histories are answers for a welcome, in whose history they stand three levels deeper than on
// their own.
var histories = func() jsonrpc.Rules {
	r := answers
	r.Depth += 3
	return r
}()

// called are the rules for what is to be judged, lax ones those for the same
// without what only the one whom it is for has to say.
var called, lax = jsonrpc.Called, func() jsonrpc.Rules {
	r := jsonrpc.Judged
	r.VariantsFrom = 3 // an envelope, its payload, its params
	return r
}()

// scan reads the frame by the strictest rules. Faults of keys alone go into r.wrong and are no
// error, because some kinds of frame may have them. A scan ends at the first fault: where that is
// keys that are alike, it looks once more for a variant of a key that we act on, which no kind may
// have.
func (r *reading) scan() error {
	r.wrong = nil
	err := jsonrpc.Scan(r.frame, called, frameShape, r.at[:])
	wrong := err
	if jsonrpc.Is(err, jsonrpc.KeysAlike) {
		if err = jsonrpc.Scan(r.frame, jsonrpc.Judged, frameShape, r.at[:]); err != nil {
			wrong = err
		}
	}
	if jsonrpc.Is(wrong, jsonrpc.KeyCase) {
		err = jsonrpc.Scan(r.frame, lax, frameShape, r.at[:])
	}
	if err == nil {
		r.wrong = wrong
	}
	return err
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

// short returns the text of a member unless it is longer than any id.
func (r *reading) short(place int) string {
	if s := r.at[place]; s.End-s.Start > 6*maxID+2 {
		return ""
	}
	return r.text(place)
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
