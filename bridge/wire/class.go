package wire

// A Class says how urgent a frame is where sending is paced: the lower, the
// sooner (WIRE W-3). Progress may be dropped for newer progress, nothing else.
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
