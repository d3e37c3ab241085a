// Package replay knows requests again that were taken before. A gateway may
// deliver a frame twice, above all after a reconnect, and nothing runs twice
// (RELIABILITY 2.2 "replay", DESIGN 14 "Once").
//
//	Cache.Take(now, from, env, body) -> Fresh, Repeated, Altered or Full
//
// Each participant has a share of its own: whoever sends ever so much makes nobody
// forget what another sent, and is told that its share is full instead of being
// forgotten (FINDINGS M2). Where nobody makes sure who speaks all have one share, see
// [Cache.Together]. What is held has no pointers, so that the garbage
// collector need not look at it. It does no I/O and reads no clock.
package replay

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"time"
)

const (
	// Keep is how long a request is known again at the least.
	Keep = 15 * time.Minute

	// span is the time of one generation. A request is let go with its whole
	// generation, when that is Keep old: after Keep and a span at the latest.
	span        = 5 * time.Minute
	generations = int(Keep/span) + 1

	// DefaultShare is how many requests of one participant are known at one time,
	// which is 1 165 a second for ever. They take some 20 MiB.
	DefaultShare = 1 << 20
)

// A Verdict says what a request is.
type Verdict uint8

const (
	Fresh    Verdict = iota // it was not seen before, and is known from now on
	Repeated                // the same was seen before
	Altered                 // one of that id was seen before, with another body
	Full                    // it was not seen before, and cannot be remembered: refuse it
)

// A Digest is half of an HMAC-SHA256, over the payload of a request: the record of
// it tells nobody what is hidden from the record. The zero Digest is that of a
// payload that is not known.
type Digest [16]byte

