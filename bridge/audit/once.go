package audit

import (
	"fmt"
	"time"
)

// onceFor is how long an envelope of a participant is known again (DESIGN 14,
// "Once").
const onceFor = 15 * time.Minute

// envelopes are when the envelope of a participant was last started.
type envelopes map[string]time.Time

// start says what is wrong with the start of a call at this time; "" if nothing is.
func (e envelopes) start(d details, now time.Time) string {
	if d.Env == "" || d.From == "" {
		return ""
	}
	key := d.From + "\x00" + d.Env
	if before, ok := e[key]; ok && now.Sub(before).Abs() < onceFor {
		return fmt.Sprintf("the request %q of %q started twice within %v", d.Env, d.From, onceFor)
	}
	e[key] = now
	if len(e) > 1<<17 {
		e.forget(now)
	}
	return ""
}

func (e envelopes) forget(now time.Time) {
	for key, at := range e {
		if now.Sub(at).Abs() >= onceFor {
			delete(e, key)
		}
	}
}
