// Package show finds audit logs, picks records out of them, and says them to people.
//
// [In], [Find] and [Only] find the log that a person means; [Filter] is which of its records
// are wanted, in the words of the command line; [Words] is a record on one line, [Report] what
// a verification came to, and [Hint] what to do when it failed. All lines are fit to be shown.
//
// It reads directories and notes, and writes nothing: package audit reads the logs. Errors are
// *fault.Error where a person can do something about them.
package show