func (d Digest) String() string {
	if d == (Digest{}) {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// A Request is one that an earlier run has taken.
type Request struct {
	From, Env string
	At        time.Time // on the wall clock, which is all that is known of earlier runs
	Body      string    // its Digest as it was on record; "" if it was not
}

// A Cache knows requests again. It is made with [New], and used by one goroutine at
// a time. The times it is given must not run backwards.
type Cache struct {
	senders map[string]*sender
	share   int
	mac     hash.Hash
	sum     [sha256.Size]byte // room for what mac says
	text    []byte            // room for what it is told

	epoch   time.Time // from which generations are counted; zero until the first request
	earlier []Request // of earlier runs, until then
	one     bool      // all have one share
	now     int       // the generation of the last Take

	last struct { // what was asked for last
		from, env string
		name      uint64
		body      Digest
	}
}

// A sender is what is known of the requests of one participant: the beginning of
// the digest of each one's body, by its name.
type sender struct {
	known [generations]map[uint64]uint32
	of    [generations]int // which generation stands there
	n     int              // in all of them
}

// New returns a Cache whose digests depend on key. share is how many requests of
// one participant it knows at one time; 0 is [DefaultShare].
func New(key [32]byte, share int) *Cache {
	if share == 0 {
		share = DefaultShare
	}
	return &Cache{senders: map[string]*sender{}, share: share, mac: hmac.New(sha256.New, key[:])}
}

// Inherit notes a request of an earlier run. Call it before the first Take.
func (c *Cache) Inherit(r Request) { c.earlier = append(c.earlier, r) }

// Together says whether all participants have one share from now on, since whoever speaks
// may take any name, or each one of their own. What is known stays known.
func (c *Cache) Together(one bool) { c.one = one }

// Take says whether the request that a participant sent in an envelope was seen
// before. A Fresh one is known from now on.
func (c *Cache) Take(now time.Time, from, env string, body []byte) Verdict {
	g := c.generation(now)
	name, sum := c.name(from, env), c.Digest(body)
	c.last.body = sum
	if _, mark, ok := c.find(from, g, name); ok {
		if mark != 0 && mark != sum.mark() {
			return Altered
		}
		return Repeated
	}
	s := c.sender(c.holder(from), g)
	if s.n >= c.share {
		return Full
	}
	s.add(g, name, sum.mark())
	return Fresh
}

// Knows reports whether a participant has sent a request in such an envelope.
func (c *Cache) Knows(now time.Time, from, env string) bool {
	_, _, known := c.find(from, c.generation(now), c.name(from, env))
	return known
}

// Renew lets the time of a known request begin anew: the time that people took to
// agree to it, or that it ran, must not shorten how long it is known.
func (c *Cache) Renew(now time.Time, from, env string) {
	g := c.generation(now)
	name := c.name(from, env)
	in, mark, ok := c.find(from, g, name)
	if ok {
		in.drop(name) // it has one place, however often it is renewed
	}
	c.sender(c.holder(from), g).add(g, name, mark)
}

// DigestOf is the Digest of the request that an envelope holds.
func (c *Cache) DigestOf(from, env string, body []byte) Digest {
	if c.last.from == from && c.last.env == env && c.last.body != (Digest{}) {
		return c.last.body
	}
	return c.Digest(body)
}

// Digest is that of any payload.
func (c *Cache) Digest(body []byte) (d Digest) {
	c.mac.Reset()
	c.mac.Write(body)
	copy(d[:], c.mac.Sum(c.sum[:0]))
	return d
}

// mark is what is kept of a digest to tell bodies apart; 0 only of the unknown one.
func (d Digest) mark() uint32 {
	if d == (Digest{}) {
		return 0
	}
	return binary.BigEndian.Uint32(d[:]) | 1
}

// name is what a request is known by: long ids of strangers would fill the memory.
// Without the key nobody finds two of one name.
func (c *Cache) name(from, env string) uint64 {
	if c.last.from != from || c.last.env != env || c.last.name == 0 {
		c.text = binary.AppendUvarint(c.text[:0], uint64(len(from)))
		c.text = append(append(c.text, from...), env...)
		d := c.Digest(c.text)
		c.last.from, c.last.env, c.last.name, c.last.body = from, env, binary.BigEndian.Uint64(d[:])|1, Digest{}
	}
	return c.last.name
}

// generation is the one of a moment. The first one begins the epoch: up to there
// the wall clock counts, and from there on it does not.
func (c *Cache) generation(now time.Time) int {
	if c.epoch.IsZero() {
		c.epoch = now
		for _, r := range c.earlier {
			c.inherit(r)
		}
		c.earlier = nil
	}
	if g := int(now.Sub(c.epoch) / span); g > c.now {
		c.now = g
		maps.DeleteFunc(c.senders, func(_ string, s *sender) bool { s.forget(g); return s.n == 0 })
	}
	return c.now
}

func (c *Cache) inherit(r Request) {
	age := c.epoch.Sub(r.At)
	if age >= Keep {
		return
	}
	var d Digest
	if body, err := hex.DecodeString(r.Body); err == nil && len(body) == len(d) {
		d = Digest(body)
	}
	s, name := c.sender(r.From, 0), c.name(r.From, r.Env)
	g, mark := -int((max(age, 0)+span-1)/span), d.mark()
	if had, ofHad, again := s.drop(name); again { // a proposal and its call are two on record
		g, mark = max(g, had), cmp.Or(mark, ofHad)
	}
	s.add(g, name, mark)
}

// holder is who has the share of a participant: everybody is called "".
func (c *Cache) holder(from string) string {
	if c.one {
		return ""
	}
	return from
}

// find looks for a request of a participant in whichever share it is.
func (c *Cache) find(from string, g int, name uint64) (in *sender, mark uint32, ok bool) {
	for _, holder := range [...]string{from, ""} {
		if in = c.senders[holder]; in == nil {
			continue
		}
		in.forget(g)
		if mark, ok = in.find(name); ok {
			return in, mark, true
		}
	}
	return nil, 0, false
}

// sender is what is known of a participant in generation g.
func (c *Cache) sender(from string, g int) *sender {
	s := c.senders[from]
	if s == nil {
		s = &sender{}
		c.senders[from] = s
	}
	s.forget(g)
	return s
}

func (s *sender) find(name uint64) (mark uint32, ok bool) {
	for _, known := range s.known {
		if mark, ok = known[name]; ok {
			return mark, true
		}
	}
	return 0, false
}

func (s *sender) add(g int, name uint64, mark uint32) {
	i := slot(g)
	if s.known[i] == nil {
		s.known[i], s.of[i] = map[uint64]uint32{}, g
	}
	if _, ok := s.known[i][name]; !ok {
		s.n++
	}
	s.known[i][name] = mark
}

// drop takes a request out, and says in which generation it stood, and its mark.
func (s *sender) drop(name uint64) (g int, mark uint32, known bool) {
	for i, of := range s.known {
		if mark, known = of[name]; known {
			delete(of, name)
			s.n--
			return s.of[i], mark, true
		}
	}
	return 0, 0, false
}

// forget lets the generations go that are too old in generation now.
func (s *sender) forget(now int) {
	for i, known := range s.known {
		if known != nil && s.of[i] <= now-generations {
			s.n -= len(known)
			s.known[i] = nil
		}
	}
}

// slot is where a generation stands.
func slot(g int) int { return ((g % generations) + generations) % generations }
