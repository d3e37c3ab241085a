// Package hub keeps topics without any transport: who is in a topic, in which order things
// are said there, what was said lately, and which answer belongs to which request. A [Hub]
// holds any number of topics; a [Session] is one participant's stay in one of them. How its
// frames come in and go out is for package gateway, which hands every frame that it reads
// to [Session.Ingest], and gives the hub a [Sink] for all that the participant gets.
//
// A topic is a state machine over a log. Everything that changes it is an [Entry]: somebody
// joined, somebody left, something was said. Entries are published to a [Log], which puts
// those of one topic into one order and hands each back to [Topic.Deliver]; only then does
// anybody hear of them, the one who published included. So several hubs whose logs agree on
// the order agree on everything else: who was there, whose request an answer is, what a
// participant could not be told in its dialect.
//
// Three small interfaces stand between the hub and whatever keeps its topics:
//
//   - [Log]: publish and subscribe, in one order per topic.
//   - [Presence]: leases of seats. Each has an epoch, and of two sessions under one id the
//     one with the greater epoch stays.
//   - [History]: what was said lately, within bounds.
//
// Those in memory, which a hub has unless it is given others, answer at once: an entry is
// delivered before Publish returns, by the goroutine that read it, under the lock of its topic,
// and no goroutine or queue in between. Others may take their time and may fail. Therefore
// nobody reads off an entry what became of it: that is a verdict, which the topic sends to
// the session as frames and calls of its Sink, sooner or later. An entry that the log could
// not take ([Topic.Lost]) is told to who said it. What one participant says waits for a log with
// 32 MiB at most: from half of that on who can wait is slowed ([Session.Ease]), and at the end
// of it frames are answered with a fault, as nobody got them. So a log that takes seconds costs
// those who speak time, and neither memory nor anything unseen.
//
// Entries have a form as bytes ([Entry.Append], [ReadEntry]), for logs and histories that keep or
// send them.
//
// A topic is public. Every frame goes to every other participant, whoever it is addressed
// to; the sender gets a copy only where `to` names it, in mew always. An answer of somebody
// who was not asked goes to nobody. Between participants of the same dialect a frame passes
// byte for byte, between others it is spelled anew by package wire. Frames are never changed
// in place: recipients share their bytes.
//
// What a token permits is asked of what a frame is, not of how it is spelled
// (wire.Caps.Permits): mcp/request:tools/call:read_* means the same to a participant of
// mcp-x/v0, whose every frame is called mcp, and to one of mew. Grants, revocations and kicks
// of the mew family pass like any frame; the hub does not act on them. It answers for `from`,
// for what only a gateway may say, and for capabilities. It judges no payload.
//
// The hub may use package wire and JSON. It starts no goroutine, opens nothing, and waits for
// nobody but in [Hub.Join].
package hub
