// Package inflight is the calls on their way, and what becomes of each from its arrival to
// its end: its [Phase], and the table of the steps from one phase to the next. A call that
// is over takes no step any more, so it can neither start nor be answered again.
//
// A [Table] finds calls by what others know them by: the server by a number, their callers
// by their own ids, people by the question. It is the Engine's alone, which may write the
// fields of a [Call] save its Phase: that changes by [Call.On].
//
// Nothing here decides, sends or waits.
package inflight
