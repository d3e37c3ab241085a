package hub

import "sync"

// A rehearsal is what a topic remembers as its next member is to read it, by the entry.
type rehearsal map[*Entry][]byte

// rehearse spells the history for m's welcome while nobody waits for that: it may take milliseconds,
// and in these nobody in the topic could speak. topic is its lock.
func rehearse(topic sync.Locker, past History, m *Member) (r rehearsal) {
	if !m.local || !m.Dialect.TellsHistory() {
		return nil
	}
	topic.Lock()
	entries, _ := past.Before("", 0)
	topic.Unlock()
	r = make(rehearsal, len(entries))
	for _, e := range entries {
		r[e] = e.as(m.Dialect)
	}
	return r
}

// told is spelled for m's welcome: only what was said since the rehearsal remains to be spelled.
func (r rehearsal) told(entries []*Entry, m *Member) (frames [][]byte) {
	for _, e := range entries {
		body, known := r[e]
		if !known {
			body = e.as(m.Dialect)
		}
		if body != nil {
			frames = append(frames, body)
		}
	}
	return frames
}
