package proposal

import "github.com/mcpx-protocol/mcpx-bridge/bridge/record"

// An Act is something that is to be done or put on record about a proposal.
type Act interface{ act() }

type (
	// Consider says that a proposal is ours to judge, now. It stays Pending
	// until Refuse, Leave, Asked or Start says what came of that.
	Consider struct{ *Life }

	// Waits says that a proposal is ours to judge later, when it is our turn.
	Waits struct{ *Life }

	// Refused: we do not serve it. Told says whether its proposer is to hear so;
	// otherwise that goes on record only.
	Refused struct {
		*Life
		Reason string // one of the words below
		Detail string // exactly why
		Told   bool
	}

	// Noted goes on record.
	Noted struct {
		*Life
		Event  record.Event // proposed, taken, fulfilled, unfulfilled, withdrawn, expired, security, dropped
		Reason string
		Detail string
		By     string // who did it, where that was not the proposer

		// Moot: what is under way here about it has lost its reason and must
		// end: the question, or the call that was agreed to. Nothing of it may
		// start any more.
		Moot bool

		// Quiet: there have been so many of these that this one is not put on
		// record.
		Quiet bool
	}
)

func (Consider) act() {}
func (Waits) act()    {}
func (Refused) act()  {}
func (Noted) act()    {}

// The words for why a proposal is refused (WIRE 5.7, 7.8).
const (
	Incapable     = "incapable"
	Invalid       = "invalid"
	Policy        = "policy"
	Busy          = "busy"
	ResourceLimit = "resource_limit"
	Duplicate     = "duplicate"
	Disagree      = "disagree"
	Timeout       = "timeout"
	Other         = "other"

	// LeftToOthers stands in their place where nothing is wrong with the
	// proposal, but we are not to serve it.
	LeftToOthers = "left_to_others"
)
