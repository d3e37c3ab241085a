package client

import (
	"slices"
	"sync"
)

// An Answer is what came back: one of Result and Err, raw JSON, or the word of the
// gateway that the request went nowhere.
type Answer struct {
	Result, Err []byte
	Fault       error
}

// A waiting is for the answer to one envelope.
type waiting struct {
	env      string
	to       string       // who may answer; "" for anybody
	done     func(Answer) // called at most once, when the wait is over and no more in the table
	progress func(params []byte)
}

// A table has all that is waited for. The zero value is ready.
type table struct {
	mu  sync.Mutex
	all map[string][]*waiting // by envelope
}

func (t *table) add(w *waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string][]*waiting{}
	}
	t.all[w.env] = append(t.all[w.env], w)
}

// find is who waits for an envelope's answer from somebody; "" is the gateway, which may
// speak for whoever was asked.
func (t *table) find(env, from string) *waiting {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.findLocked(env, from)
}

func (t *table) findLocked(env, from string) *waiting {
	for _, w := range t.all[env] {
		if from == "" || w.to == from {
			return w
		}
	}
	return nil
}

// settle ends the wait for one answer, and reports whether there was one.
func (t *table) settle(env, from string, a Answer) bool {
	t.mu.Lock()
	w := t.findLocked(env, from)
	if w != nil {
		t.dropLocked(w)
	}
	t.mu.Unlock()
	if w != nil {
		w.done(a)
	}
	return w != nil
}

func (t *table) forget(env string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, env)
}

func (t *table) dropLocked(w *waiting) {
	left := slices.DeleteFunc(t.all[w.env], func(other *waiting) bool { return other == w })
	if t.all[w.env] = left; len(left) == 0 {
		delete(t.all, w.env)
	}
}
