package hub

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A rehearsal is what a topic remembers as its next member is to read it, by the entry.
type rehearsal map[*Entry][]byte

// rehearse spells the history for m's welcome, if it gets a seat, while nobody but those who come
// waits for that: it may take milliseconds, and in these nobody in the topic could speak.
func (t *Topic) rehearse(m *Member) (r rehearsal) {
	if !m.local || !m.Dialect.TellsHistory() {
		return nil
	}
	t.mu.Lock()
	if t.bars(m) != nil {
		t.mu.Unlock()
		return nil
	}
	entries, _ := t.past.Before("", 0)
	t.mu.Unlock()
	r = make(rehearsal, len(entries))
	for _, e := range entries {
		r[e] = e.as(m.Dialect)
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
