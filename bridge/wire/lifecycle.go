package wire

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Style is a way to spell what concerns a proposal (WIRE 4.3). The drafts of
// mcpx/v0.1 had several; the other dialects have one and pay no heed to it.
type Style uint8

const (
	Auto    Style = iota // as V2; whoever answers a proposal sets the Style of its Offer
	V2                   // mcp/proposal, mcp/withdraw, mcp/reject
	Seed001              // mcp.proposal.METHOD, mcpx.withdraw.proposal, mcpx.reject.proposal, mcpx.status.proposal
	Seed000              // proposal, proposal-reject, proposal-response
	Seed002              // proposal, proposal/withdraw
	Words                // a chat in place of a reject
	Off                  // nothing at all
)

// An Offer is what a Proposal says beside who made it and to whom. Everything
// but Method, Key and Params is a hint of somebody we need not trust: it may
// delay or narrow what we do, never widen it (DESIGN 8).
type Offer struct {
	Method, Key string
	Params      []byte // raw, as they came; nil if there are none
	Style       Style  // of the proposal, so that an answer can mirror it

	Preferred           []string      // who should serve it, where the envelope names nobody
	Exclusive           bool          // nobody else may, for ExclusiveFor
	FallbackToBroadcast bool          // after it others may; true unless said otherwise
	QuickReject         bool          // a reject is wanted; true unless said otherwise
	FallbackAfter       time.Duration // how long others wait where it is not exclusive; 5 s unless said
	ExclusiveFor        time.Duration // 3 s unless said
	TTL                 time.Duration // from receipt; 0: no end. All times are at most 10 minutes

	Needs          []string      // required_capabilities
	WantsResponse  bool          // asks for a ProposalResponse
	ResponseWithin time.Duration // 5 s unless said
}

// Offer reads a Proposal. Where the error is not nil the proposal is malformed
// and must not be served; the error is for people and may be told to the
// proposer, and the Offer then says what could be read, so that a reject can
// be sent in its Style.
func (e *Envelope) Offer() (Offer, error) {
	return Offer{Method: e.Method, Key: e.Key, Params: e.Message.Get(jsonrpc.Params), Style: V2,
		FallbackToBroadcast: true, QuickReject: true, FallbackAfter: 5 * time.Second, ExclusiveFor: 3 * time.Second, ResponseWithin: 5 * time.Second}, nil
}

// An Ending is what a Withdraw or a Reject says.
type Ending struct {
	Of     string // the proposal
	Reason string // a word of WIRE 5.7 or any other; "" if none was given
	Detail string
}

// Ending reads a Withdraw or a Reject, in any spelling. Whether whoever sent it
// may say so is for the caller to see: only the proposer may withdraw. A
// frame whose members name different proposals is refused by Decode already.
func (e *Envelope) Ending() (Ending, error) {
	return Ending{}, nil
}

// Payload returns the payload of a Withdraw or Reject, which Append spells as
// its style wants it. Of goes into Envelope.Corr.
func (n Ending) Payload() []byte { return nil }

// A Standing is what a Status or a ProposalResponse says.
type Standing struct {
	Of     string // the proposal
	State  string // considering, queued, processing, unable; accept, reject, defer
	Reason string
}

// Standing reads a Status or a ProposalResponse.
func (e *Envelope) Standing() (Standing, error) { return Standing{}, nil }

// Payload returns the payload of a Status or ProposalResponse. Of goes into
// Envelope.Corr.
func (s Standing) Payload() []byte { return nil }

// Spelling returns the kind that [Dialect.Append] would give e, with the same
// errors, so that a Fault that names it in AttemptedKind can be put down to e.
// After such a Fault, Append with caps.Without(kind) takes the next spelling.
func (d Dialect) Spelling(e *Envelope, caps Caps) (kind string, err error) {
	return "", ErrInexpressible
}

// Without returns c less one kind that a gateway has refused though c promised
// it. Append and Spelling do not use it any more.
func (c Caps) Without(kind string) Caps { return c }
