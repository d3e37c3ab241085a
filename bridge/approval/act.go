package approval

import (
	"encoding/json"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// An Act is something that is to be done or put on record. Those that a method returns are
// the caller's.
type Act interface{ act() }

type (
	// Show puts a question before somebody. To a participant it is the request
	// elicitation/create in an envelope with the id Ask and no correlation
	// (WIRE W-5). What the other doors show is [Desk.View].
	Show struct {
		ID      string // of the question
		To      Who
		Ask     string    // id of the envelope; "" for the other doors
		RPC     []byte    // JSON-RPC id, raw
		Params  []byte    // of elicitation/create
		By      time.Time // when this person's time is up
		Why     string    // "" the first time, else delegated, invalid_delegation, misanswered, edited, rejoined, reconnected
		Problem string    // what was wrong with this person's last answer, in words; "" if nothing
		Digest  Digest
	}

	// Close takes a question away from somebody who has it open. For a
	// participant that is notifications/cancelled {requestId: RPC}.
	Close struct {
		ID      string
		To      Who
		Ask     string
		RPC     []byte
		Because string // one sentence that may be shown
		Said    string // what who decided said of it, not redacted
	}

	// Tally tells a participant who has a question open who agrees by now, and changes nothing
	// of the question.
	Tally struct {
		ID     string // of the question
		To     Who
		Params []byte // requestId, and need and agreed as in the metadata of the elicitation
	}

	// Verify is about a yes: it is to be found out whether the call may still run, with
	// these arguments, and [Desk.Verified] is the next that the Desk is told. It is the
	// last act of an Answer that agrees, and of Open where a yes is remembered.
	Verify struct{ Unsettled }

	// Settled ends a question, once and for all.
	Settled struct {
		ID       string
		Question *Question
		Outcome  Outcome
		Reason   string   // data.reason of the refusal (DESIGN 9 and 14); "" when allowed
		Detail   string   // more on it, for the record
		By       []Who    // who decided; none when nobody did
		Said     string   // the deciding person's own words, fit to be shown
		Chain    []Hop    // how the question came to whom it was decided by
		Digest   Digest   // of what was asked
		Ran      Digest   // of what may run: Digest unless Modified
		Args     []byte   // what may run; to be passed on as it is. Nil unless allowed
		Modified []string // JSON pointers of what was changed, "@timeout" for the time
		Timeout  time.Duration
		StartBy  time.Time // when allowed: later than this it must not start
		Made     *Grant    // what is to be remembered from now on
		Used     *Grant    // what had been remembered
		Retry    time.Duration
		Asked    time.Time
		Need     int   // where nobody who may decide is left: how many must agree,
		Here     []Who // those who could, too few,
		Away     []Who // and those who are away
	}

	// ToSign says what a passkey is to sign for a yes that is a draft. It ends nothing: the
	// same person may draft again, or say no.
	ToSign struct {
		ID        string // of the question
		Statement []byte // one line of JSON, never the same twice
	}

	// Noted goes on record and changes nothing else.
	Noted struct {
		ID     string       // of the question
		Event  record.Event // answered, confirmed, tightened, delegated, modified, expiring, late_answer, foreign_answer, unavailable, grant_unused
		Who    Who          // nobody in grant_unused
		Reason string
		Said   string
		Chain  []Hop
		Have   int // how many have agreed
		Digest Digest

		// Of confirmed what was signed; of that and of tightened the arguments that it is about.
		Signed   *Signed
		Question *Question
		Args     []byte
	}
)

// An Unsettled is a question that has not ended, with the arguments that its call has now.
type Unsettled struct {
	ID       string
	Question *Question
	Args     []byte
}

func (Show) act()    {}
func (Close) act()   {}
func (Tally) act()   {}
func (Verify) act()  {}
func (Settled) act() {}
func (ToSign) act()  {}
func (Noted) act()   {}

// An Outcome is how a question ended. The zero Outcome is Denied.
type Outcome uint8

const (
	Denied    Outcome = iota // a person said no, or what they said cannot be taken for a yes
	Allowed                  // may run, once
	Expired                  // nobody decided in time
	Withdrawn                // the caller took it back
	Aborted                  // we ended it
	Refused                  // nobody was or could be asked
)

var outcomes = [...]string{"denied", "allowed", "expired", "withdrawn", "aborted", "refused"}

func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return outcomes[Denied]
}

