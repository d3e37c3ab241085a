package hub

import (
	"cmp"
	"container/heap"
)

// A requestKey names a request: who asked, and the id of the frame. By the id
// alone one participant could overwrite what another one asked.
type requestKey struct{ from, id string }

// share is how many requests of each participant are forgotten like everybody's: the oldest
// first. Whoever has asked more than others has them forgotten before theirs, so that nobody can
// have what those asked forgotten who asked less, while they do not lose it to the many who asked once.
const share = 64

// An order says which of the requests that are remembered is forgotten next: the oldest of
// whoever has most of them. It depends on the frames of the topic and their
// order alone, as all state of a topic does.
type order struct {
	slots  []slot
	askers map[string]*asker
	most   mostFirst
	count  int // of all that came
}

// A slot is one request that is remembered.
type slot struct {
	id   string
	came int
	next int // the slot of what the same participant asked next
}

// An asker is who has asked what stands in n slots.
type asker struct {
	id          string
	n           int
	first, last int // slots
	since       int // when the first of them came
	place       int // in the heap
}

// add notes a request that was not there, and returns the one that is to be forgotten for it,
// if there are limit already.
func (o *order) add(q requestKey, limit int) (oldest requestKey, full bool) {
	a := o.askers[q.from]
	if a == nil {
		a = &asker{id: q.from}
	}
	at := len(o.slots)
	if full = at >= limit; full {
		oldest, at = o.take(a)
	} else {
		o.slots = append(o.slots, slot{})
	}
	o.count++
	o.slots[at] = slot{id: q.id, came: o.count}
	if a.n++; a.n == 1 {
		a.first, a.since = at, o.count
		o.askers[a.id] = a
		heap.Push(&o.most, a)
	} else {
		o.slots[a.last].next = at
		heap.Fix(&o.most, a.place)
	}
	a.last = at
	return oldest, full
}

// take makes room for one more request of a: it empties the slot of a's own oldest if a has its share
// and nobody has more, else that of whoever is first in the heap.
func (o *order) take(a *asker) (oldest requestKey, at int) {
	if v := o.most[0]; a.n < share || a.n < v.n {
		a = v
	}
	at = a.first
	oldest = requestKey{a.id, o.slots[at].id}
	if a.n--; a.n == 0 {
		heap.Remove(&o.most, a.place)
		delete(o.askers, a.id)
		return oldest, at
	}
	a.first = o.slots[at].next
	a.since = o.slots[a.first].came
	heap.Fix(&o.most, a.place)
	return oldest, at
}

// mostFirst implements heap.Interface: first comes who has most, or of those who have no more than
// their share whose first request is the oldest.
type mostFirst []*asker

func (h mostFirst) Len() int { return len(h) }

func (h mostFirst) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(max(h[j].n, share), max(h[i].n, share)), cmp.Compare(h[i].since, h[j].since)) < 0
}

func (h mostFirst) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *mostFirst) Push(x any) {
	a := x.(*asker)
	a.place = len(*h)
	*h = append(*h, a)
}

// Pop implements heap.Interface.
func (h *mostFirst) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return a
}
