package jsonrpc

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

// maxLinear is how many keys of one object are compared one by one. Further keys are checked
// at the end of the object with a hash table, so that the time grows only with their number.
const maxLinear = 16

// traits say what a string holds besides plain ASCII.
type traits uint8

const (
	beyondASCII traits = 1 << iota // characters beyond ASCII
	escaped                        // escapes, so it has to be decoded
)

// An object is the state of one object that is being read.
type object struct {
	shape           Shape
	refusesVariants bool // refuse what resembles a key of the shape
	unique          bool // refuse duplicate keys
	alike           bool // and keys that are one to a lenient reader

	refs, decoded int    // where its part of the keyring begins
	seen          uint64 // a bit for every key among the first few
}

// A ref is where a key stands.
type ref struct {
	at       uint32 // its opening quote in the text
	off, len uint32 // the key itself: in the text, or, with inRing set in off, decoded, or folded
}

const inRing = 1 << 31

// A keyring holds the keys of all objects that are open. Objects nest, so it is
// a stack.
type keyring struct {
	refs        []ref
	decoded     []byte   // keys that were written with escapes, or are folded
	most        int      // values in the text, by the rules; 0: any number
	foldedBytes int      // bytes of keys that were folded beyond their case
	table       []uint32 // index in refs, plus one
	err         *Error   // why the Scan failed
}

var (
	pool = sync.Pool{New: func() any { return new(keyring) }}
	seed = maphash.MakeSeed()
)

// What a keyring may hold on to from one Scan to the next, in entries or bytes.
const maxKept = 8 << 10

func (r *keyring) release() {
	if cap(r.refs) > maxKept || cap(r.decoded) > maxKept || cap(r.table) > maxKept {
		*r = keyring{}
	}
	r.refs, r.decoded, r.foldedBytes, r.err = r.refs[:0], r.decoded[:0], 0, nil
	pool.Put(r)
}

func (o *object) open(r *keyring) { o.refs, o.decoded = len(r.refs), len(r.decoded) }

func (o *object) close(r *keyring) { r.refs, r.decoded = r.refs[:o.refs], r.decoded[:o.decoded] }

// decode returns a key that was written with escapes, which are resolved, and its offset
// for a ref.
func (r *keyring) decode(inner []byte) (off uint32, text []byte) {
	n := len(r.decoded)
	r.decoded = appendDecoded(r.decoded, inner)
	return uint32(n) | inRing, r.decoded[n:]
}

func (r *keyring) text(data []byte, k ref) []byte {
	if k.off&inRing != 0 {
		off := k.off &^ inRing
		return r.decoded[off : off+k.len]
	}
	return data[k.off : k.off+k.len]
}

// maxFolded bounds, in bytes, what one Scan folds beyond case: folding takes a hundred times
// as long as reading, and can make eleven bytes of one.
const maxFolded = 256 << 10

// fold returns a key as [fold.Name] has it, but for the case of what is written in plain
// ASCII, which is passed over where two keys are compared, and its offset for a ref. It
// reports false where there is too much to fold.
func (r *keyring) fold(text []byte) (off uint32, folded []byte, ok bool) {
	if !fold.Plain(text) {
		if r.foldedBytes += len(text); r.foldedBytes > maxFolded {
			return 0, nil, false
		}
	}
	n := len(r.decoded)
	r.decoded = fold.Append(r.decoded, text)
	return uint32(n) | inRing, r.decoded[n:], true
}

// same compares keys that were folded as o has it.
func (o *object) same(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && (!o.alike || fold.Lower(a[i]) != fold.Lower(b[i])) {
			return false
		}
	}
	return true
}

// add notes a key and returns the one among the object's first few that is the
// same, nil if there is none. What it returns is valid until the next add.
func (r *keyring) add(data []byte, k ref, text []byte, o *object) (twin *ref) {
	if len(r.refs)-o.refs < maxLinear {
		bit := uint64(1)
		if n := len(text); n > 0 { // letters of another case have the same bit
			bit <<= (uint(n) + uint(text[0]|0x20)*3 + uint(text[n-1]|0x20)*7) & 63
		}
		if o.seen&bit != 0 {
			for i := o.refs; i < len(r.refs); i++ {
				if o.same(r.text(data, r.refs[i]), text) {
					return &r.refs[i]
				}
			}
		}
		o.seen |= bit
	}
	if len(r.refs) == cap(r.refs) && len(r.refs) >= maxKept {
		r.grow(data, k.at)
	}
	r.refs = append(r.refs, k)
	return nil
}

// grow makes room for as many keys as there will be if the rest of data is like what was read
// of it, and at least for as many again: what append would throw away on the way was eight times
// a frame of short keys.
func (r *keyring) grow(data []byte, read uint32) {
	more := int(uint64(len(r.refs)) * uint64(len(data)-int(read)) / uint64(read))
	if more += more / 8; r.most > 0 {
		more = min(more, r.most)
	}
	r.refs = slices.Grow(r.refs, max(len(r.refs), more))
}

// repeated returns the first key of a large object that stands in it a second
// time, and the one that it repeats, or nil. The hash is seeded, so nobody can aim at it.
func (r *keyring) repeated(data []byte, o *object) (k, twin *ref) {
	mine := r.refs[o.refs:]
	size := 64
	for size < 2*len(mine) {
		size *= 2
	}
	r.table = slices.Grow(r.table[:0], size)[:size]
	clear(r.table)
	for i := range mine {
		text := r.text(data, mine[i])
		at := r.hash(text, o) & uint64(size-1)
		for ; r.table[at] != 0; at = (at + 1) & uint64(size-1) {
			if twin := &mine[r.table[at]-1]; o.same(r.text(data, *twin), text) {
				return &mine[i], twin
			}
		}
		r.table[at] = uint32(i + 1)
	}
	return nil, nil
}

// hash is equal for keys that are the same to o.
func (r *keyring) hash(text []byte, o *object) uint64 {
	if !o.alike || !slices.ContainsFunc(text, func(c byte) bool { return c != fold.Lower(c) }) {
		return maphash.Bytes(seed, text)
	}
	n := len(r.decoded)
	for _, c := range text {
		r.decoded = append(r.decoded, fold.Lower(c))
	}
	h := maphash.Bytes(seed, r.decoded[n:])
	r.decoded = r.decoded[:n]
	return h
}

func (s Shape) find(key []byte) *Member {
	for i := range s {
		if string(key) == s[i].Name {
			return &s[i]
		}
	}
	return nil
}

// resembles returns the Member that a lenient reader takes a folded key for, nil if
// there is none. The key is none of the Shape's.
func (s Shape) resembles(folded []byte) *Member {
	for i := range s {
		if len(folded) == len(s[i].Name) && fold.Same(folded, s[i].Name) {
			return &s[i]
		}
	}
	return nil
}
