// Package record is what happened, as the owner of a bridge is told of it: a [Record]
// is a line of --json output and of the audit log. Its [Event] has one name, and
// [Record.AuditedAs] and [Record.Final] say which are kept, under which name, and which must
// not be lost.
//
// The package turns records into JSON, each into one line, and reads none. It does no
// I/O and has no clock: whoever makes a record sets its time.
package record
