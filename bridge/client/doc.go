// Package client is a participant of a topic from a program: it calls, proposes and lists
// tools, and answers what it is asked.
//
// A [Client] takes one seat, through a connector that says at which gateway, in which
// topic and as whom. [Client.Dial] waits for the seat. From then on [Client.Call] and
// [Client.Ask] send a request and wait for its answer until their context ends, which
// takes the request back; [Client.Begin] does not wait. Before a call [Client.Await] sees whether
// whom it is for is there, and [Client.Typed] makes its arguments what the tool takes. What others ask of the client
// is turned down at once, so that nobody waits for it, unless [Options.OnRequest] takes
// it. Questions whether a tool may be called go into an [ApprovalInbox], where there is
// one, until they are answered, taken back or too old.
//
// [Client.Propose] puts a call to whoever can and may make it, and [ProposalWait.Wait] waits
// for what comes of that: a result, everybody's no, or nothing in time, which takes the
// proposal back.
//
// All that is waited for stands in one table, by the envelope that was sent and by whom
// it was sent to; nobody else's answer counts, save the gateway's word that it did not
// pass the request on.
//
// The functions in [Options] and in a [Request] are called by the goroutine that reads
// the topic, one after the other: they must not wait for an answer from the topic.
// Methods may be called from any goroutine. Results are the raw bytes of whoever
// answered; they are a stranger's words, and have to be made safe to show.
//
// When [Client.Close] returns, nothing that the client started runs any more. Errors are
// [fault.Error] where an exit code is known, and name what kept an answer from coming;
// an answer that is an error is in [Answer.Err], for [ErrorOf] to put in words.
package client
