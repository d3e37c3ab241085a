// Package events puts what happens at a bridge before its owner, as JSON lines for programs or as
// a log for people.
//
// [Events.Emit] is the Emit of a node, [Events.Note] its Note. What others can have written by
// coming and going is bounded, and what is left out is counted; nobody is waited for.
package events
