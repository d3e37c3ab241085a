package audit

import (
	"fmt"
	"time"
)

// onceFor is how long an envelope of a participant is known again (DESIGN 14,
// "Once").
const onceFor = 15 * time.Minute

// envelopes know when each envelope of a participant was last started.
type envelopes struct {
	at   map[string]time.Time
	most int // beyond so many the old ones are looked for
}

func newEnvelopes() envelopes { return envelopes{at: map[string]time.Time{}, most: leastEnvelopes} }

const leastEnvelopes = 1 << 17 // the least that most can be

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

// forget drops those older than onceFor. It looks at all of them and may find none to drop, so
// it comes again only when there are twice as many as it left.
func (e *envelopes) forget(now time.Time) {
	for key, at := range e.at {
		if now.Sub(at).Abs() >= onceFor {
			delete(e.at, key)
		}
	}
	e.most = max(leastEnvelopes, 2*len(e.at))
}
