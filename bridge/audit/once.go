package audit

import (
	"fmt"
	"time"
)

// onceFor is how long an envelope of a participant is known again (DESIGN 14,
// "Once").
const onceFor = 15 * time.Minute

// envelopes are when the envelope of a participant was last started.
type envelopes struct {
	at   map[string]time.Time
	most int // so many they may be before the old ones are looked for
}

func newEnvelopes() envelopes { return envelopes{at: map[string]time.Time{}, most: leastEnvelopes} }

const leastEnvelopes = 1 << 17

// start says what is wrong with the start of a call at this time; "" if nothing is.
func (e *envelopes) start(d details, now time.Time) string {
	if d.Env == "" || d.From == "" {
		return ""
	}
	key := d.From + "\x00" + d.Env
	if before, ok := e.at[key]; ok && now.Sub(before).Abs() < onceFor {
		return fmt.Sprintf("the request %q of %q started twice within %v", d.Env, d.From, onceFor)
	}
	e.at[key] = now
	if len(e.at) > e.most {
		e.forget(now)
	}
	return ""
}

// forget leaves room for as many more as there are: looking for the old ones takes as long as
// there are many, and may find none.
func (e *envelopes) forget(now time.Time) {
	for key, at := range e.at {
		if now.Sub(at).Abs() >= onceFor {
			delete(e.at, key)
		}
	}
	e.most = max(leastEnvelopes, 2*len(e.at))
}
