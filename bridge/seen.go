package bridge

import (
	"hash/maphash"
	"strings"
	"time"
)

// How long, and how many, requests are remembered so that none runs twice.
const (
	seenFor = 15 * time.Minute
	seenMax = 1 << 16
)

// seen remembers which requests have arrived. A gateway may deliver a frame
// again, above all after a reconnect (RELIABILITY 2.2, "replay").
type seen struct {
	body  map[seenKey]uint64
	queue []seenAt // oldest first, from head on
	head  int
	seed  maphash.Seed
}

type seenKey struct{ from, env string }

type seenAt struct {
	key seenKey
	at  time.Time
}

// again reports whether the request was seen before, and whether with the
// same body.
func (s *seen) again(now time.Time, from, env string, body []byte) (before, same bool) {
	s.forget(now)
	key := seenKey{from, env}
	sum := maphash.Bytes(s.seed, body)
	if old, ok := s.body[key]; ok {
		return true, old == sum
	}
	// On their own, or each would keep the whole head of its frame in memory,
	// with as many links as somebody cares to put there.
	key = seenKey{strings.Clone(from), strings.Clone(env)}
	s.body[key] = sum
	s.queue = append(s.queue, seenAt{key, now})
	return false, false
}

// before notes a request of an earlier run. What its body was is not known any
// more, so that any other is taken for a different one.
func (s *seen) before(b Seen) {
	key := seenKey{b.From, b.Env}
	if _, ok := s.body[key]; !ok {
		s.body[key] = 0
		s.queue = append(s.queue, seenAt{key, b.At})
	}
}

func (s *seen) forget(now time.Time) {
	for s.head < len(s.queue) {
		oldest := s.queue[s.head]
		if len(s.body) < seenMax && now.Sub(oldest.at) < seenFor {
			break
		}
		delete(s.body, oldest.key)
		s.queue[s.head] = seenAt{}
		s.head++
	}
	if s.head > len(s.queue)/2 && s.head > 1024 {
		s.queue = append([]seenAt(nil), s.queue[s.head:]...)
		s.head = 0
	}
}
