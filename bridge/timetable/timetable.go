// Package timetable keeps things in the order of the moments at which they are due. It has no
// clock and no goroutine: the caller passes the time and asks what is due. Setting, moving
// and dropping an entry take time in the logarithm of how many there are. It imports nothing
// of ours and promises that entries of equal moments come in the order in which they were set.
package timetable

import (
	"container/heap"
	"time"
)

// A Table holds entries, the soonest first; equal moments in the order in which
// they were set. The zero Table is empty. One goroutine at a time may use it.
type Table[T any] struct {
	entries entries[T]
	count   uint64
}

// An Entry is one thing and its moment.
type Entry[T any] struct {
	What  T
	at    time.Time
	order uint64 // of setting
	place int    // in the table; -1 when it is not there
}

// Set puts something into the table.
func (t *Table[T]) Set(at time.Time, what T) *Entry[T] {
	t.count++
	e := &Entry[T]{What: what, at: at, order: t.count}
	heap.Push(&t.entries, e)
	return e
}

// Move gives an entry another moment. An entry that is not in the table is left as it is.
func (t *Table[T]) Move(e *Entry[T], at time.Time) {
	if e.Stands() {
		e.at = at
		heap.Fix(&t.entries, e.place)
	}
}

// Drop takes an entry out. It is safe for one that is not there, and for nil.
func (t *Table[T]) Drop(e *Entry[T]) {
	if e.Stands() {
		heap.Remove(&t.entries, e.place)
	}
}

// Stands reports whether the entry is in its table; nil is in none.
func (e *Entry[T]) Stands() bool { return e != nil && e.place >= 0 }

// Next returns the soonest moment; zero if the table is empty.
func (t *Table[T]) Next() time.Time {
	if len(t.entries) == 0 {
		return time.Time{}
	}
	return t.entries[0].at
}

// Due returns the soonest entry if its moment has come, else nil. It stays in the
// table.
func (t *Table[T]) Due(now time.Time) *Entry[T] {
	if len(t.entries) == 0 || t.entries[0].at.After(now) {
		return nil
	}
	return t.entries[0]
}

// entries are a heap.
type entries[T any] []*Entry[T]

func (h entries[T]) Len() int { return len(h) }

func (h entries[T]) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].order < h[j].order
	}
	return h[i].at.Before(h[j].at)
}

func (h entries[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *entries[T]) Push(x any) {
	e := x.(*Entry[T])
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *entries[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.place = -1
	return e
}
