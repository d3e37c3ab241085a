// Package prompt puts questions before the person at a terminal, and takes
// their answers.
//
//	inboxes (of bridges, or of a participant) -> list -> one question, to its end -> a key, and Enter -> answer
//
// It draws on the last lines of the screen, so that what is said above stays.
// A decision takes a key and Enter, is for what has been shown to its end, and
// is never taken from keys that were typed before that was on the screen.
// Without a terminal it is spoken to in lines, and each answer must repeat the
// digest of its question.
package prompt
