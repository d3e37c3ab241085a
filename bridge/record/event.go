package record

// OwnReturned is the detail of a [Dropped] that is no news: the gateway returned to us what we
// sent, as some do with all that they are given.
const OwnReturned = "a request of our own, which the gateway returned"

// An Event is what happened, by the name that it has in --json output.
type Event string

// Events are grouped by what they are about.
const (
	// Calls and the questions about them.
	Asked       Event = "asked"        // a question is put to those who may decide
	Answer      Event = "answer"       // of a person, to a question
	Confirmed   Event = "confirmed"    // a passkey signed a yes
	Tightened   Event = "tightened"    // a yes to a question that is open takes a passkey from now on
	Delegated   Event = "delegated"    // somebody passed a question on
	Modified    Event = "modified"     // somebody changed what may run before they agreed
	Decided     Event = "decided"      // by the policy, or by who was asked
	Started     Event = "started"      // a call: it goes to the server
	Ended       Event = "ended"        // the call's caller has an answer
	Withdrawn   Event = "withdrawn"    // a call or a proposal that nobody wants any more
	Late        Event = "late"         // the server's answer, when nobody waited for it
	Unavailable Event = "unavailable"  // somebody who was asked cannot answer any more
	Expiring    Event = "expiring"     // the time of a question is nearly up
	GrantUnused Event = "grant_unused" // a remembered yes that does not cover this question
	Revoked     Event = "revoked"      // a remembered yes is taken back

	// Answers that count for nothing.
	LateAnswer    Event = "late_answer"    // to a question that is settled, or was put anew since
	ForeignAnswer Event = "foreign_answer" // of somebody who was not asked

	// Passkeys.
	PasskeyEnrolled Event = "passkey_enrolled"
	PasskeyRemoved  Event = "passkey_removed"

	// Proposals.
	Proposed     Event = "proposed"
	Taken        Event = "taken"         // another serves it
	Reopened     Event = "reopened"      // whoever took it up did nothing, so it is ours again
	Fulfilled    Event = "fulfilled"     // it was served
	Unfulfilled  Event = "unfulfilled"   // whoever took it up could not serve it
	Rejected     Event = "rejected"      // by us; in the log also a call that was refused
	Expired      Event = "expired"       // its time is up
	Left         Event = "left"          // to others to serve
	ProposalDiff Event = "proposal_diff" // a request for it asks for something else

	// The policy.
	Reloaded      Event = "reloaded"
	ReloadWaiting Event = "reload_waiting" // a looser policy waits until somebody agrees
	ReloadDecided Event = "reload_decided"
	ReloadFailed  Event = "reload_failed"

	// The topic.
	Connected    Event = "connected"
	Reconnected  Event = "reconnected"
	Disconnected Event = "disconnected"
	Peer         Event = "peer"     // somebody came, went or changed
	Dropped      Event = "dropped"  // a frame of theirs or ours that comes to nothing, or how many
	Security     Event = "security" // somebody tried, or something changed, that should not

	// The server.
	ServerUp    Event = "server_up"
	ServerExit  Event = "server_exit"
	ServerNoise Event = "server_noise"
	ServerLog   Event = "server_log"

	// The bridge itself.
	Ready      Event = "ready"
	Warning    Event = "warning"
	Checkpoint Event = "checkpoint"
	Halted     Event = "halted"  // nothing starts any more
	Resumed    Event = "resumed" // things start again, unless a halted follows
	Stopping   Event = "stopping"
	Stopped    Event = "stopped"
	EventsLost Event = "events_lost" // how many were not told: who listens was too slow for them
)

// kept says whether an event goes into the log too, and whether it is how a call ended, and
// must not be lost. What the server and the topic do beside calls is not kept.
func (e Event) kept() (is, final bool) {
	switch e {
	case Ended, Withdrawn, Rejected:
		return true, true
	case PasskeyEnrolled, PasskeyRemoved, Confirmed, Tightened, Asked, Answer, Delegated, Modified, Decided, Started, Late, Unavailable, Expiring, GrantUnused, Revoked,
		LateAnswer, ForeignAnswer, Proposed, Taken, Reopened, Fulfilled, Unfulfilled, Expired, Left, ProposalDiff,
		Reloaded, ReloadWaiting, ReloadDecided, Dropped, Security, Checkpoint, Halted, Resumed:
		return true, false
	}
	return false, false
}
