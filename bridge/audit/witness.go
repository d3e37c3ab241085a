package audit

import (
	"io"
	"time"
)

// hashes are those of the records that a checkpoint may be of: the newest.
type hashes struct{ heads []Head }

const maxHashes = 1 << 14

func (h *hashes) add(head Head) {
	if len(h.heads) == 2*maxHashes {
		h.heads = append(h.heads[:0], h.heads[maxHashes:]...)
	}
	h.heads = append(h.heads, head)
}

func (h *hashes) of(seq uint64) (Head, bool) {
	if len(h.heads) == 0 || seq < h.heads[0].Seq || seq-h.heads[0].Seq >= uint64(len(h.heads)) {
		return Head{}, false
	}
	return h.heads[seq-h.heads[0].Seq], true
}

// patient reads a file that may be written to at the same time: half of a line
// at its end is looked at again for a while.
type patient struct {
	f     io.Reader
	last  byte
	tries int
}

func (p *patient) Read(b []byte) (int, error) {
	for {
		n, err := p.f.Read(b)
		if n > 0 {
			p.last = b[n-1]
		}
		if n > 0 || err != io.EOF || p.last == '\n' || p.last == 0 || p.tries == 20 {
			return n, err
		}
		p.tries++
		time.Sleep(10 * time.Millisecond)
	}
}
