package outbox

import "sync"

const (
	roomSize = 32 << 10 // of one buffer in which small parts are gathered
	maxCopy  = 16 << 10 // largest part that is copied
)

type room [roomSize]byte

var rooms = sync.Pool{New: func() any { return new(room) }}

// A chunk is a stretch of bytes to be written. With a room it is a buffer that
// small parts are added to: never moved, so the front of it can be written
// while its end still grows.
type chunk struct {
	data []byte
	room *room // nil: a large part, held by reference
}

// A queue holds what is to be written. It is guarded by its Outbox's lock.
type queue struct {
	chunks fifo[chunk]
	ends   fifo[int64] // for each item, the value of total after its last byte
	total  int64       // bytes ever put
	done   int64       // bytes ever written
}

func (q *queue) empty() bool { return q.chunks.len() == 0 }

func (q *queue) size() (items, bytes int) { return q.ends.len(), int(q.total - q.done) }

// put adds one item of size bytes.
func (q *queue) put(parts [][]byte, size int) {
	if size == 0 {
		return
	}
	for _, p := range parts {
		q.add(p)
	}
	q.total += int64(size)
	q.ends.push(q.total)
}

func (q *queue) add(part []byte) {
	if len(part) > maxCopy {
		q.chunks.push(chunk{data: part})
		return
	}
	for len(part) > 0 {
		tail := q.tail()
		used := len(tail.data)
		n := min(len(part), cap(tail.data)-used)
		tail.data = append(tail.data, part[:n]...)
		part = part[n:]
	}
}

// tail returns the last chunk, a new one if that has no room.
func (q *queue) tail() *chunk {
	if n := q.chunks.len(); n > 0 {
		if last := q.chunks.at(n - 1); last.room != nil && len(last.data) < cap(last.data) {
			return last
		}
	}
	r := rooms.Get().(*room)
	q.chunks.push(chunk{data: r[:0], room: r})
	return q.chunks.at(q.chunks.len() - 1)
}

// peek appends the first stretches to pieces, as many as it has capacity for,
// and returns them with their size. Their bytes stay as they are until wrote.
func (q *queue) peek(pieces [][]byte) ([][]byte, int) {
	size := 0
	for i := range min(cap(pieces), q.chunks.len()) {
		data := q.chunks.at(i).data
		pieces = append(pieces, data)
		size += len(data)
	}
	return pieces, size
}

func (q *queue) front() []byte { return q.chunks.at(0).data }

// wrote takes n bytes off the front.
func (q *queue) wrote(n int) {
	q.done += int64(n)
	for q.ends.len() > 0 && *q.ends.at(0) <= q.done {
		q.ends.pop()
	}
	for n > 0 && !q.empty() { // it is empty once dropped
		first := q.chunks.at(0)
		if n < len(first.data) {
			first.data = first.data[n:]
			return
		}
		n -= len(first.data)
		if first.room != nil {
			rooms.Put(first.room)
		}
		q.chunks.pop()
	}
}

// drop lets go of all bytes, but goes on counting them. Rooms are not reused: a
// write may still be reading from one.
func (q *queue) drop() { q.chunks = fifo[chunk]{} }
