// Package bridge is the sidecar between a topic and an MCP server.
//
// All judgement is in one place without I/O, the [Engine]; the [Sidecar] is
// the shell that feeds it and carries out what it says. A call takes one road:
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
// Nothing else starts a call, and nothing else answers one. Two goroutines do
// the work, the one that reads the topic and the one that reads the server;
// both hand their events to the Engine under one lock, and neither ever waits
// for a slow peer.
package bridge
