package topic

import (
	"encoding/binary"
	"math/rand/v2"
)

// Frames are written whole, so that a small one costs one copy and a large one
// none; gorilla would cut it into pieces of its buffer.

const (
	finalText = 0x81 // FIN, opcode 1 (RFC 6455 section 5.2)
	masked    = 0x80
)

// appendHeader appends the header of a client's text frame with n bytes.
func appendHeader(dst []byte, n int, key [4]byte) []byte {
	switch {
	case n < 126:
		dst = append(dst, finalText, masked|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, finalText, masked|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, finalText, masked|127), uint64(n))
	}
	return append(dst, key[:]...)
}

// newKey returns a masking key. The generator is seeded by the system and
// cannot be predicted from outside, which is all a mask is for.
func newKey() (key [4]byte) {
	binary.LittleEndian.PutUint32(key[:], rand.Uint32())
	return key
}

// mask masks p in place. Done twice it undoes itself.
func mask(key [4]byte, p []byte) {
	half := uint64(binary.LittleEndian.Uint32(key[:]))
	word := half | half<<32
	for len(p) >= 8 {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^word)
		p = p[8:]
	}
	for i := range p {
		p[i] ^= key[i&3]
	}
}
