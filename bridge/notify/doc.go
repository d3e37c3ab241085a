// Package notify tells of questions by a command of the owner's, for whoever does not look at
// a terminal: a notice on the desktop, a chat, a telephone.
//
//	inbox.Watch -> asked -> queue -> the public view, as one JSON object -> stdin of the command
//
// The command gets what may leave this machine (see inbox.Public) and no more, in a session of
// its own, so that it cannot draw on the terminal; what it prints is not shown. Nobody waits
// for it: a few run at one time, each for a bounded time, others queue, and what finds the
// queue full is left out, with a warning. It decides nothing.
package notify
