// Package proposal is the life of a proposal as a bridge sees it that may serve
// it (WIRE 7.8). It does no I/O and reads no clock.
//
// A [Book] keeps the lives. What happens to a proposal goes in, what is to be
// done about it comes out as Acts. [State.after] says which event leads where;
// a life never goes back, and it ends once.
package proposal
