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
// Nothing else starts a call, and nothing else answers one. Two goroutines do
// the work, the one that reads the topic and the one that reads the server;
// both hand their events to the Engine under one lock, and neither ever waits
// for a slow peer.
package bridge
