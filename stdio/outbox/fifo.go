package outbox

// A fifo is a first-in first-out list that reuses its memory.
type fifo[T any] struct {
	list []T
	head int
}

func (f *fifo[T]) len() int { return len(f.list) - f.head }

// at returns the i-th element from the front. It is valid until the next push.
func (f *fifo[T]) at(i int) *T { return &f.list[f.head+i] }

func (f *fifo[T]) push(v T) {
	if len(f.list) == cap(f.list) && f.head > len(f.list)/2 {
		n := copy(f.list, f.list[f.head:])
		clear(f.list[n:])
		f.list, f.head = f.list[:n], 0
	}
	f.list = append(f.list, v)
}

func (f *fifo[T]) pop() {
	var zero T
	f.list[f.head] = zero
	f.head++
	if f.head == len(f.list) {
		f.list, f.head = f.list[:0], 0
	}
}
