package wire

// A Class says how urgent a frame is where sending is paced: up to Progress, the lower, the
// sooner (WIRE W-3), but that one which waits long has a turn. Progress may be dropped for newer
// progress, nothing else; a Claim is not kept: it goes at once or is refused.
type Class uint8

const (
	Reply        Class = iota // responses and rejects
	Cancellation              // notifications/cancelled, withdrawals; behind what they take back, if that waits
	Question                  // elicitations
	Own                       // requests of our own
	Notice                    // notifications
	Progress                  // notifications/progress
	Claim                     // a request of ours that counts once it has come back before others': it must not wait unseen
)
