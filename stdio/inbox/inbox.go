// Package inbox reads from one descriptor as directly as can be.
//
// An ordinary read tells Go's scheduler before and after, for it might wait. One
// from a descriptor in non-blocking mode never does. And where a program has been
// idle, telling the scheduler wakes a thread of the runtime that looks after
// waiting reads, which takes longer than the read and a core from whoever is to
// answer.
package inbox
