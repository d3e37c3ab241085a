// Package topic keeps one seat at one topic. It dials the gateway, finds out
// which dialect is spoken, waits for the welcome, reads and sends frames, notices
// a dead link, and joins again when the link is lost.
//
// [New] checks the [Options] and does no I/O. [Seat.Run] does the work, in the
// goroutine that called it, and tells a [Handler] what happens:
//
//	token -> dial -> first frame (or, after a silence, our join) -> welcome
//	      -> SeatTaken -> Received … -> SeatLost -> wait -> token …
//
// Each session has one more goroutine, for what depends on time: the join, the
// limit for the welcome, pings, and the check that the gateway still lists us.
// Nothing here waits for a slow gateway: frames are put into an outbox and leave
// together when the reader is about to block.
//
// The package promises that no two sessions of a Seat overlap, that a frame is
// sent at most once, and that no token is logged or traced. It does not promise
// that a frame is handed on only once: if the gateway delivers it twice, the
// Handler receives it twice. The engine remembers, across sessions and restarts,
// which calls have run. No roster is kept here.
//
// It may open sockets and read the clock. It touches no file and no environment.
package topic
