package hub

import "time"

// A ring is the history of a hub that is alone. It holds the latest entries of a topic,
// bounded by their number and by their bytes: payloads can be large, and every joiner of some
// dialects gets them all in one welcome.
type ring struct {
	most    int // entries; under 1 keeps none
	size    int // most bytes
	entries []*Entry
	bytes   int
}

// Add keeps an entry, and forgets the oldest ones to make room. One that is too large for the
// whole history is not kept.
func (r *ring) Add(e *Entry) {
	n := e.cost()
	if r.most < 1 || n > r.size {
		return
	}
	for len(r.entries) >= r.most || r.bytes+n > r.size {
		r.bytes -= r.entries[0].cost()
		r.entries[0] = nil
		r.entries = r.entries[1:]
	}
	r.entries = append(r.entries, e)
	r.bytes += n
}

// Before implements History.
func (r *ring) Before(mark string, limit int) (found []*Entry, err error) {
	end := len(r.entries)
	if mark != "" {
		end = r.find(mark)
	}
	for i := end - 1; i >= 0 && (limit < 1 || len(found) < limit); i-- {
		found = append(found, r.entries[i])
	}
	return found, nil
}

// find returns the index of the entry with that id, or of the first one not before that time,
// 0 if mark is neither.
func (r *ring) find(mark string) int {
	for i, e := range r.entries {
		if e.Envelope.ID == mark {
			return i
		}
	}
	at, err := time.Parse(time.RFC3339, mark)
	if err != nil {
		return 0
	}
	for i, e := range r.entries {
		if !e.At.Before(at) {
			return i
		}
	}
	return len(r.entries)
}
