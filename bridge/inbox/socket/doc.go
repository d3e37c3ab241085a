// Package socket is the local door of a bridge: HTTP over a unix socket, by which the
// person at this machine sees what is asked, and answers.
//
//	GET    /status                  an inbox.Status
//	GET    /questions[?args=true]   {"questions": [approval.Summary]}, oldest first
//	GET    /questions/{id}          an approval.View; any prefix that no other id has will do
//	POST   /questions/{id}/answer   {"digest", "result"} -> inbox.Outcome; result is that of an elicitation
//	GET    /watch                   server-sent events, each an inbox.Event; they begin with the answer's head
//	GET    /grants                  {"grants": [inbox.Grant]}
//	DELETE /grants/{id}             {"revoked": true or false}
//	POST   /halt                    {"reason", "cancel"} -> inbox.Halted, where the inbox is an inbox.Halter; so is
//	POST   /resume                  {"reason"} -> {}
//	POST   /explain                 inbox.Call -> {"words"}, where the inbox is an inbox.Explainer
//
// An answer that does not count is 409 with an inbox.Refusal, anything else that fails
// {"error": sentence} with another status. Only POST and DELETE change anything, and /explain nothing. What
// is sent with a request is read strictly: at most 1 MiB, as application/json, and
// members that are not listed, are spelled in another case or come twice are refused,
// as are queries.
//
// [Handler] is all of that for any inbox.Inbox, and [Mount] puts it below a path of
// another surface, for several: bridge/inbox/web has it at /api/{bridge}. [Server] puts it
// behind a socket, and [Client] is an inbox.Inbox by way of one.
//
// Who may come in is settled by the file system: the directory is 0700, the socket
// 0600, and where the system tells whose process connects, only those of the same user
// are heard. A client that reads nothing for ten seconds is cut; the bridge never waits
// for one.
package socket