// MarshalText writes the word for o.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Reasons of a Settled. Engine and audit show them as they are.
const (
	Declined            = "declined"
	Cancelled           = "cancelled"
	InvalidAnswer       = "invalid_answer"
	InvalidModification = "invalid_modification"
	InvalidDelegation   = "invalid_delegation"
	NoApprover          = "no_approver"
	Busy                = "busy"
	Cooldown            = "cooldown"
	TimedOut            = "expired"
	PolicyDenied        = "policy_denied"
	Revoked             = "revoked" // the yes that was remembered, before the call started
	ToolChanged         = "tool_changed"
	ShuttingDown        = "shutting_down"
	CallerLeft          = "caller_left"
	ProposerLeft        = "proposer_left"
	BadArguments        = "invalid_arguments"
)

// Why an answer counts for nothing, whatever it says.
const (
	WrongSender    = "wrong_sender"    // it is not from whom the question was put to
	DigestMismatch = "digest_mismatch" // it is not about what was shown
)

// Unconfirmed is why a yes does not count that no passkey has signed.
const Unconfirmed = "unconfirmed"

// Why one does not count that a passkey has signed.
const (
	BadPasskey  = "bad_passkey"  // it is no signature by a passkey that is known here
	OtherSigned = "other_signed" // what was signed is not what would run, or was used
)

// TakesPasskey says to people what a yes takes, and where.
const TakesPasskey = "a yes takes a passkey, on the bridge's own page; a no counts from anywhere"

// A Signed is what goes with a yes that a passkey has signed. Whoever makes one has verified
// the signature. Passkeys are enrolled by whoever is at this machine, so the Answer is that of
// the local person, and of nobody else.
type Signed struct {
	Statement []byte          // that was signed
	Proof     json.RawMessage // all it takes to verify it again, for the record: one object on one line
	Problem   string          // why it is none; such a yes is noted, and counts for nothing
}

// A Grant is a remembered yes: to one caller, for one tool as it was defined
// then, with exactly these arguments (RELIABILITY AI-18), or for the calls of a plan.
//
// Its JSON is what people and scripts may know of it; what it is bound to besides
// stays here.
type Grant struct {
	ID          string          `json:"id"`
	Keep        string          `json:"keep"` // "session", "folder", "tool", "always" or "plan"
	Caller      string          `json:"from"`
	Via         string          `json:"via,omitempty"`
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args,omitempty"` // canonical
	By          []Who           `json:"by"`
	Made        time.Time       `json:"made"`
	Until       time.Time       `json:"until"`
	Rules       []string        `json:"rules,omitempty"`       // which rules had asked
	Fingerprint string          `json:"fingerprint,omitempty"` // of the tool's definition

	// Of what a plan gave leave for, and of nothing else: how often each item of it, whose
	// tool has its place in Tool, covers a call, and how often it has. Args are the plan.
	Uses []int `json:"uses,omitempty"`
	Used []int `json:"used,omitempty"`
	Item int   `json:"-"` // of Settled.Used: which item, from 1,
	Use  int   `json:"-"` // and which use of it, the first being 1

	Method     string `json:"-"`
	Proposer   string `json:"-"` // whose proposal the call served, "" for none but the caller's own
	Topic      string `json:"-"` // where the caller is who it is, as is Gateway
	Gateway    string `json:"-"`
	Server     string `json:"-"` // whose tool it is; where, and as what, that was started
	Dir        string `json:"-"`
	Command    string `json:"-"`
	Unverified bool   `json:"-"` // nobody there vouches for who the caller is
	Beside     []byte `json:"-"` // what stood beside Args, canonical; nil for nothing

	key  [32]byte
	ends time.Time // Until, as a clock shows it that nobody sets; zero of what an earlier run had remembered

	of     *plan.Plan // what its Args say; nil but for a plan, as the next two
	prints []string   // of the tool of each item
	left   []int      // uses of each item
}
