package bridge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
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
	body  map[seenKey]sight
	queue []seenAt // oldest first, from head on
	head  int
	mac   hash.Hash
	sum   [sha256.Size]byte // room for what mac says
}

type seenKey struct{ from, env string }

// A sight is what is known of a request: its body, and since when it counts as
// seen.
type sight struct {
	body digest
	at   time.Time
}

type seenAt struct {
	key seenKey
	at  time.Time
}

// A digest is half of an HMAC-SHA256 over the payload of a request, so that the
// record of it tells nobody what is hidden from the record. The zero digest is
// that of a request of which only the envelope is known.
type digest [16]byte

func newSeen(key [32]byte) seen {
	return seen{body: map[seenKey]sight{}, mac: hmac.New(sha256.New, key[:])}
}

func (s *seen) digest(body []byte) (d digest) {
	s.mac.Reset()
	s.mac.Write(body)
	copy(d[:], s.mac.Sum(s.sum[:0]))
	return d
}

// again reports whether the request was seen before, and whether with the
// same body, as far as that is known.
func (s *seen) again(now time.Time, from, env string, body []byte) (before, same bool) {
	s.forget(now)
	key := seenKey{from, env}
	sum := s.digest(body)
	if old, ok := s.body[key]; ok {
		return true, old.body == sum || old.body == digest{}
	}
	// On their own, or each would keep the whole head of its frame in memory,
	// with as many links as somebody cares to put there.
	s.add(seenAt{seenKey{strings.Clone(from), strings.Clone(env)}, now}, sum)
	return false, false
}

// before notes a request of an earlier run.
func (s *seen) before(b Seen) {
	key := seenKey{b.From, b.Env}
	if _, ok := s.body[key]; ok {
		return
	}
	var sum digest
	if body, err := hex.DecodeString(b.Body); err == nil && len(body) == len(sum) {
		sum = digest(body)
	}
	s.add(seenAt{key, b.At}, sum)
}

func (s *seen) add(at seenAt, sum digest) {
	s.body[at.key] = sight{sum, at.at}
	s.queue = append(s.queue, at)
}

// started counts a request as seen now: that people took their time to agree to
// it must not shorten how long it cannot run again.
func (s *seen) started(now time.Time, from, env string) {
	key := seenKey{from, env}
	s.add(seenAt{key, now}, s.body[key].body)
}

// known is the digest of a request as it goes on record.
func (s *seen) known(from, env string) string {
	if known, ok := s.body[seenKey{from, env}]; ok {
		return hex.EncodeToString(known.body[:])
	}
	return ""
}

func (s *seen) forget(now time.Time) {
	for s.head < len(s.queue) {
		oldest := s.queue[s.head]
		if len(s.body) < seenMax && now.Sub(oldest.at) < seenFor {
			break
		}
		if s.body[oldest.key].at.Equal(oldest.at) { // it was not seen to start since
			delete(s.body, oldest.key)
		}
		s.queue[s.head] = seenAt{}
		s.head++
	}
	if s.head > len(s.queue)/2 && s.head > 1024 {
		s.queue = append([]seenAt(nil), s.queue[s.head:]...)
		s.head = 0
	}
}
