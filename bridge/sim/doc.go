// Package sim is the world around a [bridge.Sidecar] as a simulation: a gateway
// that loses, repeats and forges frames, callers and proposers, people who
// decide, an attacker, an MCP server that dies and lies, a disk that fails, and
// two clocks.
//
// One seed decides everything: which faults there are, who does what and when.
// Everything runs on one goroutine in the order of a virtual clock, with one
// stream of chance for each part, so that the same seed always gives the same
// trace. What crosses the boundary of the Sidecar are the real bytes: frames in
// a real dialect, lines of JSON-RPC, records of the audit log.
//
// A checker watches that boundary. It knows of the Engine only what anybody
// could see: frames, lines, records, events. It has its own idea of who may
// agree to what, and shares no code with the Engine.
//
// A run has two phases. In the first, faults strike and nothing wrong may
// happen (I1 to I11, I13, I16, I17). Then everything is mended, and whatever was begun
// must come to its end (I12). Calm seeds have no faults; there the outcome of
// every call is known beforehand, and must not change when the policy is
// loosened elsewhere (I14) or when somebody else makes noise (I15).
//
// The numbers of the invariants are those of the table in bugs.md.
package sim
