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
// happen (I1 to I10, I13, I16 to I19, and of I12 that no answer is given up too
// soon). Then everything is mended, whatever was begun must come to its end (I12),
// and nothing may be pending in the end (I11). Calm seeds have no faults; there the outcome of
// every call is known beforehand, nothing may run under a stricter policy that
// did not run before (I14), and nothing may change when somebody else makes
// noise (I15).
//
// The numbers of the invariants are those of the table in bugs.md.
//
// What is where, from below; no file uses one that stands under it here:
//
//	dice trace agenda fault       chance, what has happened, what is to, and what goes wrong
//	folder                        which notes are in a folder, and which yes covers more than one
//	who rules option tally        who is there, policies, what a seed decides, what happened how often
//	letter hints frame reading    what is said by the bridge and to it, and how that is read
//	answer claim scene            what the checker knows of a request, and can see of a world
//	checker                       its books, and what it asks them
//	planned why                   plans, and why calls are made
//	absence streak share unread   who is here, refusals in a row, floods, what can be read in two ways
//	halted                        when nothing may start, and no time of a question passes
//	granted contest               yeses that last, and who serves a proposal
//	filed votes shown             a changed policy, answers to questions, what people are shown
//	signed                        yeses that take a passkey
//	surfaces                      what a surface is told of an answer, and what it shows outside
//	looking quitting lastword     a server that tells nothing, what nobody waits for, which refusals are true
//	offered                       proposals
//	recall hearing starting       what the checker sees: that a life begins, frames, lines for the server
//	replies watching records      answers and all else that leaves, and records
//	finish                        and what must be so in the end
//	world owner lives             a bridge with the parts around it, who keeps its policy, its starts and its ends
//	signing                       passkeys, and what goes wrong with them
//	disk server gateway           of these what the log is written to, the MCP server, the topic
//	local                         who sits at this machine
//	person proposer lure offers   who calls and proposes, and what others make of that
//	planner                       and who plans
//	people attacker               who decides, and who lies
//	phone card                    where else people answer: by a channel, and in a client of serve
//	run sim                       how a world goes on, and what one seed comes to
//
// Command simulate lets worlds be, command mutants lets them be around bridges
// that are broken on purpose, by the patches in testdata/mutants.
package sim
