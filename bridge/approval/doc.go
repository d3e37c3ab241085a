// Package approval asks people whether a call may run: questions in, acts out.
// It has no goroutine, clock, random source or I/O of its own; the same events
// give the same acts.
//
// A question takes one road:
//
//	Open -> granted before? -> caps, cool-down -> who may decide and is here?
//	     -> Show to each (all at once, or one after the other)
//	Answer -> whose question, from whom it was put to? -> accept with approve?
//	       -> edits -> a passkey's signature, where the terms want one (Draft, ToSign, Signed) -> Verify
//	Verified -> may it still run? -> enough who agreed to the same bytes? -> Settled
//
// Nothing else settles a question as allowed. Everything that is not a
// well-formed yes of somebody who was asked is a no or counts for nothing, and
// whatever comes first is final (WIRE 7.2; RELIABILITY 2.1).
package approval
