// Package control is the local door of a bridge: a socket by which the person
// at this machine sees what is asked, and answers.
//
// What is spoken there is JSON-RPC 2.0, one message per line (1 MiB at most
// towards the bridge), no batches. Members that are not listed are refused.
//
//	status          {}                       -> Status
//	list            {after?, asked?, brief?} -> {questions: [Question], more}
//	show            {id}                     -> {question: View}; any unique prefix of the id will do
//	decide          {id, digest, result}     -> Outcome; result is that of an elicitation
//	watch           {}                       -> {}, and from then on notifications "event" with an Event
//	grants/list     {}                       -> {grants: [Grant]}
//	grants/revoke   {id}                     -> {revoked}
//
// Only decide and grants/revoke change anything, and a decision must carry the
// digest of what was shown (RELIABILITY AI-23). An answer that does not count
// is error -31100 with data {reason, by, detail}.
//
// Who may come in is settled by the file system: the directory is 0700, the
// socket 0600, and where the system tells whose process connects, only those
// of the same user are heard.
package control
