package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// onceFor is how long an envelope of a participant is known again (DESIGN 14,
// "Once").
const onceFor = 15 * time.Minute

// An order watches that nothing starts without leave, and nothing twice.
type order struct {
	calls map[string]*stage
	runs  map[string]time.Time // when the envelope of a participant was last started
	blind bool                 // calls that began before the first record are not known
}

// A stage is how far a call has come.
type stage struct {
	judged  bool
	allowed bool
	started bool
}

func newOrder() order { return order{calls: map[string]*stage{}, runs: map[string]time.Time{}} }

// late is for a log whose files before were put elsewhere: what began there is no
// fault of this part (FINDINGS C4). Its first record says which calls had started, and
// which were allowed to. complete: one of an earlier build does not say the latter,
// so any call may begin in the middle. That no line is missing within the part, the
// chain shows.
func (o *order) late(complete bool, d details) {
	o.blind = !complete
	for _, call := range d.Open {
		o.calls[string(call)] = &stage{judged: true, allowed: true, started: true}
	}
	for _, call := range d.Allowed {
		o.calls[string(call)] = &stage{judged: true, allowed: true}
	}
}

// found is how far a call has come as far as this log tells.
func (o *order) found(id string, event string) *stage {
	if s := o.calls[id]; s != nil {
		return s
	}
	s := &stage{}
	if o.blind {
		s.judged, s.allowed, s.started = true, true, event == "end"
	}
	return s
}

// next says what is wrong with the record at this place; "" if nothing is.
func (o *order) next(h header, d details) string {
	if h.call == nil {
		if string(h.event) == "start" || string(h.event) == "end" {
			return fmt.Sprintf("the %s names no call", h.event)
		}
		return ""
	}
	id := string(h.call)
	s := o.found(id, string(h.event))
	switch string(h.event) {
	case "decided":
		if s.started {
			return fmt.Sprintf("call %s was decided after it had started", id)
		}
		s.judged, s.allowed = true, d.Verdict == "allow"
		o.calls[id] = s
	case "start":
		return o.start(id, s, h, d)
	case "end":
		if !s.started {
			return fmt.Sprintf("call %s ended without having started", id)
		}
		delete(o.calls, id)
	default: // rejected, withdrawn: of a call that has started they are no end
		if !s.started {
			delete(o.calls, id)
		}
	}
	return ""
}

func (o *order) start(id string, s *stage, h header, d details) string {
	switch {
	case s.started:
		return fmt.Sprintf("call %s started twice", id)
	case !s.judged:
		return fmt.Sprintf("call %s started without a decision", id)
	case !s.allowed:
		return fmt.Sprintf("call %s started, but the decision was no", id)
	}
	s.started = true
	o.calls[id] = s
	if d.Env == "" || d.From == "" {
		return ""
	}
	now := h.time()
	key := d.From + "\x00" + d.Env
	if before, ok := o.runs[key]; ok && now.Sub(before).Abs() < onceFor {
		return fmt.Sprintf("the request %q of %q started twice within %v", d.Env, d.From, onceFor)
	}
	o.runs[key] = now
	if len(o.runs) > 1<<17 {
		o.forget(now)
	}
	return ""
}

func (o *order) forget(now time.Time) {
	for key, at := range o.runs {
		if now.Sub(at).Abs() >= onceFor {
			delete(o.runs, key)
		}
	}
}

// unfinished are the calls that have started and not ended.
func (o *order) unfinished() []string {
	var all []string
	for id, s := range o.calls {
		if s.started {
			all = append(all, id)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return all
}
