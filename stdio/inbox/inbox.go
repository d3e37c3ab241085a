// Package inbox reads from one socket without telling Go's scheduler.
//
// An ordinary read tells it before and after, for it might wait. One from a socket
// in non-blocking mode never does. And where a program has been idle, telling the
// scheduler wakes a thread of the runtime (sysmon) that looks after system calls
// which take long. That takes longer than the read, and a core from whoever is to
// answer. Package outbox writes to sockets in the same way.
//
// A pipe is read the ordinary way in any mode: the process at its other end can
// hold its lock for as long as it likes (by splicing from where nothing comes, or
// by writing memory that has yet to be found), and while a read that the scheduler
// does not know of waits for that, the whole program stands still.
//
// The race detector is told of such a read what it would have seen of an ordinary one.
package inbox
