// Package outgoing is the answers that wait to leave: for the seat to come back, for their
// addressee to, for the end of a pause, or for room on the way out.
//
// A [Queue] keeps them in the order in which their minutes end, and within bounds: what
// does not fit any more it gives back to whoever has to say that it is lost. Who is here,
// and whether an answer may leave, the Engine knows; it puts the question, and the queue
// sends nothing.
package outgoing
