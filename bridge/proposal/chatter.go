package proposal

import "time"

// Withdrawals are cheap to send and change nothing that they should not. What
// is bounded is how many words we make of them (WIRE 8.3).
const (
	withdrawals = 30 // of one participant in a minute that go on record
	chattersMax = 4096
)

// chatter counts withdrawals by participant.
type chatter map[string]*heard

type heard struct {
	since   time.Time
	n       int
	unknown bool // it has been said that it withdraws what we do not know
}

// hears counts a withdrawal and reports whether it may go on record.
func (c chatter) hears(who string, now time.Time) bool {
	h := c[who]
	if h == nil || now.Sub(h.since) >= time.Minute {
		if len(c) >= chattersMax {
			clear(c)
		}
		h = &heard{since: now}
		c[who] = h
	}
	h.n++
	return h.n <= withdrawals
}

// unknown reports whether it is worth saying that somebody withdraws what we do
// not know: once a minute.
func (c chatter) unknown(who string) bool {
	was := c[who].unknown
	c[who].unknown = true
	return !was
}
