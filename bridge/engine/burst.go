package engine

import "time"

// A server may notify this often in a second before what it says to nobody in
// particular is passed over.
const notifiedMost = 1000

// A burst counts what comes in a second.
type burst struct {
	since time.Time
	n     int
	over  bool
}

// another counts one more. over: there are too many of them; began: this is
// where they became so. A burst lasts while each second has too many.
func (b *burst) another(now time.Time) (over, began bool) {
	if past := now.Sub(b.since); past >= time.Second {
		b.over = b.n > notifiedMost && past < 2*time.Second
		b.since, b.n = now, 0
	}
	b.n++
	began = b.n == notifiedMost+1 && !b.over
	b.over = b.over || began
	return b.over, began
}
