package jsonrpc

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
)

// few is how many keys of one object are compared one by one. From there on
// they wait for the end of the object, where a hash table goes through them, so
// a flood of keys costs no more than its length.
const few = 16

// An object is the state of one object that is being read.
type object struct {
	shape  Shape
	strict bool // refuse what resembles a key of the shape
	unique bool // refuse duplicate keys

	refs, decoded int    // where its part of the keyring begins
	seen          uint64 // a bit for every key among the first few
}

// A ref is where a key stands.
type ref struct {
	at       uint32 // its opening quote in the text
	off, len uint32 // the key itself: in the text, or, with inRing set in off, decoded
}

const inRing = 1 << 31

// A keyring holds the keys of all objects that are open. Objects nest, so it is
// a stack.
type keyring struct {
	refs    []ref
	decoded []byte   // keys that were written with escapes
	table   []uint32 // index in refs, plus one
	err     *Error   // why the Scan failed
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
	r.refs, r.decoded, r.err = r.refs[:0], r.decoded[:0], nil
	pool.Put(r)
}

func (o *object) mark(r *keyring) { o.refs, o.decoded = len(r.refs), len(r.decoded) }

func (o *object) forget(r *keyring) { r.refs, r.decoded = r.refs[:o.refs], r.decoded[:o.decoded] }

// ref returns the key between the quotes at i and before end.
func (r *keyring) ref(data []byte, i, end int, l look) ref {
	if l&escaped == 0 {
		return ref{at: uint32(i), off: uint32(i + 1), len: uint32(end - i - 2)}
	}
	off := len(r.decoded)
	r.decoded = appendDecoded(r.decoded, data[i+1:end-1])
	return ref{at: uint32(i), off: uint32(off) | inRing, len: uint32(len(r.decoded) - off)}
}

func (r *keyring) text(data []byte, k ref) []byte {
	if k.off&inRing != 0 {
		off := k.off &^ inRing
		return r.decoded[off : off+k.len]
	}
	return data[k.off : k.off+k.len]
}

// add notes a key and reports whether it stands among the object's first few.
func (r *keyring) add(data []byte, k ref, text []byte, o *object) bool {
	if mine := r.refs[o.refs:]; len(mine) < few {
		bit := uint64(1)
		if n := len(text); n > 0 {
			bit <<= (uint(n) + uint(text[0])*3 + uint(text[n-1])*7) & 63
		}
		if o.seen&bit != 0 && slices.ContainsFunc(mine, func(m ref) bool { return bytes.Equal(r.text(data, m), text) }) {
			return true
		}
		o.seen |= bit
	}
	r.refs = append(r.refs, k)
	return false
}

// repeated returns the index of the first key of a large object that stands in
// it a second time, or -1. The hash is seeded, so nobody can aim at it.
func (r *keyring) repeated(data []byte, o *object) int {
	mine := r.refs[o.refs:]
	if len(mine) <= few {
		return -1
	}
	size := 64
	for size < 2*len(mine) {
		size *= 2
	}
	r.table = slices.Grow(r.table[:0], size)[:size]
	clear(r.table)
	for i, k := range mine {
		text := r.text(data, k)
		at := maphash.Bytes(seed, text) & uint64(size-1)
		for ; r.table[at] != 0; at = (at + 1) & uint64(size-1) {
			if bytes.Equal(r.text(data, mine[r.table[at]-1]), text) {
				return o.refs + i
			}
		}
		r.table[at] = uint32(i + 1)
	}
	return -1
}

func (s Shape) find(key []byte) *Member {
	for i := range s {
		if string(key) == s[i].Name {
			return &s[i]
		}
	}
	return nil
}

// resembles reports whether a key that is none of the Shape's would be taken
// for one by a reader that ignores case (simple folding, so U+017F is an s and
// U+212A a k) or stops at a NUL.
func (s Shape) resembles(key []byte, l look) bool {
	if l != 0 {
		if nul := bytes.IndexByte(key, 0); nul >= 0 {
			key = key[:nul]
		}
	}
	for i := range s {
		if l == 0 && len(key) != len(s[i].Name) {
			continue
		}
		if bytes.EqualFold(key, []byte(s[i].Name)) {
			return true
		}
	}
	return false
}
