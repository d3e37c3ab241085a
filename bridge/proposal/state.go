package proposal

// A State is how a proposal stands. Whether it is over for us, [State.Over]
// says. What happens to one that is addressed to us, if nothing else happens:
//
//	pending -> asking -> contending -> running -> fulfilled
//
// In the words of WIRE 7.8 waiting is WAITING_TARGETING, asking is APPROVING,
// and contending, claimed and running are FULFILLING. What that calls ABORTED is withdrawn
// where the proposer has left, and claimed, running or fulfilled where
// somebody else has taken it up.
type State uint8

const (
	nowhere    State = iota
	Watched          // for others to serve; we remember what they make of it
	Waiting          // for those whom its proposer prefers
	Pending          // ours to judge
	Asking           // people decide about it
	Contending       // our request for it is out, and whether it came first is not known yet
	Claimed          // somebody has made the request here in its place, and people decide about that
	Running          // a request for it is being served, here or elsewhere
	Fulfilled        // and was, with a result
	Failed           // and was not; somebody may request it again
	Rejected         // we said that we do not serve it; others may
	Withdrawn        // its proposer wants it no more
	Expired          // its time is over
	states
)

var names = [states]string{"", "watched", "waiting", "pending", "asking", "contending", "claimed", "running", "fulfilled", "failed",
	"rejected", "withdrawn", "expired"}

func (s State) String() string { return names[s] }

// Over reports whether nothing more will be done about it here, unless somebody
// asks anew.
func (s State) Over() bool { return s >= Fulfilled }

// An event is what can happen to a proposal.
type event uint8

const (
	due       event = iota // whom we waited for will not serve it
	passed                 // we leave it to others, without a word
	refused                // we do not serve it, and say so
	asked                  // people are asked about it
	contends               // our request for it goes out
	claimed                // a participant requests it here, and people are asked about that
	started                // the request for it goes to our server
	taken                  // a participant requests it of another one
	served                 // the request for it has its result
	failed                 // the request for it has come to nothing
	settled                // another participant answered it without a request
	withdrawn              // its proposer takes it back
	abandoned              // its proposer has left
	overdue                // its ttl is over
	reopened               // the request for it came to nothing, and it was ours to serve before
	requeued               // the same, and it still waits for others
)

// table is WIRE 7.8: where each event leads, and from where. What is not here
// happens too late, or too early, and changes nothing. Nothing leads back to
// Pending but reopened and requeued, which the Book lets happen only to what somebody else took
// from us: what was once decided is not decided again.
var table = map[event]map[State]State{
	due:       {Waiting: Pending},
	passed:    {Waiting: Watched, Pending: Watched, Asking: Watched, Contending: Watched},
	refused:   {Waiting: Rejected, Pending: Rejected, Asking: Rejected, Contending: Rejected},
	asked:     {Pending: Asking},
	contends:  {Pending: Contending, Asking: Contending},
	claimed:   from(Claimed, Watched, Waiting, Pending, Asking, Contending, Rejected, Failed),
	started:   from(Running, Watched, Waiting, Pending, Asking, Contending, Claimed, Rejected, Failed),
	taken:     from(Running, Watched, Waiting, Pending, Asking, Contending, Rejected, Failed),
	served:    from(Fulfilled, Running),
	failed:    from(Failed, Running, Claimed),
	settled:   from(Fulfilled, Watched, Waiting, Pending, Asking, Contending, Rejected, Failed),
	withdrawn: from(Withdrawn, Watched, Waiting, Pending, Asking, Contending, Claimed, Rejected, Failed),
	abandoned: from(Withdrawn, Watched, Waiting, Pending, Asking, Contending),
	overdue:   from(Expired, Watched, Waiting, Pending, Asking, Contending),
	reopened:  {Running: Pending, Claimed: Pending},
	requeued:  {Running: Waiting, Claimed: Waiting},
}

func from(to State, some ...State) map[State]State {
	all := map[State]State{}
	for _, s := range some {
		all[s] = to
	}
	return all
}

// after is where an event leads from s; s itself if it changes nothing.
func (s State) after(ev event) State {
	if to, moves := table[ev][s]; moves {
		return to
	}
	return s
}
