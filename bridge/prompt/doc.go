// Package prompt puts questions before the person at a terminal, and takes
// their answers.
//
//	inboxes (of bridges, or of a participant) -> list -> one question, to its end -> keys -> answer
//
// A question that comes up sounds the bell, and the title of the window counts those that
// are open.
//
// It draws on the last lines of the screen, so that what is said above stays.
// A yes takes a key and the beginning of the digest, all else a key and Enter. A decision is for
// what has been shown to its end, and never comes of keys that were typed before that was on the
// screen.
// Keys of their own resume a bridge that is halted, and show a new link to the page of that which
// runs at this terminal; they are heard in the list, and while nothing is asked, too.
// Without a terminal it is spoken to in lines ([Lines]), and each answer must repeat the
// digest of its question.
//
// It touches the terminal that it is given, reads nothing while another job has that, and
// leaves it as it was. It opens no file and no socket: a [Finder] finds the inboxes, and
// what it knows of a question comes from there. When Run returns, nothing that it started
// runs any more, but for a read of Lines.In that never ends, or a write to a terminal that takes
// none.
package prompt
