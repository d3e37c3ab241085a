package client

import (
	"slices"
)

func (t *table) add(w *waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addLocked(w)
}

func (t *table) addLocked(w *waiting) {
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
		if w.to == from || from == "" && w.proposal == nil {
			return w
		}
	}
	for _, w := range t.all[env] {
		if w.to == "" && from != "" {
			return w // whoever answers
		}
	}
	return nil
}

// first adds w, unless something else is waited for under the same envelope from the same
// participant: others may use an envelope id again, and the first counts.
func (t *table) first(w *waiting) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(t.all[w.env], func(other *waiting) bool { return other.to == w.to }) {
		return false
	}
	t.addLocked(w)
	return true
}

func (t *table) count(which func(*waiting) bool) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, all := range t.all {
		for _, w := range all {
			if which(w) {
				n++
			}
		}
	}
	return n
}

func (t *table) drop(which func(*waiting) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for env, all := range t.all {
		if t.all[env] = slices.DeleteFunc(all, which); len(t.all[env]) == 0 {
			delete(t.all, env)
		}
	}
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
