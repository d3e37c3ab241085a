package hub

import (
	"errors"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Why a frame is refused, beside the reasons of package wire. Logs and metrics show them.
const (
	fromMismatch        = "from_mismatch"
	reservedNamespace   = "reserved_namespace"
	capabilityViolation = "capability_violation"
	streamsNotOffered   = "stream_not_offered"
	notAsked            = "not_asked"
	notDelivered        = "not_delivered"
)

// The codes of faults.
const (
	FaultAuth    = "auth_violation"
	FaultInvalid = "VALIDATION_ERROR"

	faultAbsent   = "recipient_absent"
	faultNoWord   = "not_expressible"
	faultReserved = "reserved_namespace"
)

// ErrInDoubt is what a log says that does not know whether others got an entry.
var ErrInDoubt = errors.New("whether anybody got it is not known")

// A verdict is what became of a frame that was said. It is computed with the topic's lock held
// and carried out without.
type verdict struct {
	speaker       *Member   // nil: his session has ended, and nobody got it
	absent        []string  // addressees who are not here
	inexpressible []*Member // addressees whose dialect has no word for it
	crowded       *Member   // one who gets it and is half full
	cut           []*Member // who got it no more
}

// faults says what became of a frame to who said it.
func (v *verdict) faults(e *Entry) (all []wire.Fault) {
	say := func(code, message string) {
		all = append(all, wire.Fault{Code: code, Message: message, Trigger: []string{e.Envelope.ID}})
	}
	if len(v.absent) > 0 {
		say(faultAbsent, "nobody here goes by "+strings.Join(v.absent, ", "))
	}
	if e.doubt != "" {
		say(FaultInvalid, e.doubt)
	}
	if len(v.inexpressible) > 0 {
		why := "there is no word for this in the dialect of " + strings.Join(names(v.inexpressible), ", ")
		if e.Envelope.Kind == wire.Response && len(e.Envelope.Corr) == 0 {
			why += ": it needs a correlation_id"
		}
		say(faultNoWord, why)
	}
	return all
}

// answers reports whether a frame is an answer that names its request.
func answers(e *wire.Envelope) bool { return e.Kind == wire.Response && len(e.Corr) > 0 }

// unreadableAnswer tells somebody of an answer for which his dialect has no word: he would
// wait for what has run already (FINDINGS S2).
func unreadableAnswer(from string, e *Entry) wire.Fault {
	return wire.Fault{Code: faultNoWord, Message: from + " has answered, but there is no word for it in your dialect", Trigger: e.Envelope.Corr}
}

// undelivered tells who said something that the log did not take it.
func undelivered(e *Entry, err error) wire.Fault {
	f := wire.Fault{Code: notDelivered, Message: "nobody got this: the topic takes nothing at the moment", Trigger: []string{e.Envelope.ID}, AttemptedKind: e.Envelope.Spelled}
	if errors.Is(err, ErrInDoubt) {
		f.Message = "the topic does not answer; " + ErrInDoubt.Error()
	}
	return f
}

// refusal looks at a frame that can be read, which one that speaks for the gateway cannot: is
// its sender who it says, and may it say this? An empty reason lets it pass. unasked is what
// the topic recalls. The fault names no frame yet.
func refusal(m *Member, e *wire.Envelope, unasked bool) (reason string, f wire.Fault) {
	switch {
	case e.From != m.ID:
		f.Code, f.Message = FaultAuth, "from must be "+m.ID+", the participant of the token"
		return fromMismatch, f
	case e.Kind == wire.Stream:
		f.Code, f.Message = streamsNotOffered, "this gateway carries no streams"
		return streamsNotOffered, f
	case !m.Caps.Permits(e):
		f.Code, f.AttemptedKind, f.Caps = capabilityViolation, e.Spelled, m.Caps
		f.Message = "the token does not permit frames of that kind"
		return capabilityViolation, f
	case unasked: // some agents answer every request in the room, and some callers take anybody's answer
		f.Code, f.Message = notAsked, "this answers a request that was put to somebody else"
		return notAsked, f
	}
	return "", f
}

// unreadable is why a frame that wire refuses is. In every dialect the answer is a frame with
// a kind: the bare object of some reference gateways ends their own clients, which look at the
// kind of all that comes (FINDINGS D1).
func unreadable(m *Member, err error) (reason string, f wire.Fault) {
	r, ok := errors.AsType[*wire.Refused](err)
	if !ok {
		r = &wire.Refused{Reason: wire.EnvelopeInvalid, Detail: err.Error()}
	}
	f = wire.Fault{Code: FaultInvalid, Message: r.Error()}
	if r.ID != "" {
		f.Trigger = []string{r.ID}
	}
	switch {
	case r.From != "" && r.From != m.ID && r.Reason == wire.SystemNotFromGateway, r.Reason == wire.FromReserved:
		f.Code = FaultAuth
		return fromMismatch, f
	case r.Reason == wire.SystemNotFromGateway:
		f.Code = faultReserved
		return reservedNamespace, f
	case r.Kind != "": // a word of no use here, as for one who may not say it (WIRE 3.4)
		f.Code, f.AttemptedKind, f.Caps = capabilityViolation, r.Kind, m.Caps
	}
	return r.Reason, f
}
