// Package engine is all judgement of a bridge, in one place without I/O: the [Engine] is
// told what happened and returns what is to be done. A call takes one road:
//
//	Arrived -> addressed to exactly us? -> seen before? -> method known?
//	        -> tool offered? arguments fit its inputSchema?
//	        -> policy -> room for it? -> on record -> Write to the server
//	ServerSaid -> whose call? -> Send to the caller, with its id and token back
//
// What somebody proposes joins that road as soon as it is ours to serve (see
// [proposal.Book]); where the road ends early its proposer hears a reject:
//
//	Arrived -> Book: ours, and now? -> tool offered? … -> policy, raised to a
//	           question unless the owner said otherwise -> on disk
//	        -> Send a request to ourselves, for all to see -> Write to the server
//
// Nothing else starts a call, and nothing else answers one. What the Engine knows of
// calls, tools, earlier requests and held answers is kept in packages below it, which
// never call it. Package bridge carries out what it says.
package engine
