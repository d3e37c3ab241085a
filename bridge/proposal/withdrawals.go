package proposal

import "time"

// Anybody can send withdrawals, and one that is not the proposer's changes nothing. How many
// of them go on record is bounded (WIRE 8.3).
const (
	maxWithdrawals = 30 // of one participant in a minute that go on record
	maxWithdrawers = 4096
)

// A withdrawalCount counts the withdrawals of each participant in the current minute.
type withdrawalCount map[string]*withdrawalsOf

type withdrawalsOf struct {
	since   time.Time
	n       int
	unknown bool // firstUnknown has returned true
}

// countOne counts a withdrawal and reports whether it goes on record.
func (c withdrawalCount) countOne(who string, now time.Time) bool {
	h := c[who]
	if h == nil || now.Sub(h.since) >= time.Minute {
		if len(c) >= maxWithdrawers {
			clear(c)
		}
		h = &withdrawalsOf{since: now}
		c[who] = h
	}
	h.n++
	return h.n <= maxWithdrawals
}

// firstUnknown reports whether a withdrawal of an unknown proposal goes on record: the first
// of a participant in a minute does.
func (c withdrawalCount) firstUnknown(who string) bool {
	was := c[who].unknown
	c[who].unknown = true
	return !was
}
