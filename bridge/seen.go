package bridge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"time"
)

// How long, and how many, requests are remembered so that none runs twice.
const (
	seenFor = 15 * time.Minute
	seenMax = 1 << 16
)

// seen remembers which requests have arrived. A gateway may deliver a frame
// again, above all after a reconnect (RELIABILITY 2.2, "replay"). What it holds
// has no pointers, so that the garbage collector need not look at it.
type seen struct {
	known map[digest]sight // by the name of the request
	queue []seenAt         // oldest first, from head on
	head  int
	mac   hash.Hash
	sum   [sha256.Size]byte // room for what mac says
	name  []byte            // room for what it is told

	epoch   time.Time // of moments; zero until the first request
	earlier []Seen    // of earlier runs, until then
	last    seenKey   // that was looked for,
	lastIs  digest    // and its name
}

// A moment is a number of nanoseconds since the epoch, on the clock that is not
// set.
type moment int64

type seenKey struct{ from, env string }

// A sight is what is known of a request: its body, and since when it counts as
// seen.
type sight struct {
	body digest
	at   moment
}

type seenAt struct {
	name digest
	at   moment
}

// A digest is half of an HMAC-SHA256: over the payload of a request, so that the
// record of it tells nobody what is hidden from the record, or over who sent it
// under which id, which is its name. The zero digest is that of a payload that is
// not known.
type digest [16]byte

func newSeen(key [32]byte) seen {
	return seen{known: map[digest]sight{}, mac: hmac.New(sha256.New, key[:])}
}

func (s *seen) digest(body []byte) (d digest) {
	s.mac.Reset()
	s.mac.Write(body)
	copy(d[:], s.mac.Sum(s.sum[:0]))
	return d
}

// nameOf is what a request is known by here: long names of strangers would fill
// the memory.
func (s *seen) nameOf(key seenKey) digest {
	if key != s.last {
		s.name = binary.AppendUvarint(s.name[:0], uint64(len(key.from)))
		s.name = append(append(s.name, key.from...), key.env...)
		s.last, s.lastIs = key, s.digest(s.name)
	}
	return s.lastIs
}

// again reports whether the request was seen before, and whether with the
// same body, as far as that is known.
func (s *seen) again(now time.Time, from, env string, body []byte) (before, same bool) {
	at := s.when(now)
	s.forget(at)
	sum := s.digest(body)
	name := s.nameOf(seenKey{from, env})
	if old, ok := s.known[name]; ok {
		return true, old.body == sum || old.body == digest{}
	}
	s.add(name, at, sum)
	return false, false
}

// before notes a request of an earlier run.
func (s *seen) before(b Seen) { s.earlier = append(s.earlier, b) }

// when is a time as a moment. The first one begins the epoch: up to there the
// wall clock counts, which is all that is known of earlier runs, and from there
// on it does not.
func (s *seen) when(now time.Time) moment {
	if s.epoch.IsZero() {
		s.epoch = now
		for _, b := range s.earlier {
			s.inherit(b)
		}
		s.earlier = nil
	}
	return moment(now.Sub(s.epoch))
}

func (s *seen) inherit(b Seen) {
	name := s.nameOf(seenKey{b.From, b.Env})
	if _, ok := s.known[name]; ok {
		return
	}
	var sum digest
	if body, err := hex.DecodeString(b.Body); err == nil && len(body) == len(sum) {
		sum = digest(body)
	}
	s.add(name, moment(b.At.Sub(s.epoch)), sum)
}

func (s *seen) add(name digest, at moment, body digest) {
	s.known[name] = sight{body, at}
	s.queue = append(s.queue, seenAt{name, at})
}

// renew counts a request as seen now: the time that people took to agree to it, or
// that it ran, must not shorten how long it cannot run again.
func (s *seen) renew(now time.Time, from, env string) {
	name := s.nameOf(seenKey{from, env})
	s.add(name, s.when(now), s.known[name].body)
}

// onRecord is the digest of a request as it goes on record; "" if it was not
// seen.
func (s *seen) onRecord(from, env string) string {
	if was, ok := s.known[s.nameOf(seenKey{from, env})]; ok {
		return hex.EncodeToString(was.body[:])
	}
	return ""
}

// forget lets go of what has had its time.
func (s *seen) forget(now moment) {
	for s.head < len(s.queue) {
		oldest := s.queue[s.head]
		if len(s.known) < seenMax && now-oldest.at < moment(seenFor) {
			break
		}
		if s.known[oldest.name].at == oldest.at { // it was not seen to start since
			delete(s.known, oldest.name)
		}
		s.head++
	}
	if s.head > len(s.queue)/2 && s.head > 1024 {
		s.queue = append([]seenAt(nil), s.queue[s.head:]...)
		s.head = 0
	}
}
