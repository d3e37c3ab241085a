package prompt

import "time"

// What is typed here may be meant for another window. A key that means nothing
// says so, and from then on no answer is begun until nothing was typed for
// m.silence (DESIGN 7, FINDINGS U1).

// listen ends the lock when there was silence before this key. Whatever is typed
// meanwhile makes it longer.
func (m *model) listen(at time.Time) {
	if !m.locked(at) {
		m.lockedAt = time.Time{}
		return
	}
	m.lockedAt = at
}

// lock takes no answers until there was silence, and says why.
func (m *model) lock(at time.Time, why string) { m.lockedAt, m.lockedBy = at, why+untilSilence }

const (
	untilSilence = "answers are locked until you stop typing for a second"
	wrongWindow  = "that key is no answer; is this the right window? "
)

func (m *model) locked(now time.Time) bool {
	return !m.lockedAt.IsZero() && now.Sub(m.lockedAt) < m.silence
}
