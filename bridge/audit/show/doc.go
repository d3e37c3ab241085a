// Package show finds audit logs, picks records out of them, and says them to people.
//
// [In], [Of], [Find], [Only] and [Every] find the logs that a person means; [Filter] is which of their
// records are wanted, in the words of the command line, and [Filter.In] yields them; [Words] is a
// record on one line, [Layout] the same for a terminal; [Report] is what a verification came to,
// and [Hint] what to do when it failed. All lines are fit to be shown.
//
// It reads directories and notes, and writes nothing: package audit reads the logs. Errors are
// *fault.Error where a person can do something about them.
package show
