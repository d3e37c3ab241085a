// Package inflight is what becomes of a call from its arrival to its end: its [Phase], and
// the table of the steps from one phase to the next. A call that is over takes no step any
// more, so it can neither start nor be answered again.
//
// It knows nothing of policies, questions or topics, and does nothing of its own accord.
package inflight
