// Package notify tells people of questions where they are, for whoever does not look at a terminal,
// by the channels that the policy names and by the command of --notify.
//
//	inbox.Watch -> Schedule -> the public view, as a Notice -> channel.Channel
//	                      <- what came of it
//	channel.Listener -> Answer -> the inbox of the participant it is from
//
// The [Schedule] is pure: which channel hears what, and when: at once, after a time without an
// answer, again when half of the time is over and when nine tenths are, that it is closed. Each
// notice is what may leave this machine (see inbox.Public). A channel that fails is left alone for
// longer and longer, has few notices on their way at one time, and holds up no other; nobody waits
// for any, a call least.
//
// A channel decides nothing, unless the policy trusts it with answers. Then they count as those of
// the participants that the policy says they are from, who must have been asked over the topic and
// whose own inbox takes the decision, with the digest that was shown.
//
// Nothing here does any I/O of its own: what goes out, and what comes in, is channel's.
package notify
