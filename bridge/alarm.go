package bridge

import (
	"container/heap"
	"time"
)

// An alarm is a moment at which the Engine has something to do of its own
// accord.
type alarm struct {
	at    time.Time
	ring  func()
	order uint64 // of setting; equal moments ring in this order
	place int    // in the heap; -1 when it is not set
}

// alarms are the moments to come, soonest first.
type alarms struct {
	heap  alarmHeap
	count uint64
}

func (a *alarms) set(at time.Time, ring func()) *alarm {
	a.count++
	al := &alarm{at: at, ring: ring, order: a.count}
	heap.Push(&a.heap, al)
	return al
}

// stop is safe for an alarm that has rung, and for nil.
func (a *alarms) stop(al *alarm) {
	if al != nil && al.place >= 0 {
		heap.Remove(&a.heap, al.place)
	}
}

func (a *alarms) next() time.Time {
	if len(a.heap) == 0 {
		return time.Time{}
	}
	return a.heap[0].at
}

func (a *alarms) ringDue(now time.Time) {
	for len(a.heap) > 0 && !a.heap[0].at.After(now) {
		heap.Pop(&a.heap).(*alarm).ring()
	}
}

type alarmHeap []*alarm

func (h alarmHeap) Len() int { return len(h) }

func (h alarmHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].order < h[j].order
	}
	return h[i].at.Before(h[j].at)
}

func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *alarmHeap) Push(x any) {
	al := x.(*alarm)
	al.place = len(*h)
	*h = append(*h, al)
}

func (h *alarmHeap) Pop() any {
	last := len(*h) - 1
	al := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	al.place = -1
	return al
}
