// Package channel is the ways out of this machine by which people hear of questions: ntfy, a signed
// webhook, Slack, Telegram, mail, a command. Each is a few requests over what the standard library
// and gorilla/websocket have; none listens, none needs an address that others reach.
//
//	policy.Channel -> Open -> Send(Notice)
//	                       -> Listen: answers, where the policy trusts the channel with them
//
// A [Notice] has what may leave this machine (see inbox.Public) and no more. What others wrote in it
// is shown as text by every channel: none of it is markup, a header, an address or a command.
//
// Send makes one try, for as long as its context lasts, and knows nothing of schedules. Its errors
// never show a secret, nor a URL, which may hold one. Secrets are read when a channel is opened.
package channel
