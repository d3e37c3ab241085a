package events

import "time"

// staying is how long somebody has to be here for their coming to be told.
const staying = time.Second

// mostVisits bounds how many are waited for; the coming of more is told at once.
const mostVisits = 256

// visits hold back that somebody came until they have stayed. The lock of the events guards
// them.
type visits struct{ waiting map[string]*time.Timer }

// came has locked tell that id came, once they have stayed.
func (e *Events) came(id string, told func()) {
	v := e.visits
	if len(v.waiting) >= mostVisits {
		told()
		return
	}
	if v.waiting == nil {
		v.waiting = map[string]*time.Timer{}
	}
	var t *time.Timer
	t = time.AfterFunc(staying, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if v.waiting[id] == t {
			delete(v.waiting, id)
			told()
		}
	})
	v.waiting[id] = t
}

// passedBy reports whether id came only just now, so that neither is told.
func (v *visits) passedBy(id string) bool {
	t := v.waiting[id]
	if t == nil {
		return false
	}
	t.Stop()
	delete(v.waiting, id)
	return true
}

// stop ends all waiting.
func (v *visits) stop() {
	for _, t := range v.waiting {
		t.Stop()
	}
	clear(v.waiting)
}
