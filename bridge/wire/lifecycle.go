package wire

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// maxReason is how much of a reason, a detail or a state is read, in bytes.
const maxReason = 256

// An Ending is what a Withdraw or a Reject says.
type Ending struct {
	Of     string // the proposal
	Reason string // a word of WIRE 5.7 or any other; "" if none was given
	Detail string
	Say    string // in the words of By; "" if nothing was said
	By     string // who decided; "": the rules of whoever rejects

	Lapsed bool // its proposer says that its time is over, not that it takes it back (seed 002)
}

// Ending reads a Withdraw or a Reject, in any spelling; the exact reason that
// stands beside the three words of seed 000 counts (WIRE 4.3). Of a reason over
// 256 bytes the rest is left out, and of a payload over 256 KiB nothing is read. Whether whoever sent it may say so is for
// the caller to see: only the proposer may withdraw. Where two members name
// different proposals [Dialect.Decode] refuses the frame already.
func (e *Envelope) Ending() (Ending, error) {
	if e.Kind != Withdraw && e.Kind != Reject || len(e.Corr) == 0 {
		return Ending{}, errPayload
	}
	var p struct {
		Reason jsontext.Value `json:"reason"`
		Detail jsontext.Value `json:"detail"`
		Say    jsontext.Value `json:"say"`
		By     jsontext.Value `json:"by"`
		Status jsontext.Value `json:"status"` // of proposal/status
		Params struct {
			Reason jsontext.Value `json:"reason"`
		} `json:"params"` // of notifications/cancelled
	}
	if !decodeShort(e.Payload, &p) {
		return Ending{Of: e.Corr[0]}, nil
	}
	n := Ending{Of: e.Corr[0], Detail: shortText(p.Detail), Say: shortText(p.Say), By: shortText(p.By),
		Reason: cmp.Or(shortText(p.Reason), shortText(p.Params.Reason), shortText(p.Status))}
	n.Lapsed = e.Spelled == "proposal/status" && shortText(p.Status) == "expired"
	if e.Spelled == "proposal-reject" && slices.Contains(reasons, n.Detail) {
		n.Reason, n.Detail = n.Detail, ""
	}
	return n, nil
}

// Payload returns the payload of a Withdraw or Reject, which Append spells as
// its style wants it. Of goes into Envelope.Corr.
func (n Ending) Payload() []byte {
	return object("reason", n.Reason, "detail", n.Detail, "say", n.Say, "by", n.By)
}

// A Standing is what a Status or a ProposalResponse says.
type Standing struct {
	Of     string // the proposal
	State  string // considering, queued, processing, unable; accept, reject, defer
	Reason string
}

// Standing reads a Status or a ProposalResponse. Like an [Ending] it is about its
// proposal whatever else it says, or does not; of one over 256 KiB nothing else is read.
func (e *Envelope) Standing() (Standing, error) {
	if e.Kind != Status && e.Kind != ProposalResponse || len(e.Corr) == 0 {
		return Standing{}, errPayload
	}
	var p struct {
		Status jsontext.Value `json:"status"`
		Reason jsontext.Value `json:"reason"`
	}
	if !decodeShort(e.Payload, &p) {
		return Standing{Of: e.Corr[0]}, nil
	}
	return Standing{Of: e.Corr[0], State: shortText(p.Status), Reason: shortText(p.Reason)}, nil
}

// No reports whether it says that its sender will not serve the proposal: a reject in
// other words (seeds 000 and 001).
func (s Standing) No() bool { return s.State == "reject" || s.State == "unable" }

// AsReject returns a Status or ProposalResponse that is a no as the Reject that it
// stands for, and anything else as it is. ok reports whether it is such a no.
func (e *Envelope) AsReject() (reject Envelope, ok bool) {
	s, err := e.Standing()
	if err != nil || !s.No() {
		return *e, false
	}
	reject = *e
	reject.Kind, reject.Spelled, reject.Payload = Reject, "", Ending{Reason: s.Reason}.Payload()
	return reject, true
}

// Payload returns the payload of a Status or ProposalResponse. Of goes into
// Envelope.Corr.
func (s Standing) Payload() []byte {
	return object("status", s.State, "reason", s.Reason)
}

// reasons are the words for why a proposal ends (WIRE 5.7).
var reasons = []string{"disagree", "inappropriate", "unsafe", "busy", "incapable", "policy", "duplicate", "invalid",
	"timeout", "resource_limit", "no_longer_needed", "other"}

// closed is the word of seed 000 for a reason: it knows three (WIRE 4.3).
func closed(reason string) string {
	switch reason {
	case "busy", "resource_limit":
		return "busy"
	case "incapable", "policy", "unsafe", "inappropriate", "disagree":
		return "incapable"
	}
	return "error"
}

// shortText returns a JSON string, as much of it as is worth keeping, and ""
// for anything else: a reason that is none does not make a frame wrong.
func shortText(raw []byte) string {
	s, _ := jsonrpc.Unquote(raw)
	if len(s) <= maxReason {
		return s
	}
	end := maxReason
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.Clone(s[:end])
}
