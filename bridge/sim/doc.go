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
// happen (I1 to I10, I13, I16, I17, and of I12 that no answer is given up too
// soon). Then everything is mended, whatever was begun must come to its end (I12),
// and nothing may be pending in the end (I11). Calm seeds have no faults; there the outcome of
// every call is known beforehand, nothing may run under a stricter policy that
// did not run before (I14), and nothing may change when somebody else makes
// noise (I15).
//
// The numbers of the invariants are those of the table in bugs.md.
//
// What is where:
//
//	sim option world        one seed, what it decides, and how its world goes on
//	agenda dice trace       what is to happen when, chance, and what has happened
//	fault                   what goes wrong, and how often
//	process disk kept       the lives of the bridge, and what it leaves on disk
//	gateway server local    its ways out: topic, MCP server, the local door
//	people proposer hints   who calls, decides and proposes
//	attacker reading        who lies, and how the checker reads that
//	rules                   policies, as the world knows them and as the Engine reads them
//	checker claim           what the checker knows, and of each request
//	starting watching       what it sees leave for the server, and for the topic
//	letter shown            what it reads of that, and what people are shown
//	granted offered         what it knows of yeses that last, and of proposals
//	share lure quitting     floods, requests that name a proposal, calls that nobody waits for
//	modern absence          a server that tells nothing, who is here
//	lastword finish         which refusals are true, and what must be so in the end
//	tally                   what happened how often, for whoever doubts that enough did
//
// Command simulate lets worlds be, command mutants lets them be around bridges
// that are broken on purpose, by the patches in testdata/mutants.
package sim
