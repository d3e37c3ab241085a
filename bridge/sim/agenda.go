package sim

import (
	"container/heap"
	"time"
)

// An agenda is what is going to happen, the soonest first; of what happens at
// the same time, what was planned first.
type agenda struct {
	heap  plans
	count uint64
}

type plan struct {
	at    time.Duration
	order uint64
	outer bool // comes from outside: may happen while records are being written
	do    func()
	index int
}

func (a *agenda) add(at time.Duration, outer bool, do func()) *plan {
	a.count++
	p := &plan{at: at, order: a.count, outer: outer, do: do}
	heap.Push(&a.heap, p)
	return p
}

func (a *agenda) next() *plan { return heap.Pop(&a.heap).(*plan) }

func (a *agenda) drop(p *plan) {
	if p != nil && p.index >= 0 {
		heap.Remove(&a.heap, p.index)
	}
}

// soonestOuter takes the first plan that comes from outside before a time; nil
// if there is none.
func (a *agenda) soonestOuter(by time.Duration) *plan {
	var first *plan
	for _, p := range a.heap {
		if p.outer && p.at <= by && (first == nil || p.before(first)) {
			first = p
		}
	}
	a.drop(first)
	return first
}

func (p *plan) before(q *plan) bool { return p.at < q.at || p.at == q.at && p.order < q.order }

type plans []*plan

func (h plans) Len() int           { return len(h) }
func (h plans) Less(i, j int) bool { return h[i].before(h[j]) }

func (h plans) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *plans) Push(x any) {
	p := x.(*plan)
	p.index = len(*h)
	*h = append(*h, p)
}

func (h *plans) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	p.index = -1
	return p
}
