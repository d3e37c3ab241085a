package hub

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A rehearsal is what a topic remembers as its next member is to read it, by the entry.
type rehearsal map[*Entry][]byte

func rehearsalOf(entries []*Entry, d wire.Dialect) rehearsal {
	r := make(rehearsal, len(entries))
	for _, e := range entries {
		r[e] = e.as(d)
	}
	return r
}

// spelled are entries of the history as frames of dialect d, without those it has no word for (see
// [Hub.Before]). Only what is not in r, which may be nil, remains to be spelled.
func (r rehearsal) spelled(entries []*Entry, d wire.Dialect) (frames [][]byte) {
	for _, e := range entries {
		body, known := r[e]
		if !known {
			body = e.as(d)
		}
		if body != nil {
			frames = append(frames, body)
		}
	}
	return frames
}
