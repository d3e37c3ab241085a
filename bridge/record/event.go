package record

// An Event is what happened, by the name that it has in --json output.
type Event string

// Events are grouped by what they are about.
const (
	// Calls and the questions about them.
	Asked       Event = "asked"
	Answer      Event = "answer" // of a person, to a question
	Delegated   Event = "delegated"
	Modified    Event = "modified"
	Decided     Event = "decided"
	Call        Event = "call"     // it goes to the server
	Ended       Event = "answered" // the call's caller has an answer
	Withdrawn   Event = "withdrawn"
	Late        Event = "late"
	Unavailable Event = "unavailable"
	Expiring    Event = "expiring"
	GrantUnused Event = "grant_unused"
	Revoked     Event = "revoked"

	// Answers that count for nothing.
	LateAnswer    Event = "late_answer"
	ForeignAnswer Event = "foreign_answer"

	// Proposals.
	Proposed     Event = "proposed"
	Taken        Event = "taken"
	Reopened     Event = "reopened"
	Fulfilled    Event = "fulfilled"
	Unfulfilled  Event = "unfulfilled"
	Rejected     Event = "rejected"
	Expired      Event = "expired"
	Left         Event = "left" // to others
	ProposalDiff Event = "proposal_diff"

	// The policy.
	Reloaded      Event = "reloaded"
	ReloadWaiting Event = "reload_waiting"
	ReloadDecided Event = "reload_decided"
	ReloadFailed  Event = "reload_failed"

	// The topic.
	Connected    Event = "connected"
	Reconnected  Event = "reconnected"
	Disconnected Event = "disconnected"
	Peer         Event = "peer"
	Dropped      Event = "dropped"
	Security     Event = "security"

	// The server.
	ServerUp    Event = "server_up"
	ServerExit  Event = "server_exit"
	ServerNoise Event = "server_noise"
	ServerLog   Event = "server_log"

	// The bridge itself.
	Ready      Event = "ready"
	Warning    Event = "warning"
	Checkpoint Event = "checkpoint"
	Stopping   Event = "stopping"
	Stopped    Event = "stopped"
)

// What the log calls some events by other names.
const (
	auditAnswer Event = "answered"
	auditStart  Event = "start"
	auditEnd    Event = "end"
)

// events has what is kept, under which name, and what must not be lost. The names
// differ where "answered" is the end of a call for those who watch it, and a person's
// answer for those who read later who decided (DESIGN section 14, "Audit"). What the
// server and the topic do beside calls is not kept.
var events = map[Event]struct {
	audit Event
	final bool // of a call
}{
	Asked:         {Asked, false},
	Answer:        {auditAnswer, false},
	Delegated:     {Delegated, false},
	Modified:      {Modified, false},
	Decided:       {Decided, false},
	Call:          {auditStart, false},
	Ended:         {auditEnd, true},
	Withdrawn:     {Withdrawn, true},
	Late:          {Late, false},
	Unavailable:   {Unavailable, false},
	Expiring:      {Expiring, false},
	GrantUnused:   {GrantUnused, false},
	Revoked:       {Revoked, false},
	LateAnswer:    {LateAnswer, false},
	ForeignAnswer: {ForeignAnswer, false},
	Proposed:      {Proposed, false},
	Taken:         {Taken, false},
	Reopened:      {Reopened, false},
	Fulfilled:     {Fulfilled, false},
	Unfulfilled:   {Unfulfilled, false},
	Rejected:      {Rejected, true},
	Expired:       {Expired, false},
	Left:          {Left, false},
	ProposalDiff:  {ProposalDiff, false},
	Reloaded:      {Reloaded, false},
	ReloadWaiting: {ReloadWaiting, false},
	ReloadDecided: {ReloadDecided, false},
	Dropped:       {Dropped, false},
	Security:      {Security, false},
	Checkpoint:    {Checkpoint, false},
}
