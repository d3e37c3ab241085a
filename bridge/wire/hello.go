package wire

import (
	"cmp"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

var errPayload = errors.New("the payload is not what its kind promises")

// decode reads a payload into v: keys must be spelled exactly and stand once.
func decode(payload []byte, v any) bool { return json.Unmarshal(payload, v) == nil }

// maxShort bounds, in bytes, a payload that is no message and is read while everybody
// waits: 15 MiB of escapes took a quarter of a second (FINDINGS M3). Nobody says as
// much of a proposal or a participant.
const maxShort = 256 << 10

// decodeShort is decode for what is short in that sense. A longer one says nothing.
func decodeShort(payload []byte, v any) bool { return len(payload) <= maxShort && decode(payload, v) }

// said is a participant as dialects write one.
type said struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Kind         string         `json:"kind"`
	Capabilities jsontext.Value `json:"capabilities"`
}

// participant reads a participant. Capabilities that cannot be read permit
// nothing; those that are left out are not stated.
func (s said) participant() (Participant, bool) {
	caps, err := ParseCaps(s.Capabilities)
	if err != nil && !caps.Stated() {
		caps = Caps{raw: []byte("[]")}
	}
	return Participant{ID: s.ID, Name: s.Name, Role: s.Kind, Caps: caps}, ValidID(s.ID)
}

// Welcome reads a Greeting, in either of the forms gateways use (WIRE 2.3,
// 5.2). History is never part of it: it is what was, and nobody acts on it.
// Peers whose id breaks the grammar are left out; no frame of theirs is heard
// either. It is an error if we are given no valid id.
func (e *Envelope) Welcome() (Welcome, error) {
	var p struct {
		You           said   `json:"you"`
		Participant   said   `json:"participant"`
		ParticipantID string `json:"participant_id"`
		Participants  []said `json:"participants"`
	}
	if e.Kind != Greeting || !decode(e.Payload, &p) {
		return Welcome{}, errPayload
	}
	you := p.You
	if you.ID == "" {
		you = p.Participant
	}
	if you.ID == "" {
		you.ID = p.ParticipantID
	}
	var w Welcome
	var ok bool
	if w.You, ok = you.participant(); !ok {
		return Welcome{}, errors.New("the welcome gives us no valid id")
	}
	for _, s := range p.Participants {
		if peer, ok := s.participant(); ok {
			w.Peers = append(w.Peers, peer)
		}
	}
	return w, nil
}

// Presence reads what happened (join, leave, heartbeat, update, or a word not
// known yet) and to whom.
func (e *Envelope) Presence() (event string, p Participant, err error) {
	var s struct {
		Event       string `json:"event"`
		Participant said   `json:"participant"`
	}
	if e.Kind != Presence || !decodeShort(e.Payload, &s) || s.Event == "" {
		return "", Participant{}, errPayload
	}
	p, ok := s.Participant.participant()
	if !ok {
		return "", Participant{}, errors.New("the presence names no valid id")
	}
	return s.Event, p, nil
}

// Fault reads a Failure in any of its forms (WIRE 2.5, 5.4).
func (e *Envelope) Fault() (Fault, error) {
	var s struct {
		Code         string         `json:"code"`
		Error        string         `json:"error"`
		Message      string         `json:"message"`
		Details      string         `json:"details"`
		Attempted    string         `json:"attempted_kind"`
		Capabilities jsontext.Value `json:"your_capabilities"`
	}
	if e.Kind != Failure || !decodeShort(e.Payload, &s) {
		return Fault{}, errPayload
	}
	f := Fault{Code: s.Code, Message: s.Message, AttemptedKind: s.Attempted, Trigger: e.Corr}
	switch {
	case s.Details != "": // the bare notice
		f.Message = s.Error + ": " + s.Details
	case f.Code == "":
		f.Code = s.Error
	case f.Message == "":
		f.Message = s.Error
	}
	f.Caps, _ = ParseCaps(s.Capabilities)
	return f, nil
}

// AppendJoin appends the join frame that every gateway takes which waits for
// one (WIRE 5.3). It names no protocol, so that none is refused, and holds the
// token, so it must not be logged.
func AppendJoin(dst []byte, id, space, token string) []byte {
	dst = append(dst, `{"type":"join","kind":"system/join","id":"join-1"`...)
	dst = member(dst, `,"participantId":`, id)
	dst = member(dst, `,"space":`, space)
	dst = member(dst, `,"token":`, token)
	dst = append(dst, `,"payload":{"participantId":`...)
	dst = jsonrpc.AppendQuote(dst, id)
	dst = member(dst, `,"participant":`, id)
	dst = member(dst, `,"space":`, space)
	dst = member(dst, `,"token":`, token)
	return append(dst, `}}`...)
}

// ReadJoin reads a join frame, for a gateway. What its payload says counts
// where the frame itself says nothing; the id is not checked, as it is the
// token that decides. The error is a [*Refused].
func ReadJoin(frame []byte) (Join, error) {
	type fields struct {
		ParticipantID string `json:"participantId"`
		Participant   string `json:"participant"`
		Space         string `json:"space"`
		Token         string `json:"token"`
	}
	var f struct {
		Protocol string `json:"protocol"`
		Kind     string `json:"kind"`
		Type     string `json:"type"`
		fields
		Payload fields `json:"payload"`
	}
	r := reading{frame: frame}
	if err := r.scan(); err != nil {
		return Join{}, r.refused(err)
	}
	if !decode(frame, &f) || f.Kind != "system/join" && f.Kind != "system.join" && f.Type != "join" {
		return Join{}, &Refused{Reason: EnvelopeInvalid, Detail: "this is no join; join first"}
	}
	return Join{
		ID:       cmp.Or(f.ParticipantID, f.Participant, f.Payload.ParticipantID, f.Payload.Participant),
		Space:    cmp.Or(f.Space, f.Payload.Space),
		Token:    cmp.Or(f.Token, f.Payload.Token),
		Protocol: f.Protocol,
	}, nil
}
