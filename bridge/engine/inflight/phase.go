package inflight

// An Origin is who wants a call made.
type Origin uint8

const (
	Participant Origin = iota // a participant, who requests it
	Proposal                  // a participant who proposed it: we serve that of our own accord
	Host                      // the client that the server belongs to
	Self                      // we
)

// A Phase is how far a call has come. Their order counts: Unstarted and Settled go by it.
type Phase uint8

const (
	Received  Phase = iota // judged, and nothing has come of it yet
	Looking                // its paths are looked up; when that is done it is judged again, still in this phase
	Asked                  // somebody is being asked about it
	Agreed                 // it may run, once that is on record and looked at again
	Claiming               // the same, once it is known that nobody else came first to serve its proposal
	Parked                 // the same, once the server is up and has said what its tools are
	Running                // the server has it, and its caller waits
	Returned               // the server is done with it, and its caller has not heard
	Abandoned              // the server has it, and its caller does not wait any more
	Overdue                // the same, and the server has had its time to stop (Expire)
	Done                   // nobody has anything to do with it any more

	phases = Done + 1
)

func (p Phase) String() string {
	return [...]string{"received", "looking", "asked", "agreed", "claiming", "parked", "running", "returned", "abandoned", "overdue", "done"}[p]
}

// Unstarted reports whether a call has not been given to the server, and may still be.
func (p Phase) Unstarted() bool { return p < Running }

// Settled reports whether the caller has had its last word on a call, or wants none.
func (p Phase) Settled() bool { return p >= Abandoned }

// An Event is what takes a call from one phase to another.
type Event uint8

const (
	Look   Event = iota // before a question about it, it is looked up where its paths lead
	Ask                 // a question about it is put
	Agree               // it was allowed, or agreed to, and that goes on record
	Claim               // everybody sees that we would serve its proposal
	Park                // it has to wait for the server
	Resume              // what it waited for has come
	Start               // it is given to the server
	Return              // the server has answered it, or is gone, or never got it
	Settle              // its caller has had its last word, or wants none
	Expire              // the server was told a while ago that nobody wants it

	events = Expire + 1
)

func (e Event) String() string {
	return [...]string{"look", "ask", "agree", "claim", "park", "resume", "start", "return", "settle", "expire"}[e]
}

// transitions has every step that a call may take. No event leads back to Received, so
// that stands for what cannot happen.
var transitions = [phases][events]Phase{
	Received:  {Look: Looking, Ask: Asked, Agree: Agreed, Start: Running, Settle: Done},
	Looking:   {Ask: Asked, Agree: Agreed, Start: Running, Settle: Done},
	Asked:     {Agree: Agreed, Settle: Done},
	Agreed:    {Claim: Claiming, Park: Parked, Start: Running, Settle: Done},
	Claiming:  {Resume: Agreed, Settle: Done},
	Parked:    {Resume: Agreed, Settle: Done},
	Running:   {Return: Returned, Settle: Abandoned},
	Returned:  {Settle: Done},
	Abandoned: {Return: Done, Expire: Overdue},
	Overdue:   {Return: Done},
}

// On is the phase after an event; false, and the same phase, for one that cannot be in it.
func (p Phase) On(e Event) (Phase, bool) {
	if next := transitions[p][e]; next != Received {
		return next, true
	}
	return p, false
}

// A Line is what became of the line with which a call goes to the server.
type Line uint8

const (
	NoLine Line = iota // there is none yet
	Written
	Unrecorded // it was held back, as the start of the call could not be put on record
)

// A ClaimState is how a call stands with a proposal that it would serve of our own accord.
type ClaimState uint8

const (
	Unclaimed ClaimState = iota
	Claimed              // the request to ourselves that claims it is on its way
	Seen                 // and has left, so that everybody may have seen it
	Won                  // we serve it
)
